"""What op_build makes of a compiled op_host, as build files of projects expect it in their autogen folder:
for each operator its library, aclnn_<op>.h and .cpp, a section of aic-<chip>-ops-info.ini, its prototype."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from ascend_ep import atomic_file
from ascend_ep.cann.soc import find_soc
from ascend_ep.errors import AscendError
from ascend_ep.opbuild.ascendc.naming import Column, snake_case
from ascend_ep.opbuild.msopgen.info_library import ini_text
from ascend_ep.opbuild.msopgen.project import prototype_lines
from ascend_ep.opdef.definition import OpDef

from .aclnn_sources import header_name, header_text, source_text
from .build_kernel import BuildRequest, build_kernel
from .chips import SOC_VERSION, soc_of
from .host_code import HostOperator, read_host
from .project_files import SUFFIXES
from .run_kernel import RunRequest
from .sources import Sources, defined_types, find_sources

#: Below the autogen folder: definitions and libraries, which aclnn_<op>.cpp includes.
LIBRARIES = "asc_operators"
Show = Callable[[str, str], None]


def generate(host_files: Sequence[Path], folder: Path, show: Show) -> list[Path]:
    """Writes everything about the operators that these files of one or more op_host folders register.

    Raises AscendError as build_kernel does, and E43202 where a project has no kernel.
    """
    atomic_file.make_folder(folder)
    written: list[Path] = []
    sections: dict[str, list[str]] = {}
    prototypes = []
    for project in dict.fromkeys(_project(p) for p in host_files):
        mine = [p for p in host_files if _project(p) == project]
        for op_type in dict.fromkeys(t for p in mine for t in defined_types(p)):
            sources = find_sources([project], op_type=op_type)
            operator = read_host(sources.host, sources.folders, find_soc(SOC_VERSION)).operator(op_type)
            opdef, by_value = _build(sources, operator, folder / LIBRARIES, show)
            written += _write_aclnn(opdef, by_value, folder)
            columns = _columns(opdef)
            for chip in operator.chips or ("ascend910b",):
                sections.setdefault(chip, []).append(ini_text(opdef, snake_case(opdef.op), columns))
            prototypes.append("\n".join(prototype_lines(opdef, columns)))
    for chip, texts in sections.items():
        written.append(_put(folder / f"aic-{chip}-ops-info.ini", "\n".join(texts)))
    written.append(_put(folder / "op_proto.h", _proto_header(prototypes)))
    written.append(_put(folder / "op_proto.cc", '#include "op_proto.h"\n'))
    written.append(_put(folder / "custom_compile_options.ini", ""))
    return written


def _project(host_file: Path) -> Path:
    """The folder that has op_kernel beside the file's op_host. Raises AscendError E43202."""
    for above in host_file.parents:
        if (above / "op_kernel").is_dir():
            return above
    fix = "Put the kernels in op_kernel beside op_host."
    raise AscendError("E43202", host_file, "no folder above it has op_kernel", fix=fix)


def _build(sources: Sources, operator: HostOperator, folder: Path, show: Show) -> tuple[OpDef, list[str]]:
    run = RunRequest(sources, soc_of(operator.chips), ())
    built = build_kernel(BuildRequest(run, output=folder, force=True), show)
    return built.opdef, [t.name for t in operator.inputs if t.value_depends]


def _write_aclnn(opdef: OpDef, by_value: Sequence[str], folder: Path) -> list[Path]:
    name = snake_case(opdef.op)
    definition, library = (folder / LIBRARIES / f"{name}{suffix}" for suffix in (".json", ".so"))
    return [
        _put(folder / header_name(opdef.op), header_text(opdef, by_value)),
        _put(
            folder / f"aclnn_{name}.cpp",
            source_text(opdef, definition.resolve(), library.resolve(), by_value),
        ),
    ]


def _columns(opdef: OpDef) -> list[Column]:
    tensors = (*opdef.inputs, *opdef.outputs)
    width = max((len(t.types) for t in tensors), default=0)
    return [{t.name: t.types[min(i, len(t.types) - 1)] for t in tensors if t.types} for i in range(width)]


def _proto_header(prototypes: Sequence[str]) -> str:
    head = '#ifndef OP_PROTO_H_\n#define OP_PROTO_H_\n\n#include "graph/operator_reg.h"\n\nnamespace ge {\n\n'
    return head + "\n\n".join(prototypes) + "\n}  // namespace ge\n\n#endif\n"


def _put(path: Path, text: str) -> Path:
    atomic_file.write(path, text)
    return path


def sources_in(folder: Path) -> list[Path]:
    """The files of an op_host folder that register operators."""
    files = (p for p in sorted(folder.rglob("*")) if p.suffix in SUFFIXES)
    return [p for p in files if defined_types(p)]
