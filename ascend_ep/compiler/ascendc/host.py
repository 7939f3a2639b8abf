"""The host files: tiling data, tiling, shape and type inference, and the operator's registration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ascend_ep.opdef import dtypes
from ascend_ep.opdef.definition import Attribute, OpDef, TensorSpec

from .kernel import Signature, Uses
from .passes import Plan
from .values import Value, reachable

GE_TYPES = {
    dtypes.FLOAT32: "DT_FLOAT", dtypes.FLOAT16: "DT_FLOAT16", dtypes.BFLOAT16: "DT_BF16", dtypes.INT8: "DT_INT8",
    dtypes.UINT8: "DT_UINT8", dtypes.INT16: "DT_INT16", dtypes.UINT16: "DT_UINT16", dtypes.INT32: "DT_INT32",
    dtypes.UINT32: "DT_UINT32", dtypes.INT64: "DT_INT64", dtypes.UINT64: "DT_UINT64", dtypes.BOOL: "DT_BOOL",
    dtypes.FLOAT64: "DT_DOUBLE", dtypes.STRING: "DT_STRING", dtypes.COMPLEX64: "DT_COMPLEX64",
    dtypes.COMPLEX128: "DT_COMPLEX128",
}  # fmt: skip
_GETTERS = {"float": "GetFloat", "int": "GetInt", "bool": "GetBool"}
_KINDS = {
    "float": "Float", "int": "Int", "bool": "Bool", "string": "String", "ints": "ListInt", "floats": "ListFloat",
    "bools": "ListBool",
}  # fmt: skip
Column = Mapping[str, int]


@dataclass(frozen=True)
class Host:
    """What the host files are made from. columns: the element type of every tensor, per variant."""

    opdef: OpDef
    names: Signature
    plan: Plan
    uses: Uses
    folded_axes: int
    uses_index: bool
    columns: tuple[Column, ...]
    soc_configs: tuple[str, ...]

    def read_inputs(self) -> list[str]:
        used = {v.text for v in self.plan.values() if v.op == "input"}
        return [n for n in self.names.inputs if n in used]

    def values(self) -> dict[str, Value]:
        return {**dict(self.plan.full_outputs), **dict(self.plan.row_outputs)}


def tiling_text(host: Host) -> str:
    """op_host/<op>_tiling.h."""
    guard = f"{host.names.function.upper()}_TILING_H"
    fields = [("uint64_t", n) for n in ("rows", "cols", "items", "itemsPerCore")] + [
        ("uint32_t", "tileLength")
    ]
    arrays = ["dims"]
    for n in host.read_inputs():
        fields += [("uint32_t", f"{n}Step"), ("uint64_t", f"{n}Size")]
        arrays.append(f"{n}Strides")
    fields += [("uint64_t", f"{n}Size") for n in host.names.outputs]
    fields += [("float", n) for n in host.names.attributes]
    lines = [f"#ifndef {guard}", f"#define {guard}", "", '#include "register/tilingdata_base.h"', ""]
    lines += ["namespace optiling {", f"BEGIN_TILING_DATA_DEF({host.names.tiling_class})"]
    lines += [f"TILING_DATA_FIELD_DEF({kind}, {name});" for kind, name in fields]
    lines += [f"TILING_DATA_FIELD_DEF_ARR(uint64_t, 8, {name});" for name in arrays]
    lines += ["END_TILING_DATA_DEF;", ""]
    lines += [
        f"REGISTER_TILING_DATA_CLASS({host.names.type_name}, {host.names.tiling_class})",
        "}  // namespace optiling",
    ]
    return "\n".join([*lines, "", "#endif", ""])


def host_text(host: Host) -> str:
    """op_host/<op>.cpp."""
    lines = [
        f'#include "{host.names.function}_tiling.h"',
        "",
        "#include <algorithm>",
        "#include <array>",
        "#include <vector>",
        "",
        '#include "register/op_def_registry.h"',
        '#include "tiling/platform/platform_ascendc.h"',
        "",
        *_SHAPES.strip("\n").split("\n"),
        "",
        "namespace optiling {",
        *_ITERATION.strip("\n").split("\n"),
        "",
        *_tiling_function(host),
        "}  // namespace optiling",
        "",
        "namespace ge {",
        *_infer_shape(host),
        "",
        *_infer_type(host),
        "}  // namespace ge",
        "",
        "namespace ops {",
        *registration(host.opdef, host.names.type_name, host.columns, host.soc_configs),
        "}  // namespace ops",
    ]
    return "\n".join(lines) + "\n"


def _tiling_function(host: Host) -> Iterator[str]:
    names, read = host.names, host.read_inputs()
    places = [host.names.inputs.index(n) for n in read]
    yield "static ge::graphStatus TilingFunc(gert::TilingContext *context) {"
    yield f"    const size_t places[] = {{{', '.join(map(str, places))}}};"
    yield "    std::vector<Dims> inputs;"
    yield "    Dims whole;"
    yield "    for (size_t place : places) {"
    yield "        inputs.push_back(DimsOf(context->GetInputShape(place)->GetStorageShape()));"
    yield "        if (!Broadcast(whole, inputs.back())) return ge::GRAPH_FAILED;"
    yield "    }"
    yield "    Iteration loops;"
    together = "true" if not host.plan.passes and not host.uses_index else "false"
    yield f"    if (!Iterate(whole, inputs, {max(host.folded_axes, 1)}, {together}, loops)) return ge::GRAPH_FAILED;"
    for i, name in enumerate(names.outputs):
        if name in dict(host.plan.full_outputs):
            yield f"    if (DimsOf(context->GetOutputShape({i})->GetStorageShape()) != whole) return ge::GRAPH_FAILED;"
    yield ""
    yield "    platform_ascendc::PlatformAscendC platform(context->GetPlatformInfo());"
    yield "    uint64_t ub = 0;"
    yield "    platform.GetCoreMemSize(platform_ascendc::CoreMemType::UB, ub);"
    yield "    const uint64_t cores = std::max<uint64_t>(platform.GetCoreNumAiv(), 1);"
    yield "    uint64_t perElement = " + str(fixed_bytes(host.plan, host.uses, len(read))) + ";"
    for i, n in enumerate(names.inputs):
        if n in read:
            yield f"    perElement += 2 * ge::GetSizeByDataType(context->GetInputDesc({i})->GetDataType());"
    for i, n in enumerate(names.outputs):
        if n in dict(host.plan.full_outputs):
            yield f"    perElement += 2 * ge::GetSizeByDataType(context->GetOutputDesc({i})->GetDataType());"
    yield f"    const uint64_t held = {held_bytes(host.plan, len(names.outputs))};"
    yield "    if (ub < held + 256 * perElement) return ge::GRAPH_FAILED;"
    yield "    const uint64_t most = std::min<uint64_t>((ub - held) / perElement / 256 * 256, 16384);"
    if host.plan.passes:
        yield "    const uint64_t wanted = RoundUp(std::max<uint64_t>(loops.cols, 1), 256);"
        yield "    const uint64_t tile = std::min(most, wanted);"
        yield "    const uint64_t items = loops.rows;"
    else:
        yield "    const uint64_t share = (loops.rows * loops.cols + cores - 1) / cores;"
        yield "    const uint64_t wanted = RoundUp(std::max<uint64_t>(std::min(loops.cols, share), 1), 256);"
        yield "    const uint64_t tile = std::min(most, wanted);"
        yield "    const uint64_t items = loops.rows * ((loops.cols + tile - 1) / tile);"
    yield "    const uint64_t perCore = std::max<uint64_t>((items + cores - 1) / cores, 1);"
    yield ""
    yield f"    {names.tiling_class} tiling;"
    for field, value in (
        ("rows", "loops.rows"), ("cols", "loops.cols"), ("items", "items"), ("itemsPerCore", "perCore"),
        ("tileLength", "static_cast<uint32_t>(tile)"), ("dims", "loops.dims"),
    ):  # fmt: skip
        yield f"    tiling.set_{field}({value});"
    for i, n in enumerate(read):
        yield f"    tiling.set_{n}Step(loops.steps[{i}]);"
        yield f"    tiling.set_{n}Strides(loops.strides[{i}].data());"
        yield f"    tiling.set_{n}Size(ProductOf(inputs[{i}]));"
    for i, n in enumerate(names.outputs):
        yield f"    tiling.set_{n}Size(context->GetOutputShape({i})->GetStorageShape().GetShapeSize());"
    yield from _attributes(host)
    yield "    context->SetBlockDim(static_cast<uint32_t>(std::max<uint64_t>((items + perCore - 1) / perCore, 1)));"
    yield "    tiling.SaveToBuffer(context->GetRawTilingData()->GetData(), context->GetRawTilingData()->GetCapacity());"
    yield "    context->GetRawTilingData()->SetDataSize(tiling.GetDataSize());"
    yield "    context->GetWorkspaceSizes(1)[0] = 0;"
    yield "    return ge::GRAPH_SUCCESS;"
    yield "}"


def _attributes(host: Host) -> Iterator[str]:
    """Attributes the kernel reads, as float32; absent ones have their defaults."""
    for place, attribute in enumerate(host.opdef.attributes):
        if attribute.name in host.names.attributes:
            default = attribute.default if isinstance(attribute.default, int | float) else 0
            yield f"    const auto *{attribute.name} = context->GetAttrs()->{_GETTERS[attribute.type]}({place});"
            yield (
                f"    tiling.set_{attribute.name}({attribute.name} == nullptr ? {float(default)!r}f "
                f": static_cast<float>(*{attribute.name}));"
            )


def fixed_bytes(plan: Plan, uses: Uses, n_inputs: int) -> int:
    """Bytes of an element of a tile, without the queues: float32 tiles, masks, work, scratch."""
    masks = -(-plan.masks // 8)
    return 4 * (n_inputs + plan.floats) + masks + uses.work + 32 * uses.scratch + 2 * uses.small


def held_bytes(plan: Plan, n_outputs: int) -> int:
    """Bytes that don't grow with the tile, generously rounded."""
    return 2048 + 256 * plan.row_floats + 32 * plan.row_masks + 512 * n_outputs


