"""The host files: tiling data, tiling, shape and type inference."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from ascend_ep.opdef.definition import OpDef

from .budget import held_bytes, stage_bytes, tile_tensors
from .division import DIVISION_TEXT
from .host_registration import registration
from .kernel import Signature
from .naming import GE_TYPES, Column
from .shapes import SHAPE_FUNCTIONS, SHAPES_TEXT
from .stage_text import Integers
from .stages import Stage, Staged

_GETTERS = {"float": "GetFloat", "int": "GetInt", "bool": "GetBool"}


@dataclass(frozen=True)
class Host:
    """What the host files are made from. definition: as its user wrote it; opdef: with the names of C++. columns:
    the element type of every tensor, per variant. syncs: whether the chip's cores can wait for one another.
    fixed: lines that refuse other values of attributes. given: the inputs that are there."""

    definition: OpDef
    opdef: OpDef
    names: Signature
    staged: Staged
    integers: Integers
    columns: tuple[Column, ...]
    soc_configs: tuple[str, ...]
    syncs: bool
    fixed: tuple[str, ...]
    given: frozenset[str]

    def read_inputs(self) -> list[str]:
        used = {o.tensor for s in self.staged.stages for o in s.operands}
        return [n for n in self.names.inputs if n in used]

    def shape(self, i: int) -> str:
        """The call that gives input i's shape, nullptr of an optional one that is absent."""
        optional = "Optional" * (self.opdef.inputs[i].occurrence == "optional")
        return f"context->Get{optional}InputShape({i})"

    def presence(self, failed: str) -> Iterator[str]:
        """Lines that refuse other optional inputs than the kernel is made for."""
        for i, spec in enumerate(self.opdef.inputs):
            if spec.occurrence == "optional":
                sign = "==" if spec.name in self.given else "!="
                yield f"    if ({self.shape(i)} {sign} nullptr) return {failed};"

    def tensors(self) -> list[str]:
        return [*self.read_inputs(), *self.names.outputs, *self.staged.held]


def tiling_text(host: Host) -> str:
    """op_host/<op>_tiling.h."""
    guard = f"{host.names.function.upper()}_TILING_H"
    count = host.staged.operands
    fields = [f"TILING_DATA_FIELD_DEF(uint64_t, {n});" for n in _STAGE_LONGS]
    fields += [f"TILING_DATA_FIELD_DEF(uint32_t, {n});" for n in _STAGE_INTS]
    fields += [f"TILING_DATA_FIELD_DEF_ARR(uint64_t, 8, {n});" for n in ("dims", "foldDims")]
    fields += [f"TILING_DATA_FIELD_DEF_ARR(uint64_t, {8 * count}, {n});" for n in ("strides", "foldStrides")]
    fields.append(f"TILING_DATA_FIELD_DEF_ARR(uint32_t, {count}, steps);")
    stage = host.names.stage_class
    lines = [f"#ifndef {guard}", f"#define {guard}", "", '#include "register/tilingdata_base.h"', ""]
    lines += ["namespace optiling {", f"BEGIN_TILING_DATA_DEF({stage})", *fields, "END_TILING_DATA_DEF;"]
    lines += [f"REGISTER_TILING_DATA_CLASS({stage}Op, {stage})", ""]
    lines.append(f"BEGIN_TILING_DATA_DEF({host.names.tiling_class})")
    lines += [f"TILING_DATA_FIELD_DEF(uint64_t, {n}Size);" for n in host.tensors()]
    lines += [f"TILING_DATA_FIELD_DEF(uint64_t, {n}Offset);" for n in host.staged.held]
    lines += [f"TILING_DATA_FIELD_DEF(float, {n});" for n in (*host.names.attributes, *host.staged.counts)]
    lines += [f"TILING_DATA_FIELD_DEF_STRUCT({stage}, stage{i});" for i in range(len(host.staged.stages))]
    lines += ["END_TILING_DATA_DEF;", ""]
    lines += [
        f"REGISTER_TILING_DATA_CLASS({host.names.type_name}, {host.names.tiling_class})",
        "}  // namespace optiling",
    ]
    return "\n".join([*lines, "", "#endif", ""])


_STAGE_LONGS = ("rows", "cols", "segments", "tilesPerRow", "items", "itemsPerCore", "k")
_STAGE_INTS = ("tileLength", "foldsLast")


