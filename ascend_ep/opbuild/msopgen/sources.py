"""The operator's own files in a project: filled in from its expression, else declarations to be completed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ascend_ep.codegen.c_source import NotGenerated
from ascend_ep.errors import AscendError
from ascend_ep.opbuild.ascendc.generate import KernelSource, can_sync, element_columns, generate_ascend_c
from ascend_ep.opbuild.ascendc.host_registration import registration
from ascend_ep.opbuild.ascendc.naming import GE_TYPES, Column, config_name, snake_case
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.definition import OpDef, TensorSpec

from .request import Request


class Operator:
    """One operator of a request: names, columns of element types, and generated sources or why there are
    none.
    """

    def __init__(self, request: Request, reason: str = "its definition has no formula") -> None:
        """`reason`: why it has no formula, where it has none."""
        self.request = request
        self.opdef = request.opdef
        self.file = snake_case(self.opdef.op)
        self.function = self.opdef.kernel_name or self.file
        self.source: KernelSource | None = None
        self.reason = ""
        try:
            if self.opdef.formula is None:
                raise NotGenerated(reason)
            if not request.socs:
                raise NotGenerated("an aicpu operator has no vector kernel")
            sources = (generate_ascend_c(self.opdef, s) for s in request.socs)
            self.source = min(sources, key=lambda s: (can_sync(s.soc), s.tile))
        except NotGenerated as error:
            self.reason = str(error)
        except AscendError as error:
            if error.code != "E42005":
                raise
            self.reason = error.text  # an attribute without a value, say
        self.columns = self.source.columns if self.source else _declared_columns(self.opdef)

    def configs(self) -> list[str]:
        return list(dict.fromkeys(config_name(s.name) for s in self.request.socs))

    def cpp_files(self) -> dict[str, str]:
        """op_host and op_kernel."""
        name = self.file
        if self.source is not None:
            host = self.source.host.replace(f'"{self.source.function}_tiling.h"', f'"{name}_tiling.h"')
            first, *others = self.configs()
            line = f'        this->AICore().AddConfig("{config_name(self.source.soc.name)}");'
            host = host.replace(
                line, "\n".join(line.replace(config_name(self.source.soc.name), c) for c in (first, *others))
            )
            return {
                f"op_host/{name}.cpp": host,
                f"op_host/{name}_tiling.h": self.source.tiling,
                f"op_kernel/{name}.cpp": self.source.kernel,
            }
        return {
            f"op_host/{name}.cpp": "\n".join(self._host()) + "\n",
            f"op_host/{name}_tiling.h": "\n".join(self._tiling()) + "\n",
            f"op_kernel/{name}.cpp": "\n".join(self._kernel()) + "\n",
        }

    # ---- declarations without semantics ---------------------------------------------------------

    def _tiling(self) -> Iterator[str]:
        guard = f"{self.file.upper()}_TILING_H"
        yield from (f"#ifndef {guard}", f"#define {guard}", '#include "register/tilingdata_base.h"', "")
        yield "namespace optiling {"
        yield f"BEGIN_TILING_DATA_DEF({self.opdef.op}TilingData)"
        yield "TILING_DATA_FIELD_DEF(uint64_t, size);"
        yield "END_TILING_DATA_DEF;"
        yield f"REGISTER_TILING_DATA_CLASS({self.opdef.op}, {self.opdef.op}TilingData)"
        yield from ("}  // namespace optiling", "", "#endif")

    def _host(self) -> Iterator[str]:
        op = self.opdef
        yield from (f'#include "{self.file}_tiling.h"', "", '#include "register/op_def_registry.h"', "")
        yield "namespace optiling {"
        yield "// One block; the tiling data has the number of elements of the first input."
        yield "static ge::graphStatus TilingFunc(gert::TilingContext *context) {"
        yield f"    {op.op}TilingData tiling;"
        if op.inputs:
            yield "    tiling.set_size(context->GetInputShape(0)->GetStorageShape().GetShapeSize());"
        yield "    context->SetBlockDim(1);"
        yield "    tiling.SaveToBuffer(context->GetRawTilingData()->GetData(), context->GetRawTilingData()->GetCapacity());"
        yield "    context->GetRawTilingData()->SetDataSize(tiling.GetDataSize());"
        yield "    return ge::GRAPH_SUCCESS;"
        yield "}"
        yield from ("}  // namespace optiling", "", "namespace ge {")
        yield "// Outputs are taken to have the shape and type of the first input."
        yield "static graphStatus InferShape(gert::InferShapeContext *context) {"
        if op.inputs:
            yield from (
                f"    *context->GetOutputShape({i}) = *context->GetInputShape(0);"
                for i in range(len(op.outputs))
            )
        yield from ("    return GRAPH_SUCCESS;", "}", "")
        yield "static graphStatus InferDataType(gert::InferDataTypeContext *context) {"
        for i, spec in enumerate(op.outputs):
            types = {c[spec.name] for c in self.columns}
            fixed = len(types) == 1 or not op.inputs
            value = GE_TYPES[min(types)] if fixed else "context->GetInputDataType(0)"
            yield f"    context->SetOutputDataType({i}, {value});"
        yield from ("    return GRAPH_SUCCESS;", "}", "}  // namespace ge", "", "namespace ops {")
        yield from registration(op, op.op, self.columns, self.configs())
        yield "}  // namespace ops"

    def _kernel(self) -> Iterator[str]:
        names = [s.name for s in (*self.opdef.inputs, *self.opdef.outputs)]
        arguments = ", ".join(f"GM_ADDR {n}" for n in (*names, "workspace", "tiling"))
        yield from ('#include "kernel_operator.h"', "")
        yield f"// The computation of {self.opdef.op} goes here: {self.reason}, so it could not be generated."
        yield f'extern "C" __global__ __aicore__ void {self.function}({arguments}) {{'
        yield "    GET_TILING_DATA(tilingData, tiling);"
        yield "}"


def _declared_columns(opdef: OpDef) -> tuple[Column, ...]:
    try:
        return element_columns(opdef, tuple(GE_TYPES))
    except NotGenerated:
        return ({s.name: dtypes.FLOAT16 for s in (*opdef.inputs, *opdef.outputs)},)


def definition_map(opdef: OpDef) -> dict[str, Any]:
    """The definition in our own format; loading it gives an equal one."""
    entry: dict[str, Any] = {
        "op": opdef.op,
        "doc": opdef.doc,
        "domain": opdef.domain,
        "since_version": opdef.since_version,
    }
    variables = {s.variable: s.types for s in (*opdef.inputs, *opdef.outputs) if s.variable}
    entry["types"] = {v: [dtypes.name(t) for t in types] for v, types in variables.items()}
    described = ("input_desc", "output_desc") if opdef.paired else ("inputs", "outputs")
    for key, specs in zip(described, (opdef.inputs, opdef.outputs), strict=True):
        entry[key] = [_tensor(s) for s in specs]
    entry["attributes"] = [
        {
            "name": a.name,
            "type": a.type,
            **({"default": a.default} if a.default is not None else {}),
            **({"required": True} if a.required else {}),
            **({"allowed": list(a.allowed)} if a.allowed else {}),
        }
        for a in opdef.attributes
    ]
    entry["shape"] = dict(opdef.shape)
    entry["kernel_name"] = opdef.kernel_name
    if opdef.formula is not None:
        entry["formula"] = opdef.formula.split("\n")
    return {k: v for k, v in entry.items() if v not in ("", None, {}, []) or k in described}


def _tensor(spec: TensorSpec) -> dict[str, Any]:
    tensor: dict[str, Any] = {"name": spec.device_name}
    if spec.variable or spec.types:
        tensor["type"] = spec.variable or [dtypes.name(t) for t in spec.types]
    if spec.formats:
        tensor["format"] = list(spec.formats)
    if spec.occurrence != "required":
        tensor["param_type"] = spec.occurrence
    return tensor


def definition_text(opdef: OpDef) -> str:
    return json.dumps(definition_map(opdef), indent=2, ensure_ascii=False) + "\n"