def _infer_shape(host: Host) -> Iterator[str]:
    yield "static graphStatus InferShape(gert::InferShapeContext *context) {"
    values = host.values()
    for i, name in enumerate(host.names.outputs):
        value = values[name]
        read = [v.text for v in reachable([value]) if v.op == "input"]
        yield "    {"
        yield "        Dims dims;"
        for n in sorted(read, key=host.names.inputs.index):
            place = host.names.inputs.index(n)
            yield f"        if (!Broadcast(dims, DimsOf(*context->GetInputShape({place})))) return GRAPH_FAILED;"
        if value.spread == "row":
            yield f"        if (dims.size() < {host.folded_axes}) return GRAPH_FAILED;"
            if value.dropped:
                yield f"        dims.resize(dims.size() - {host.folded_axes});"
            else:
                yield f"        std::fill(dims.end() - {host.folded_axes}, dims.end(), 1);"
        yield f"        SetDims(*context->GetOutputShape({i}), dims);"
        yield "    }"
    yield "    return GRAPH_SUCCESS;"
    yield "}"


def _infer_type(host: Host) -> Iterator[str]:
    yield "static graphStatus InferDataType(gert::InferDataTypeContext *context) {"
    inputs = list(host.names.inputs)
    for i, name in enumerate(host.names.outputs):
        types = [c[name] for c in host.columns]
        like = next((j for j, n in enumerate(inputs) if [c[n] for c in host.columns] == types), None)
        if len(set(types)) == 1:
            yield f"    context->SetOutputDataType({i}, {GE_TYPES[types[0]]});"
        elif like is not None:
            yield f"    context->SetOutputDataType({i}, context->GetInputDataType({like}));"
        else:
            for j, column in enumerate(host.columns):
                test = " && ".join(
                    f"context->GetInputDataType({k}) == {GE_TYPES[column[n]]}" for k, n in enumerate(inputs)
                )
                yield f"    {'else ' if j else ''}if ({test}) context->SetOutputDataType({i}, {GE_TYPES[column[name]]});"
    yield "    return GRAPH_SUCCESS;"
    yield "}"


