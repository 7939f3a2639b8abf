/* A program that runs generated operators: shapes by InferShape, tiling by TilingFunc, then each block in turn. Its
 * argument is the operator's number.
 *
 * The request, little-endian, on standard input:
 *   uint64 ub, cores, n_in, n_out, n_attributes; double attributes[]
 *   per input: int64 type (ge::DataType), rank (-1: it is absent), dims[]; then its bytes
 *   per output: int64 type
 * The answer on standard output: uint64 status (0, or 1 with a text instead of tensors: uint64 length, bytes);
 *   uint64 blocks; per output: int64 rank, dims[]; bytes. A text goes to standard error too.
 */
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "../register/op_def_registry.h"
#include "blocks.h"

namespace asc_cpu {

struct Tensor {
    int64_t type = 0;
    std::vector<int64_t> dims;
    std::vector<uint8_t> bytes;
    uint64_t size() const {
        uint64_t n = uint64_t(ge::GetSizeByDataType(ge::DataType(type)));
        for (int64_t d : dims) n *= uint64_t(d);
        return n;
    }
    /* The tensor on a block boundary, with nothing behind it that belongs to it. */
    uint8_t *data() { return bytes.data(); }
};

inline void take(void *to, size_t n) {
    if (n && std::fread(to, 1, n, stdin) != n) std::exit(3);
}
template <typename T>
inline T take() {
    T value;
    take(&value, sizeof value);
    return value;
}
template <typename T>
inline void give(const T &value) {
    std::fwrite(&value, 1, sizeof value, stdout);
}
inline int refuse(const char *text) {
    give(uint64_t(1));
    give(uint64_t(std::strlen(text)));
    std::fwrite(text, 1, std::strlen(text), stdout);
    return 0;
}

using Launch = void (*)(uint8_t **tensors, uint8_t *workspace, uint8_t *tiling);

static_assert(LIBRARY_WORKSPACE == platform_ascendc::LIBRARY_WORKSPACE);

/* One operator of a program: its registration, its kernel, and the names of its tensors. */
struct Operator {
    ops::OpDef &op;
    Launch launch;
    const char *const *names;
};

inline int run(const Operator &wanted) {
    ops::OpDef &op = wanted.op;
    const uint64_t ub = take<uint64_t>(), cores = take<uint64_t>(), n_in = take<uint64_t>(), n_out = take<uint64_t>();
    std::vector<double> attributes(take<uint64_t>());
    take(attributes.data(), attributes.size() * sizeof(double));
    std::vector<Tensor> tensors(n_in + n_out);
    gert::InferShapeContext shapes;
    gert::InferDataTypeContext types;
    gert::TilingContext tiling;
    for (uint64_t i = 0; i < n_in; i++) {
        Tensor &t = tensors[i];
        t.type = take<int64_t>();
        const int64_t rank = take<int64_t>();
        shapes.absent.push_back(rank < 0);
        tiling.absent.push_back(rank < 0);
        t.dims.assign(rank < 0 ? 1 : uint64_t(rank), 0);
        if (rank >= 0) take(t.dims.data(), t.dims.size() * sizeof(int64_t));
        t.bytes.resize(t.size());
        take(t.data(), t.size());
        gert::Shape shape;
        for (int64_t d : t.dims) shape.AppendDim(d);
        shapes.inputs.push_back(shape);
        types.inputs.push_back(ge::DataType(t.type));
        tiling.inputs.push_back({shape});
        tiling.input_types.push_back({ge::DataType(t.type)});
    }
    for (uint64_t i = 0; i < n_out; i++) tensors[n_in + i].type = take<int64_t>();
    shapes.outputs.resize(n_out);
    types.outputs.resize(n_out, ge::DT_UNDEFINED);
    shapes.attributes.set(attributes.data(), attributes.size());
    tiling.attributes.set(attributes.data(), attributes.size());
    tiling.platform = {ub, uint32_t(cores), uint32_t(cores)};

    if (op.infer_shape(&shapes) != ge::GRAPH_SUCCESS) return refuse("InferShape refuses these shapes");
    if (op.infer_type(&types) != ge::GRAPH_SUCCESS) return refuse("InferDataType refuses these types");
    for (uint64_t i = 0; i < n_out; i++) {
        Tensor &t = tensors[n_in + i];
        if (types.outputs[i] != ge::DataType(t.type)) return refuse("InferDataType gives an output another type");
        for (size_t d = 0; d < shapes.outputs[i].GetDimNum(); d++) t.dims.push_back(shapes.outputs[i].GetDim(d));
        t.bytes.resize(t.size());
        tiling.outputs.push_back({shapes.outputs[i]});
        tiling.output_types.push_back({ge::DataType(t.type)});
    }
    if (op.core.tiling(&tiling) != ge::GRAPH_SUCCESS) return refuse("TilingFunc refuses these shapes");
    std::vector<uint8_t *> addresses;
    for (uint64_t i = 0; i < n_in + n_out; i++) {
        addresses.push_back(tensors[i].data());
        add_global(tensors[i].data(), tensors[i].size(), wanted.names[i], i >= n_in, i >= n_in);
    }
    std::vector<uint8_t> workspace(tiling.workspaces.empty() ? 0 : tiling.workspaces[0], 0xA5);
    const uint64_t library = std::min<uint64_t>(workspace.size(), LIBRARY_WORKSPACE);
    add_global(workspace.data() + library, workspace.size() - library, "the workspace", true, true);
    settings().strict = true;
    Blocks blocks;
    try {
        blocks.run(tiling.block_dim, uint32_t(ub), [&] {
            wanted.launch(addresses.data(), workspace.data(), static_cast<uint8_t *>(tiling.tiling.GetData()));
        });
        for (const Global &g : globals()) {
            const uint64_t at = first_unwritten(g);
            if (g.tracked && &g != &globals().back() && at < g.bytes)
                fail("ErrorWrite5", "tensor %s: byte %llu was never written", g.name, (unsigned long long)at);
        }
    } catch (const Fault &fault) {
        return refuse(fault.text);
    }
    give(uint64_t(0));
    give(uint64_t(tiling.block_dim));
    for (uint64_t i = n_in; i < n_in + n_out; i++) {
        give(int64_t(tensors[i].dims.size()));
        for (int64_t d : tensors[i].dims) give(d);
        std::fwrite(tensors[i].data(), 1, tensors[i].size(), stdout);
    }
    return 0;
}

inline int run(int n_arguments, char **arguments, const Operator *operators, uint64_t n) {
    const uint64_t number = n_arguments > 1 ? std::strtoull(arguments[1], nullptr, 10) : 0;
    if (number >= n) return 2;
    return run(operators[number]);
}

}  // namespace asc_cpu