def host_text(host: Host) -> str:
    """op_host/<op>.cpp."""
    tiling = list(_tiling_function(host))
    tensors = (*host.definition.inputs, *host.definition.outputs)
    order = [*host.names.inputs, *host.names.outputs]
    columns = [{s.name: c[n] for s, n in zip(tensors, order, strict=True)} for c in host.columns]
    lines = [
        f'#include "{host.names.function}_tiling.h"',
        "",
        "#include <algorithm>",
        "#include <initializer_list>",
        "#include <vector>",
        "",
        '#include "register/op_def_registry.h"',
        '#include "tiling/platform/platform_ascendc.h"',
        "",
        *SHAPES_TEXT.strip("\n").split("\n"),
        "",
        *_shape_functions(host, "\n".join(tiling)),
        "",
        *_shapes_of(host),
        "",
        "namespace optiling {",
        *DIVISION_TEXT.strip("\n").split("\n"),
        "",
        *tiling,
        "}  // namespace optiling",
        "",
        "namespace ge {",
        *_infer_shape(host),
        "",
        *_infer_type(host),
        "}  // namespace ge",
        "",
        "namespace ops {",
        *registration(host.definition, host.names.type_name, columns, host.soc_configs),
        "}  // namespace ops",
    ]
    return "\n".join(lines) + "\n"


def _shape_functions(host: Host, tiling: str) -> list[str]:
    """Those that are called."""
    calls = "\n".join([*host.staged.shapes.steps, tiling])
    return [t.strip("\n") for n, t in SHAPE_FUNCTIONS.items() if re.search(rf"\b{n}\(", calls)]


def shared_host_text() -> tuple[tuple[str, str], ...]:
    """(namespace, text) of what host files have in common."""
    functions = (("", t.strip("\n")) for t in SHAPE_FUNCTIONS.values())
    return (("", SHAPES_TEXT.strip("\n")), *functions, ("optiling", DIVISION_TEXT.strip("\n")))


def _shapes_of(host: Host) -> Iterator[str]:
    shapes = host.staged.shapes
    yield "// The shapes of the inputs, of what is held between stages and of the outputs; false if they don't fit."
    yield (
        "static bool ShapesOf(const std::vector<Dims> &inputs, const gert::RuntimeAttrs *attributes, "
        "std::vector<Dims> &s) {"
    )
    yield f"    s.assign({shapes.count}, Dims());"
    yield "    std::copy(inputs.begin(), inputs.end(), s.begin());"
    yield "    (void)attributes;"
    if shapes.steps:
        yield "    return " + " &&\n           ".join(shapes.steps) + ";"
    else:
        yield "    return true;"
    yield "}"


def _tiling_function(host: Host) -> Iterator[str]:
    names, staged = host.names, host.staged
    inputs = ", ".join(
        f"DimsOf({host.shape(i)}->GetStorageShape())" if n in host.given else "Dims()"
        for i, n in enumerate(names.inputs)
    )
    yield "static ge::graphStatus TilingFunc(gert::TilingContext *context) {"
    yield from host.presence("ge::GRAPH_FAILED")
    yield "    const gert::RuntimeAttrs *attributes = context->GetAttrs();"
    yield "    std::vector<Dims> s;"
    yield f"    if (!ShapesOf({{{inputs}}}, attributes, s)) return ge::GRAPH_FAILED;"
    yield from (f"    {line}" for line in host.fixed)
    for i, name in enumerate(names.outputs):
        yield (
            f"    if (DimsOf(context->GetOutputShape({i})->GetStorageShape()) != s[{staged.outputs[name]}]) "
            "return ge::GRAPH_FAILED;"
        )
    yield "    platform_ascendc::PlatformAscendC platform(context->GetPlatformInfo());"
    yield "    Chip chip;"
    yield "    platform.GetCoreMemSize(platform_ascendc::CoreMemType::UB, chip.ub);"
    if staged.held and not host.syncs:
        yield "    // The cores of this chip can't wait for one another between stages."
        yield "    chip.cores = 1;"
    else:
        yield "    chip.cores = std::max<uint64_t>(platform.GetCoreNumAiv(), 1);"
    yield f"    {names.tiling_class} tiling;"
    for i, stage in enumerate(staged.stages):
        yield from _divided(host, i, stage)
    dims = {n: i for i, n in enumerate(names.inputs)} | staged.outputs | staged.held
    for n in host.tensors():
        yield f"    tiling.set_{n}Size(ProductOf(s[{dims[n]}]));"
    yield "    uint64_t held = 0;"
    for n in staged.held:
        yield f"    tiling.set_{n}Offset(held);"
        yield f"    held += RoundUp(sizeof(float) * ProductOf(s[{staged.held[n]}]), 512);"
    for name, text in staged.counts.items():
        yield f"    tiling.set_{name}({text});"
    yield from _attributes(host)
    yield "    context->SetBlockDim(chip.blocks);"
    if any(s.waits for s in staged.stages):
        yield "    context->SetScheduleMode(1);  // all cores at once: they wait for one another"
    yield "    tiling.SaveToBuffer(context->GetRawTilingData()->GetData(), context->GetRawTilingData()->GetCapacity());"
    yield "    context->GetRawTilingData()->SetDataSize(tiling.GetDataSize());"
    yield "    context->GetWorkspaceSizes(1)[0] = held == 0 ? 0 : platform.GetLibApiWorkSpaceSize() + held;"
    yield "    return ge::GRAPH_SUCCESS;"
    yield "}"