def registration(
    opdef: OpDef, type_name: str, columns: Sequence[Column], soc_configs: Sequence[str], filled: bool = True
) -> Iterator[str]:
    """The OpDef class and OP_ADD. `filled`: TilingFunc, InferShape and InferDataType are complete."""
    yield f"class {type_name} : public OpDef {{"
    yield "public:"
    yield f"    explicit {type_name}(const char *name) : OpDef(name) {{"
    for method, specs in (("Input", opdef.inputs), ("Output", opdef.outputs)):
        for spec in specs:
            yield from _registered_tensor(method, spec, columns)
    for attribute in opdef.attributes:
        yield from _registered_attribute(attribute)
    yield ""
    yield "        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);"
    yield "        this->AICore().SetTiling(optiling::TilingFunc);"
    for config in soc_configs:
        yield f'        this->AICore().AddConfig("{config}");'
    yield "    }"
    yield "};"
    yield ""
    yield f"OP_ADD({type_name});"


def _registered_tensor(method: str, spec: TensorSpec, columns: Sequence[Column]) -> Iterator[str]:
    occurrence = {"required": "REQUIRED", "optional": "OPTIONAL", "variadic": "DYNAMIC"}[spec.occurrence]
    types = ", ".join(f"ge::{GE_TYPES[c[spec.name]]}" for c in columns)
    formats = list(spec.formats) or ["ND"]
    formats = [formats[i % len(formats)] for i in range(len(columns))]
    listed = ", ".join(f"ge::FORMAT_{f}" for f in formats)
    yield f'        this->{method}("{spec.name}")'
    yield f"            .ParamType({occurrence})"
    yield f"            .DataType({{{types}}})"
    yield f"            .Format({{{listed}}})"
    yield f"            .UnknownShapeFormat({{{listed}}});"


