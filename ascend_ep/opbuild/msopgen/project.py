"""The project tree of a request, and writing it: nothing outside the output folder, nothing half written."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from ascend_ep.errors import AscendError
from ascend_ep.opbuild.ascendc.naming import GE_TYPES, Column
from ascend_ep.opdef.definition import Attribute, OpDef

from .build_files import cpp_build_files, py_build_files
from .info_library import ini_text, json_entry
from .request import Request
from .sources import Operator, definition_text
from .tbe_source import tbe_text

_PLUGINS = {
    "onnx": "onnx_plugin/{}_plugin.cc",
    "tf": "tf_plugin/tensorflow_{}_plugin.cc",
    "caffe": "caffe_plugin/caffe_{}_plugin.cc",
}
_EXECUTABLE = (
    "build.sh",
    *(f"scripts/{name}.sh" for name in ("install", "upgrade", "profile", "run_test")),
)
#: Files that a project has once, whatever its operators.
_SHARED = ("CMakeLists.txt", "setup.py", "aten_formula.h", "run_test.sh")
#: What a project has, by which it is known as one.
_MARKERS = ("CMakeLists.txt", "setup.py")
_ONNX_VERSIONS = range(8, 22)


def project_files(operator: Operator) -> dict[str, str]:
    """Path below the output folder -> text."""
    request, name = operator.request, operator.file
    cpp = request.language == "cpp"
    files: dict[str, str] = {}
    if not request.adding:
        files |= cpp_build_files(operator.configs()) if cpp else py_build_files(operator.configs())
    files |= operator.cpp_files() if cpp else _py_files(operator)
    if request.framework in _PLUGINS:
        path = "framework/" + _PLUGINS[request.framework].format(name)
        files[path] = plugin_text(operator.opdef, request.framework)
        files[str(Path(path).parent / "CMakeLists.txt")] = _PLUGIN_CMAKE.replace(
            "@PLUGIN@", request.framework
        )
    elif request.framework == "ms":
        files[f"mindspore/impl/{name}_impl.py"] = _mindspore_text(operator)
    files[f"op_info/{name}.json"] = (
        json.dumps(json_entry(operator.opdef, operator.function, operator.columns), indent=2) + "\n"
    )
    files[f"op_info/{name}.ini"] = ini_text(operator.opdef, operator.function, operator.columns)
    files[f"tests/{name}.json"] = definition_text(operator.opdef)
    files |= proof_files(operator)
    return files


def write_project(request: Request, files: dict[str, str]) -> None:
    """Writes the files. An existing project is added to with -m 1 only. Raises E43103 or E43104."""
    root = request.output
    if request.adding and not any((root / marker).is_file() for marker in _MARKERS):
        raise AscendError(
            "E43103", str(root), "m", f"with -m 1 the output must be a project: it has no {_MARKERS[0]}"
        )
    taken = [path for path in files if (root / path).exists()]
    shared = [p for p in taken if request.adding and Path(p).name in _SHARED]
    if set(taken) - set(shared):
        first = min(set(taken) - set(shared))
        reason = (
            "the operator is there already"
            if request.adding
            else "it has a project; -m 1 adds an operator to it"
        )
        raise AscendError("E43104", str(root / first), reason)
    written: list[Path] = []
    try:
        for path, text in files.items():
            if path in shared:
                continue
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            with open(target, "x", encoding="utf-8") as file:
                written.append(target)
                file.write(text)
            target.chmod(0o755 if path in _EXECUTABLE else 0o644)
    except OSError as error:
        for target in written:
            os.unlink(target)
        raise AscendError("E43104", str(error.filename or root), error.strerror or error) from error


def plugin_text(opdef: OpDef, framework: str) -> str:
    """The parser plugin: attributes are mapped by name, from every opset version that can import the
    operator.
    """
    lines = ['#include "register/register.h"', "", "namespace domi {", f'REGISTER_CUSTOM_OP("{opdef.op}")']
    if framework == "onnx":
        domain = opdef.domain or "ai.onnx"
        versions = _ONNX_VERSIONS if domain == "ai.onnx" else range(1, 2)
        keys = [f'ge::AscendString("{domain}::{v}::{opdef.op}")' for v in versions]
        rows = [", ".join(keys[i : i + 2]) for i in range(0, len(keys), 2)]
        lines += [
            "    .FrameworkType(ONNX)",
            "    .OriginOpType({" + ",\n                   ".join(rows) + "})",
        ]
    else:
        kind = {"tf": "TENSORFLOW", "caffe": "CAFFE"}[framework]
        lines += [f"    .FrameworkType({kind})", f'    .OriginOpType("{opdef.op}")']
    lines += [
        "    .ParseParamsByOperatorFn(AutoMappingByOpFn)",
        "    .ImplyType(ImplyType::TVM);",
        "}  // namespace domi",
    ]
    return "\n".join(lines) + "\n"


def _py_files(operator: Operator) -> dict[str, str]:
    name, opdef = operator.file, operator.opdef
    files = {
        f"op_proto/{name}.h": _proto_header(operator),
        f"op_proto/{name}.cc": _proto_source(opdef, name),
        f"tbe/impl/{name}.py": tbe_text(operator),
    }
    for config in operator.configs():
        files[f"tbe/op_info_cfg/ai_core/{config}/{name}.ini"] = ini_text(
            opdef, operator.function, operator.columns
        )
    return files


def _proto_header(operator: Operator) -> str:
    opdef = operator.opdef
    lines = [f"#ifndef GE_OP_{operator.file.upper()}_H", f"#define GE_OP_{operator.file.upper()}_H", ""]
    lines += [
        '#include "graph/operator_reg.h"',
        "",
        "namespace ge {",
        *prototype_lines(opdef, operator.columns),
    ]
    return "\n".join([*lines, "}  // namespace ge", "", "#endif", ""])


def prototype_lines(opdef: OpDef, columns: Sequence[Column]) -> list[str]:
    """REG_OP."""
    lines = [f"REG_OP({opdef.op})"]
    prefix = {"required": "", "optional": "OPTIONAL_", "variadic": "DYNAMIC_"}
    for kind, specs in (("INPUT", opdef.inputs), ("OUTPUT", opdef.outputs)):
        for spec in specs:
            types = ", ".join(
                GE_TYPES[t] for t in dict.fromkeys(c[spec.name] for c in columns if spec.name in c)
            )
            mark = prefix[spec.occurrence] if kind == "INPUT" or spec.occurrence == "variadic" else ""
            lines.append(f"    .{mark}{kind}({spec.device_name}, TensorType({{{types}}}))")
    lines += [f"    {_proto_attribute(a)}" for a in opdef.attributes]
    return [*lines, f"    .OP_END_FACTORY_REG({opdef.op})"]


def _proto_attribute(attribute: Attribute) -> str:
    kind = {"ints": "ListInt", "floats": "ListFloat", "bools": "ListBool", "strings": "ListString"}.get(
        attribute.type, attribute.type.capitalize()
    )
    if attribute.required:
        return f".REQUIRED_ATTR({attribute.name}, {kind})"
    value = attribute.default
    if isinstance(value, tuple):
        text = "{" + ", ".join(json.dumps(v) for v in value) + "}"
    else:
        text = json.dumps(
            value if value is not None else {"string": "", "bool": False}.get(attribute.type, 0)
        )
    return f".ATTR({attribute.name}, {kind}, {text})"


def _proto_source(opdef: OpDef, name: str) -> str:
    """Shape inference by broadcasting, which is what the reference's rule is for an elementwise formula."""
    lines = [f'#include "{name}.h"', "", "#include <vector>", "", "namespace ge {"]
    lines += [f"IMPLEMT_COMMON_INFERFUNC({opdef.op}InferShape) {{", "    std::vector<int64_t> dims;"]
    for i in range(len(opdef.inputs)):
        lines += [
            "    {",
            f"        const std::vector<int64_t> other = op.GetInputDesc({i}).GetShape().GetDims();",
            "        if (dims.size() < other.size()) dims.insert(dims.begin(), other.size() - dims.size(), 1);",
            "        for (size_t k = 0; k < other.size(); k++) {",
            "            int64_t &mine = dims[dims.size() - other.size() + k];",
            "            if (mine == 1) mine = other[k];",
            "        }",
            "    }",
        ]
    for spec in opdef.outputs:
        like = next((i for i, s in enumerate(opdef.inputs) if s.variable == spec.variable), 0)
        lines += [
            f'    TensorDesc {spec.name} = op.GetOutputDescByName("{spec.device_name}");',
            f"    {spec.name}.SetShape(Shape(dims));",
            *(
                [f"    {spec.name}.SetDataType(op.GetInputDesc({like}).GetDataType());"]
                if opdef.inputs
                else []
            ),
            f'    op.UpdateOutputDesc("{spec.device_name}", {spec.name});',
        ]
    lines += [
        "    return GRAPH_SUCCESS;",
        "}",
        "",
        f"COMMON_INFER_FUNC_REG({opdef.op}, {opdef.op}InferShape);",
        "}  // namespace ge",
    ]
    return "\n".join(lines) + "\n"