def _divided(host: Host, number: int, stage: Stage) -> Iterator[str]:
    """How the elements of a stage are divided: rows, columns, tiles, and what each core has."""
    operands = ", ".join(str(o.dims) for o in stage.operands)
    frame = ", ".join(map(str, stage.frame))
    yield "    {"
    yield f"        uint64_t perElement = {stage_bytes(stage, host.integers)};"
    for n in tile_tensors(stage):
        yield f"        perElement += 2 * {_size_text(host, n)};"
    result = str(stage.chosen) if stage.kind == "topk" else "NO_RESULT"
    axes = stage.axes or _last_axes(stage.selected.folded_axes)
    whole = "true" if stage.kind == "rows" and stage.selected.folded_axes else "false"
    yield f"        const Elements elements{{{{{frame}}}, {{{operands}}}, {axes}, {whole}, {result}}};"
    room = f"perElement, {held_bytes(stage)}, {host.staged.operands}"
    yield "        Division division;"
    yield f"        if (!Divide(division, s, elements, {room}, chip)) return ge::GRAPH_FAILED;"
    yield f"        Assign(tiling.stage{number}, division);"
    if stage.kind == "topk":
        yield f"        tiling.stage{number}.set_k({stage.k});"
    yield "    }"


def _last_axes(count: int) -> str:
    return "Axes{" + ", ".join(map(str, range(-count, 0))) + "}"


def _size_text(host: Host, tensor: str) -> str:
    if tensor in host.staged.held:
        return "sizeof(float)"
    if tensor in host.names.inputs:
        place, kind = host.names.inputs.index(tensor), "Input"
    else:
        place, kind = host.names.outputs.index(tensor), "Output"
    return f"ge::GetSizeByDataType(context->Get{kind}Desc({place})->GetDataType())"


def _attributes(host: Host) -> Iterator[str]:
    """Attributes the kernel reads, as float32; absent ones have their defaults."""
    for place, attribute in enumerate(host.opdef.attributes):
        if attribute.name in host.names.attributes:
            default = attribute.default if isinstance(attribute.default, int | float) else 0
            yield f"    const auto *{attribute.name} = attributes->{_GETTERS[attribute.type]}({place});"
            yield (
                f"    tiling.set_{attribute.name}({attribute.name} == nullptr ? {float(default)!r}f "
                f": static_cast<float>(*{attribute.name}));"
            )


def fixed_attributes(opdef: OpDef, values: Mapping[str, object], names: Collection[str]) -> tuple[str, ...]:
    """Lines that refuse other values of the attributes `names`, which are part of the kernel."""
    lines = []
    for place, attribute in enumerate(opdef.attributes):
        value = values.get(attribute.name)
        if attribute.name not in names or attribute.type not in ("int", "bool"):
            continue
        text = str(value).lower()
        read = f"attributes->{_GETTERS[attribute.type]}({place})"
        lines.append(
            f"if ({read} != nullptr && *{read} != {text}) return ge::GRAPH_FAILED;  // {attribute.name}"
        )
    return tuple(lines)


def _infer_shape(host: Host) -> Iterator[str]:
    inputs = ", ".join(
        f"DimsOf(*{host.shape(i)})" if n in host.given else "Dims()" for i, n in enumerate(host.names.inputs)
    )
    yield "static graphStatus InferShape(gert::InferShapeContext *context) {"
    yield from host.presence("GRAPH_FAILED")
    yield "    std::vector<Dims> s;"
    yield f"    if (!ShapesOf({{{inputs}}}, context->GetAttrs(), s)) return GRAPH_FAILED;"
    for i, name in enumerate(host.names.outputs):
        yield f"    SetDims(*context->GetOutputShape({i}), s[{host.staged.outputs[name]}]);"
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
