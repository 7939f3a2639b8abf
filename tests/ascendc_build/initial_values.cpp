/* What outputs begin with, by InitValue: prints the elements of each output, in hexadecimal. */
#include <cstdio>

#include "host/host_operator.h"

using ops::ScalarType;
using ops::ScalarVar;

static ge::graphStatus tile(gert::TilingContext *context) {
    context->SetBlockDim(1);
    return context->SetNeedAtomic(true);
}

/* Two elements of a type, and a third one's first byte. */
static void print(ge::DataType type, bool atomic, void (*define)(ops::OpParamDef &)) {
    ops::OpDef definition("Initial");
    definition.AICore().SetTiling(atomic ? tile : [](gert::TilingContext *) { return ge::GRAPH_SUCCESS; });
    define(definition.Output("y").DataType({ge::DT_FLOAT, ge::DT_INT8}));
    asc_host::Node node;
    gert::StorageShape shape;
    shape.MutableOriginShape().AppendDim(2);
    shape.MutableStorageShape().AppendDim(2);
    uint8_t bytes[24];
    std::memset(bytes, 0xEE, sizeof bytes);
    node.outputs.emplace_back(shape, gert::CompileTimeTensorDesc(type, ge::FORMAT_ND), bytes);
    node.output_groups.push_back({0, 1, false, false});
    const asc_host::HostOperator host(&definition);
    host.tile(node);
    try {
        host.fill_outputs(node);
    } catch (const asc_host::Refusal &refusal) {
        std::printf("%s\n", refusal.text.c_str());
        return;
    }
    for (int i = 0; i <= 2 * ge::GetSizeByDataType(type); i++) std::printf("%02x", bytes[i]);
    std::printf(" %d\n", int(bool(node.filled[0])));
}

int main() {
    const auto zeros = [](ops::OpParamDef &d) { d.InitValue(0); };
    print(ge::DT_FLOAT, true, zeros);
    print(ge::DT_FLOAT, false, zeros);
    print(ge::DT_FLOAT, true, [](ops::OpParamDef &) {});
    const auto columns = [](ops::OpParamDef &d) {
        d.InitValue({ScalarVar(ScalarType::FLOAT32, 1.0f), ScalarVar(ScalarType::INT8, -2)});
    };
    print(ge::DT_FLOAT, true, columns);
    print(ge::DT_INT8, true, columns);
    print(ge::DT_FLOAT16, true, [](ops::OpParamDef &d) { d.InitValue(ScalarVar(ScalarType::FLOAT16, 1.0f)); });
    print(ge::DT_FLOAT, true, [](ops::OpParamDef &d) { d.InitValue({ScalarType::INT16, 1}); });
    print(ge::DT_FLOAT16, true, [](ops::OpParamDef &d) { d.InitValue({ScalarType::FLOAT32, 1.0}); });
    print(ge::DT_FLOAT, true, [](ops::OpParamDef &d) { d.InitValue({ScalarType::FLOAT32, 2}); });
    print(ge::DT_INT32, true, [](ops::OpParamDef &d) { d.InitValue({ScalarType::INT32, -1.5}); });
    print(ge::DT_INT8, true, [](ops::OpParamDef &d) { d.InitValue({ScalarType::INT64, 0x0102030405060708}); });
    print(ge::DT_FLOAT, true, [](ops::OpParamDef &d) { d.InitValue(3); });
    print(ge::DT_FLOAT, true, [](ops::OpParamDef &d) {
        d.DataType({ge::DT_FLOAT, ge::DT_FLOAT}).InitValue({{ScalarType::FLOAT32, 1.0}, {ScalarType::FLOAT32, 2.0}});
    });
    print(ge::DT_FLOAT, true, [](ops::OpParamDef &d) { d.InitValue({ScalarType::INVALID_DTYPE, 1}); });
}
