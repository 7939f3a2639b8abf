#include "matmul_leaky_tiling.h"
#include "register/op_def_registry.h"
#include "tiling/platform/platform_ascendc.h"

using namespace matmul_tiling;

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext *context) {
    auto platform = platform_ascendc::PlatformAscendC(context->GetPlatformInfo());
    const auto a = context->GetInputShape(0)->GetStorageShape(), b = context->GetInputShape(1)->GetStorageShape();
    const int32_t m = a.GetDim(0), k = a.GetDim(1), n = b.GetDim(1);
    MultiCoreMatmulTiling product(platform);
    product.SetDim(4);
    product.SetAType(TPosition::GM, CubeFormat::ND, matmul_tiling::DataType::DT_FLOAT16);
    product.SetBType(TPosition::GM, CubeFormat::ND, matmul_tiling::DataType::DT_FLOAT16);
    product.SetCType(TPosition::VECIN, CubeFormat::ND, matmul_tiling::DataType::DT_FLOAT);
    product.SetBiasType(TPosition::GM, CubeFormat::ND, matmul_tiling::DataType::DT_FLOAT);
    product.SetShape(m, n, k);
    product.SetOrgShape(m, n, k);
    product.SetFixSplit(32, 32, -1);
    product.SetBias(true);
    product.SetBufferSpace(-1, -1, -1);
    MatmulLeakyTilingData tiling;
    tiling.set_alpha(*context->GetAttrs()->GetFloat(0));
    if (product.GetTiling(tiling.cubeTilingData) == -1) return ge::GRAPH_FAILED;
    tiling.SaveToBuffer(context->GetRawTilingData()->GetData(), context->GetRawTilingData()->GetCapacity());
    context->GetRawTilingData()->SetDataSize(tiling.GetDataSize());
    context->SetBlockDim((tiling.cubeTilingData.get_usedCoreNum() + 1) / 2);
    context->SetTilingKey(1);
    context->GetWorkspaceSizes(1)[0] = platform.GetLibApiWorkSpaceSize();
    return ge::GRAPH_SUCCESS;
}
}  // namespace optiling

namespace ge {
static ge::graphStatus InferShape(gert::InferShapeContext *context) {
    gert::Shape *c = context->GetOutputShape(0);
    c->SetDimNum(0);
    c->AppendDim(context->GetInputShape(0)->GetDim(0));
    c->AppendDim(context->GetInputShape(1)->GetDim(1));
    return GRAPH_SUCCESS;
}
static ge::graphStatus InferDataType(gert::InferDataTypeContext *context) {
    context->SetOutputDataType(0, ge::DT_FLOAT);
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class MatmulLeaky : public OpDef {
   public:
    explicit MatmulLeaky(const char *name) : OpDef(name) {
        this->Input("a").ParamType(REQUIRED).DataType({ge::DT_FLOAT16}).Format({ge::FORMAT_ND});
        this->Input("b").ParamType(REQUIRED).DataType({ge::DT_FLOAT16}).Format({ge::FORMAT_ND});
        this->Input("bias").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        this->Output("c").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
        this->Attr("alpha").AttrType(OPTIONAL).Float(0.1);
        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(MatmulLeaky);
}  // namespace ops