def _registered_attribute(attribute: Attribute) -> Iterator[str]:
    kind = _KINDS.get(attribute.type)
    if kind is None:
        return
    how = "REQUIRED" if attribute.required else "OPTIONAL"
    default = "" if attribute.required else _default_text(attribute)
    yield f'        this->Attr("{attribute.name}").AttrType({how}).{kind}({default});'


def _default_text(attribute: Attribute) -> str:
    value = attribute.default
    if attribute.type in ("ints", "floats", "bools"):
        items = value if isinstance(value, tuple) else ()
        return "{" + ", ".join(str(v).lower() for v in items) + "}"
    if attribute.type == "string":
        text = "".join(
            c if c.isalnum() or c in " _-.:" else f"\\{ord(c):03o}" for c in str(value or "") if ord(c) < 256
        )
        return f'"{text}"'
    return str(value if value is not None else 0).lower()


_SHAPES = """
using Dims = std::vector<int64_t>;

static Dims DimsOf(const gert::Shape &shape) {
    Dims dims;
    for (size_t i = 0; i < shape.GetDimNum(); i++) dims.push_back(shape.GetDim(i));
    return dims;
}

static void SetDims(gert::Shape &shape, const Dims &dims) {
    shape.SetDimNum(dims.size());
    for (size_t i = 0; i < dims.size(); i++) shape.SetDim(i, dims[i]);
}

// Makes `whole` the shape of an elementwise result of it and `other`; -1 is a size known later.
static bool Broadcast(Dims &whole, const Dims &other) {
    if (whole.size() < other.size()) whole.insert(whole.begin(), other.size() - whole.size(), 1);
    for (size_t i = 0; i < other.size(); i++) {
        int64_t &mine = whole[whole.size() - other.size() + i];
        const int64_t theirs = other[i];
        if (mine == theirs || theirs == 1) continue;
        if (mine != 1 && mine != -1 && theirs != -1) return false;
        if (mine == 1 || mine == -1) mine = theirs;
    }
    return true;
}
"""