def _mindspore_text(operator: Operator) -> str:
    opdef = operator.opdef
    given = ", ".join(s.name for s in opdef.inputs)
    shapes = ", ".join(f"{s.name}_shape" for s in opdef.inputs)
    first = f"{opdef.inputs[0].name}_" if opdef.inputs else ""
    return f'''"""{opdef.op} in MindSpore: the installed aclnn operator as a primitive."""

from mindspore import ops


def _shape({shapes}):
    return {first}shape


def _dtype({shapes.replace("_shape", "_dtype")}):
    return {first}dtype


_custom = ops.Custom("aclnn{opdef.op}", out_shape=_shape, out_dtype=_dtype, func_type="aot")


def {operator.file}({given}):
    return _custom({given})
'''


_PLUGIN_CMAKE = """file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
add_library(cust_@PLUGIN@_parsers SHARED ${sources})
target_link_libraries(cust_@PLUGIN@_parsers PRIVATE intf_pub graph register)
install(TARGETS cust_@PLUGIN@_parsers DESTINATION ${vendor_dir}/framework/@PLUGIN@)
"""


_TEST = '''"""The kernel, tiling and shape inference of {op} on this CPU, against its definition in float64.

Needs ascend-ep and a C++ compiler; run with pytest. Every rule of the device's memory is checked on the way.
"""

from pathlib import Path

import numpy as np
import pytest

from ascend_ep.cann.soc import find_soc
from ascend_ep.errors import AscendError
from ascend_ep.opbuild.ascendc.cpu import compile_for_cpu, project_source
from ascend_ep.opdef.loader import load_definitions
from ascend_ep.opdef.reference import evaluate

HERE = Path(__file__).resolve().parent
OPDEF = load_definitions(HERE / "{file}.json")[0]
SOURCE = project_source(HERE.parent, OPDEF, find_soc("{soc}"), "{file}")
#: by element type: relative to the largest result, for rounding to the type and cancellation; and absolute, for
#: what lies half way between integers
TOLERANCES = {{1: (1e-5, 0), 10: (2e-3, 0), 16: (2e-2, 0), 2: (0, 1), 3: (0, 1), 4: (0, 1), 5: (0, 1)}}


@pytest.mark.parametrize("column", range(len(SOURCE.columns)))
@pytest.mark.parametrize("shape", [(1, 1), (5, 33), (3, 257), (2, 3, 5, 33)])
def test_matches_the_definition(column, shape):
    random = np.random.default_rng(0)
    kernel = compile_for_cpu(SOURCE, OPDEF, column)
    inputs = [kernel.rounded(i, random.uniform(0.1, 2, shape)) for i in range(len(OPDEF.inputs))]
    try:
        expected = evaluate(OPDEF, [x.astype(np.float64) for x in inputs])
    except AscendError:
        with pytest.raises(AscendError):
            kernel(*inputs)
        return
    for name, mine, reference in zip(SOURCE.outputs, kernel(*inputs), expected, strict=True):
        relative, absolute = TOLERANCES.get(SOURCE.columns[column][name], (0, 0))
        allowed = relative * max(np.abs(reference).max(initial=0), 1e-6) + absolute
        assert mine.shape == reference.shape
        assert np.abs(mine.astype(np.float64) - reference).max(initial=0) <= allowed
'''


def proof_files(operator: Operator) -> dict[str, str]:
    """tests/test_<op>.py of a filled-in -lan cpp project; there is nothing to compare otherwise."""
    if operator.source is None or operator.request.language != "cpp":
        return {}
    text = _TEST.format(op=operator.opdef.op, file=operator.file, soc=operator.source.soc.name)
    return {f"tests/test_{operator.file}.py": text}
