"""ascend-op gen: an operator project with the flags, log lines and exit statuses of msopgen."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ascend_ep.errors import AscendError

if TYPE_CHECKING:
    from ascend_ep.opbuild.msopgen.request import Request
    from ascend_ep.opbuild.msopgen.sources import Operator
    from ascend_ep.opdef.definition import OpDef

PATH_STATUS, JSON_STATUS, DATA_STATUS, COUNT_STATUS = 101, 107, 112, 114
MAX_INPUT = 10 << 20


def add_gen_command(commands: Any) -> None:
    """Registers `gen` with the subparsers of ascend-op."""
    parser = commands.add_parser("gen", help="an operator project from a definition, as msopgen makes it")
    parser.add_argument("-i", "--input", metavar="FILE", help="operator definitions (.json)")
    parser.add_argument("--prompt", metavar="TEXT", help='a formula instead: "Swish(x) = x * sigmoid(x)"')
    parser.add_argument("-f", "--framework", default="TF", help="tf, caffe, pytorch, ms, onnx or aclnn")
    parser.add_argument(
        "-c",
        "--compute_unit",
        metavar="UNITS",
        help="ai_core-<soc>, several with commas; without it, -f pytorch writes its extension alone",
    )
    parser.add_argument("-out", "-o", "--output", default="./", metavar="DIR", help="made if missing")
    parser.add_argument(
        "-m", "--mode", default="0", metavar="0|1", help="0 a project, 1 an operator into one"
    )
    parser.add_argument(
        "-op",
        "--operator",
        default="",
        metavar="TYPE",
        help="which one of several; without -i and --prompt, one of the library",
    )
    parser.add_argument(
        "-lan", "-t", "--language", default="py", metavar="py|cpp", help="TBE DSL or Ascend C"
    )
    parser.add_argument(
        "--empty", action="store_true", help="only declarations, also where the formula is known"
    )
    parser.add_argument(
        "--namespace", metavar="NAME", help="-f pytorch: of torch.ops.<NAME>.<operator> (default: op_api)"
    )
    parser.add_argument(
        "--module", metavar="NAME", help="-f pytorch: what Python imports (default: <operator>_extension)"
    )
    parser.set_defaults(run=generate_project)


def generate_project(given: argparse.Namespace, environ: Mapping[str, str]) -> None:
    """Writes the project. Ends the process with msopgen's status when it can't."""
    try:
        _generate(given, environ)
    except AscendError as error:
        for line in str(error).split("\n"):
            _log("ERROR", line)
        sys.exit(_status(error))
    _log("INFO", "Generation completed.")


def _generate(given: argparse.Namespace, environ: Mapping[str, str]) -> None:
    from ascend_ep.opbuild.msopgen.project import write_project
    from ascend_ep.opbuild.msopgen.request import (
        LANGUAGES,
        Request,
        check_texts,
        parse_framework,
        parse_units,
    )

    if given.prompt is None and given.input is None and not given.operator:
        reason = "it must be a .json file; or give --prompt, or -op with an operator of the library"
        raise AscendError("E43103", "", "i", reason)
    framework = parse_framework(given.framework)
    if given.compute_unit is None and framework != "pytorch":
        raise AscendError("E43103", "", "c", "it must say the chip, such as ai_core-Ascend910B1")
    units = () if given.compute_unit is None else parse_units(given.compute_unit)
    if given.mode not in ("0", "1"):
        raise AscendError("E43103", given.mode, "m", "it must be 0 or 1")
    if given.language not in LANGUAGES:
        raise AscendError("E43103", given.language, "lan", "it must be py or cpp")
    for flag in ("namespace", "module"):
        if getattr(given, flag) is not None and framework != "pytorch":
            raise AscendError("E43103", getattr(given, flag), flag, "only -f pytorch has one")
    opdef = _definition(given, environ)
    check_texts(opdef)
    output = Path(given.output)
    if output.exists() and not (output.is_dir() and os.access(output, os.W_OK)):
        raise AscendError("E43103", given.output, "out", "it is no folder that can be written")
    request = Request(opdef, framework, given.language, units, output, given.mode == "1")
    _log("INFO", f"Start to generate {opdef.op} for {given.compute_unit or 'PyTorch'}.")
    files: dict[str, str] = {}
    if units:
        operator, files = _project(request, given.empty, environ)
        if operator.reason:
            _log("WARNING", f"The kernel of {opdef.op} is a declaration to complete: {operator.reason}.")
        for note in operator.source.notes if operator.source and given.language == "cpp" else ():
            _log("WARNING", note)
    if framework == "pytorch" and not given.empty:
        files |= _extension(request, given, environ)
    write_project(request, files)
    for name in sorted(files):
        _log("INFO", f"File {output / name} generated successfully.")


def _definition(given: argparse.Namespace, environ: Mapping[str, str]) -> OpDef:
    """What is to be generated: of a file, a formula, or the operator in force under a name."""
    from ascend_ep.opbuild.msopgen.request import choose_operator
    from ascend_ep.opdef.loader import load_definitions

    if given.prompt is not None and given.input is not None:
        raise AscendError("E43103", given.input, "i", "the operator is that of --prompt already")
    if given.prompt is not None:
        from ascend_ep.frontends.description import describe

        return describe(given.prompt, op_type=given.operator or None).opdef
    if given.input is None:
        return _of_library(given.operator, environ)
    path = Path(given.input)
    if path.suffix.lower() != ".json":
        raise AscendError(
            "E43103", given.input, "i", "it must be a .json file; spreadsheets and text aren't read"
        )
    try:
        size = path.stat().st_size
    except (OSError, ValueError) as error:
        raise AscendError("E43103", given.input, "i", getattr(error, "strerror", None) or error) from error
    if size > MAX_INPUT:
        raise AscendError("E43103", given.input, "i", f"it has {size} bytes, more than {MAX_INPUT}")
    return choose_operator(load_definitions(path), given.operator)


def _of_library(op: str, environ: Mapping[str, str]) -> OpDef:
    """The operator in force under a name. Raises E43103."""
    from ascend_ep.opdef.registry import Registry

    registry = Registry.from_options(environ=environ)
    found = registry.resolve("custom", op, 1)
    if found is None:
        near = registry.near_misses("", op, 1)
        similar = f"; similar: {', '.join(near[:3])}" if near else ""
        raise AscendError("E43103", op[:80], "op", f"no operator of that name is known{similar}")
    return found.opdef


def _extension(request: Request, given: argparse.Namespace, environ: Mapping[str, str]) -> dict[str, str]:
    """The PyTorch extension's files. Beside a project for a chip, an operator that can't have one is only
    said to have none. Raises E43103, and without a chip also E43106 and E41011."""
    from ascend_ep.codegen.c_source import NotGenerated
    from ascend_ep.frameworks.torch.extension.project import NAMESPACE, check_name, extension_files
    from ascend_ep.opbuild.msopgen.known import filled_in
    from ascend_ep.opdef.registry import Registry

    namespace = check_name(NAMESPACE if given.namespace is None else given.namespace, "namespace")
    module = "" if given.module is None else check_name(given.module, "module")
    opdef = request.opdef
    try:
        if opdef.semantics is None:
            opdef, source = filled_in(opdef, Registry.from_options(environ=environ))
            _log("INFO", f"The extension computes the formula of {opdef.op}: {source}.")
        return extension_files(opdef, namespace, module)
    except NotGenerated as error:
        reason, cause = str(error).rstrip("."), AscendError("E43106", opdef.op, str(error).rstrip("."))
    except AscendError as error:
        if error.code not in ("E43106", "E41011"):
            raise
        reason, cause = error.text.rstrip("."), error
    if not request.units:
        raise cause
    _log("WARNING", f"{opdef.op} has no PyTorch extension: {reason}.")
    return {}


def _project(request: Request, empty: bool, environ: Mapping[str, str]) -> tuple[Operator, dict[str, str]]:
    """The operator and its files: filled in from its formula, or from what its name is known to mean."""
    from ascend_ep.codegen.c_source import NotGenerated
    from ascend_ep.opbuild.msopgen.known import filled_in
    from ascend_ep.opbuild.msopgen.project import project_files
    from ascend_ep.opbuild.msopgen.sources import Operator
    from ascend_ep.opdef.registry import Registry

    opdef = request.opdef
    if empty:
        operator = Operator(replace(request, opdef=replace(opdef, semantics=None)), "--empty is given")
        return operator, project_files(operator)
    if opdef.semantics is not None:
        operator = Operator(request)
        return operator, project_files(operator)
    try:
        known, source = filled_in(opdef, Registry.from_options(environ=environ))
        operator = Operator(replace(request, opdef=known))
        files = project_files(operator)
    except (NotGenerated, AscendError) as reason:
        if isinstance(reason, AscendError) and reason.code != "E43106":
            raise
        text = reason.text if isinstance(reason, AscendError) else str(reason)
        operator = Operator(request, text.rstrip("."))
        return operator, project_files(operator)
    if operator.source is not None:
        _log("INFO", f"The kernel computes the formula of {opdef.op}: {source}.")
    return operator, files


def _status(error: AscendError) -> int:
    """msopgen's exit status of an error."""
    from ascend_ep.opbuild.msopgen.request import STATUS

    if error.code == "E43103":
        flag = error.text.split("for [--", 1)[1].split("]", 1)[0]
        return STATUS.get(flag, PATH_STATUS)
    if error.code == "E43104":
        return STATUS["out"]
    if error.code == "E41006" and "different lengths" in error.text:
        return COUNT_STATUS
    return {"E41010": PATH_STATUS, "E41001": JSON_STATUS, "E41002": JSON_STATUS}.get(error.code, DATA_STATUS)


def _log(level: str, text: str) -> None:
    stamp = time.strftime("%Y-%m-%d %H:%M:%S")
    print(f"{stamp} ({os.getpid()}) - [{level}] {text}", file=sys.stderr if level == "ERROR" else sys.stdout)