_ITERATION = """
constexpr size_t MAX_DIMS = 8;

// rows x cols elements; row r of input i begins at the sum of (index d of r) * strides[i][d]; steps: 1, or 0 where
// an input has one element per row.
struct Iteration {
    uint64_t rows = 1, cols = 1;
    uint64_t dims[MAX_DIMS] = {1, 1, 1, 1, 1, 1, 1, 1};
    std::vector<uint32_t> steps;
    std::vector<std::array<uint64_t, MAX_DIMS>> strides;
};

static uint64_t RoundUp(uint64_t n, uint64_t unit) { return (n + unit - 1) / unit * unit; }

static uint64_t ProductOf(const Dims &dims) {
    uint64_t product = 1;
    for (int64_t d : dims) product *= static_cast<uint64_t>(d);
    return product;
}

static std::vector<uint64_t> StridesOf(const Dims &dims, size_t rank) {
    std::vector<uint64_t> strides(rank, 0);
    uint64_t step = 1;
    for (size_t i = 0; i < dims.size(); i++) {
        const size_t at = dims.size() - 1 - i;
        strides[rank - 1 - i] = dims[at] == 1 ? 0 : step;
        step *= static_cast<uint64_t>(dims[at]);
    }
    return strides;
}

// The last `folded` axes become the columns; with `together`, leading axes join them where memory allows.
static bool Iterate(const Dims &whole, const std::vector<Dims> &inputs, size_t folded, bool together, Iteration &loops) {
    Dims dims = whole;
    if (dims.size() < folded) {
        if (folded > 1) return false;
        dims.assign(1, 1);
    }
    std::vector<std::vector<uint64_t>> strides;
    for (const Dims &input : inputs) strides.push_back(StridesOf(input, dims.size()));
    size_t columns = folded;
    for (size_t i = dims.size() - 1; i-- > 0;) {
        const size_t boundary = dims.size() - columns;
        bool joined = dims[i] == 1 || dims[i + 1] == 1;
        if (!joined) {
            joined = true;
            for (const auto &s : strides) joined = joined && s[i] == s[i + 1] * static_cast<uint64_t>(dims[i + 1]);
        }
        if (!joined || (i + 1 == boundary && !together)) continue;
        if (i + 1 > boundary) columns--;
        for (auto &s : strides) {
            s[i] = dims[i + 1] == 1 ? s[i] : s[i + 1];
            s.erase(s.begin() + i + 1);
        }
        dims[i] *= dims[i + 1];
        dims.erase(dims.begin() + i + 1);
    }
    if (columns != 1 || dims.size() - 1 > MAX_DIMS) return false;
    loops.cols = static_cast<uint64_t>(dims.back());
    const size_t lead = dims.size() - 1;
    loops.strides.resize(inputs.size());
    for (size_t i = 0; i < inputs.size(); i++) {
        if (strides[i].back() > 1) return false;
        loops.steps.push_back(static_cast<uint32_t>(strides[i].back()));
        for (size_t d = 0; d < MAX_DIMS; d++) loops.strides[i][d] = 0;
        for (size_t d = 0; d < lead; d++) loops.strides[i][MAX_DIMS - lead + d] = strides[i][d];
    }
    for (size_t d = 0; d < lead; d++) {
        loops.dims[MAX_DIMS - lead + d] = static_cast<uint64_t>(std::max<int64_t>(dims[d], 1));
        loops.rows *= static_cast<uint64_t>(dims[d]);
    }
    return true;
}
"""
