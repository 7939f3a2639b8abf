"""ascend-op build: from a description to an installed operator."""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ascend_ep import regular_file
from ascend_ep.cli.op_run import add_kernel_arguments
from ascend_ep.cli.op_values import at_flag, read_attributes, read_inputs, read_seconds, read_types
from ascend_ep.errors import AscendError
from ascend_ep.opdef.registry import ENVIRONMENT_VARIABLE

if TYPE_CHECKING:
    from ascend_ep.opbuild.operators.build_op import Built, Request
    from ascend_ep.opbuild.operators.operator_files import Files
    from ascend_ep.opbuild.proof.prove import AscendC

SEARCH_SECONDS = 5.0
SOC_VERSION = "Ascend910B1"
#: Bytes that a build and the largest process it starts take together, whatever the shape. What holds it:
#: proof/cases.py for cases, operators/measure.py for times, proof/harness.py for the operator itself.
MOST_MEMORY = 1 << 30
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}", re.ASCII)
EPILOG = """\
examples:
  ascend-op build --prompt "Swish(x) = x * sigmoid(x)" --input_shape "[1, 512]" --output_name swish_custom
  ascend-op build --prompt "PReLU(x, alpha) = x if x > 0 else alpha * x" --input_shape "[4,33];[33]"
  ascend-op build top_k.py --input_shape "[4,512]" --dtype float16 --search 0

memory:
  at most 1 GB whatever the shape: larger ones are proven and timed at smaller sizes

environment:
  ASCEND_CUSTOM_OPS      folder where proven operators are installed; unset: nothing is installed
  ASCEND_EP_CACHE        what was compiled and measured (default: ascend_ep in $XDG_CACHE_HOME or ~/.cache)
  ASCEND_EP_LLM_URL, ASCEND_EP_LLM_MODEL, ASCEND_EP_LLM_KEY
                         the endpoint for prose
  ASCEND_EP_LLM_ROUNDS, ASCEND_EP_LLM_SECONDS
                         answers asked for (default: 3), and seconds for each (default: 60)
  CC                     the C compiler (else cc, gcc, clang, or python -m ziglang cc)
"""


def add_build_command(commands: Any) -> None:
    """Adds it to the subcommands of ascend-op."""
    build = commands.add_parser(
        "build",
        help="an operator from a description",
        description="From one line of maths to an operator: its C generated, compiled, proven and measured.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = build.add_argument
    add(
        "file",
        nargs="?",
        help="a .py or .txt file with the description, instead of --prompt; a TBE file is code and is run;"
        " so is Ascend C: a .cpp file or a project's folder",
    )
    add("--prompt", metavar="TEXT", help='a formula, a def, or prose: "Swish(x) = x * sigmoid(x)"')
    add(
        "--input_shape",
        metavar="SHAPES",
        help='the shape to build for, inputs by ";": "[4,33];[33]" (required); other sizes run too',
    )
    add("--output_name", default="", metavar="NAME", help="name of the files (default: the type's)")
    add("--output", default=".", metavar="DIR", help="folder of the files (default: .)")
    add(
        "--dtype",
        action="append",
        metavar="TYPES",
        help='element type, or one per input by ";": what is timed (default: the description\'s,'
        ' "输入 FP16 Tensor", else float32). The library holds all floats, and types of indices, that the'
        ' formula allows; a list, "float16,float32" or --dtype repeated, is all that it holds',
    )
    add(
        "--format",
        default="",
        metavar="LAYOUTS",
        help='of inputs of a TBE file, by ";": "NC1HWC0;ND" (default: NCHW for 4 sizes, NCDHW for 5, or ND)',
    )
    add(
        "--ori_shape",
        default="",
        metavar="SHAPES",
        help='the shapes that they had before, by ";" (default: what the layout says)',
    )
    add(
        "--attr",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter that is an attribute, with its default; may be repeated",
    )
    add("--op_type", metavar="TYPE", help="the operator's type, instead of the name in the text")
    add(
        "--search",
        default=str(SEARCH_SECONDS),
        metavar="SECONDS",
        help=f"how long schedules are tried (default: {SEARCH_SECONDS:g}); 0: the cost model alone",
    )
    add(
        "--ascend_c",
        choices=("0", "1"),
        help="1: the Ascend C for the chip must be right on the CPU too; 0: it isn't run (default: it is run"
        " after a search, and only reported)",
    )
    add(
        "--soc_version",
        metavar="CHIP",
        help=f"the chip (default: the host code's, {SOC_VERSION} if it has it)",
    )
    add("--llm-url", metavar="URL", help="OpenAI-compatible endpoint that turns prose into a def")
    add("--llm-model", metavar="NAME", help="the model there")
    add("--verbose", action="store_true", help="show every check of the proof, not its verdict alone")
    add("--force", action="store_true", help="replace a different definition of the same name")
    add_kernel_arguments(
        build.add_argument_group("Ascend C (a .cpp file, or a project's folder), beside these")
    )
    build.set_defaults(run=build_operator)


def build_operator(given: argparse.Namespace, environ: Mapping[str, str]) -> None:
    """ascend-op build."""
    from ascend_ep.cann.soc import find_soc
    from ascend_ep.opbuild.operators.build_op import build

    if given.file is not None and _is_kernel(Path(given.file)):
        build_ascend_c(given, environ)
        return
    _check(given)
    soc = find_soc(given.soc_version or SOC_VERSION)
    request = _request(given, environ)
    show = Stages(given.verbose).show

    try:
        built = build(request, soc, show)
    except AscendError as error:
        raise at_flag(error, given.input_shape, " ".join(given.dtype or ["float32"])) from None
    for stage, text in _outcome(built):
        show(stage, text)


class Stages:
    """Prints the stages of a build, with the seconds since its begin; of a proof that it runs, unless every
    check is to be shown."""

    def __init__(self, every_check: bool) -> None:
        self._every_check = every_check
        self._proves = False
        self._start = time.monotonic()

    def show(self, stage: str, text: str) -> None:
        if stage == "proof" and not self._every_check:
            if self._proves:
                return
            self._proves, text = True, "running; --verbose shows every check"
        print(f"[{time.monotonic() - self._start:6.2f} s] {stage}: {text}", flush=True)


def _is_kernel(path: Path) -> bool:
    from ascend_ep.opbuild.kernels.sources import is_kernel_source

    return path.exists() and is_kernel_source(path)


def build_ascend_c(given: argparse.Namespace, environ: Mapping[str, str]) -> None:
    """ascend-op build of an Ascend C source or project."""
    from ascend_ep.cli.op_run import kernel_request, refuse_flags
    from ascend_ep.opbuild.kernels.build_kernel import BuildRequest, build_kernel

    if given.prompt is not None:
        raise AscendError("E43103", given.file, "prompt", "give either --prompt or a file")
    if given.input_shape is None and not given.input:
        raise AscendError("E10007", "input_shape", "the shape of each input, [4,33];[33], or --input FILE")
    given.input_shape = given.input_shape or ""
    run, golden = kernel_request(given, [given.file])
    if run.sources.host:
        refuse_flags(given, ("output_shape",), "the host code's InferShape decides it")
    folder = environ.get(ENVIRONMENT_VARIABLE) or None
    installed = None if folder is None else Path(folder)
    request = BuildRequest(
        run, given.formula, golden, given.output_name, Path(given.output), installed, given.force
    )
    show = Stages(given.verbose).show
    built = build_kernel(request, show)
    if built.report is None:
        show("unproven", f"{built.unproven}; give --formula, or --input and --golden")
    else:
        for text in built.report.verdict():
            show("proven", text)
        show("proven", f"{sum(c.passed is True for c in built.report.checks)} checks passed")
    show("written", f"{built.files.definition}, {built.files.library}")
    for stage, text in _in_force(built.files, built.opdef.op):
        show(stage, text)


def _check(given: argparse.Namespace) -> None:
    """AscendError for flags that don't say what to build, or under what name."""
    if (given.prompt is None) == (given.file is None):
        raise AscendError("E43103", given.file or "", "prompt", "give either --prompt or a file")
    if given.input_shape is None:
        raise AscendError("E10007", "input_shape", "the shape of each input, [4,33];[33]")
    if given.file is not None and not Path(given.file).is_file():
        raise regular_file.refusal(given.file)
    if given.file is not None and Path(given.file).suffix not in (".py", ".txt"):
        reason, fix = "its file must end in .py or .txt", "Rename it, or give its text with --prompt."
        raise AscendError("E42001", "description", reason, where=given.file, fix=fix)
    if given.output_name and not _NAME.fullmatch(given.output_name):
        raise AscendError("E43103", given.output_name, "output_name", "it must be letters, digits and _ - .")


def _request(given: argparse.Namespace, environ: Mapping[str, str]) -> Request:
    from ascend_ep.frontends.language_model import Endpoint
    from ascend_ep.frontends.tbe.layouts import read_layouts
    from ascend_ep.opbuild.operators.build_op import Request

    folder = environ.get(ENVIRONMENT_VARIABLE) or None
    types = read_types(given.dtype or ["float32"])
    inputs = read_inputs(given.input_shape, types)
    return Request(
        prompt=given.prompt if given.file is None else given.file,
        inputs=inputs,
        layouts=read_layouts(given.format, given.ori_shape, len(inputs)),
        types=types * len(inputs) if len(types) == 1 else types,
        is_typed=given.dtype is not None,
        name=given.output_name,
        output=Path(given.output),
        op_type=given.op_type,
        attributes=read_attributes(given.attr),
        search_seconds=read_seconds(given.search),
        llm=Endpoint.from_environment(environ, given.llm_url, given.llm_model),
        force=given.force,
        installed=None if folder is None else Path(folder),
        ascend_c=_ascend_c(given),
    )


def _outcome(built: Built) -> Iterator[tuple[str, str]]:
    """The last stages, and what is said of them."""
    files = built.files
    passed = sum(c.passed is True for c in built.report.checks)
    for text in built.report.verdict():
        yield "proven", text
    yield "proven", f"{passed} checks passed, see {files.definition.parent}/kernel_meta"
    yield "written", f"{files.definition}, {files.library}"
    yield from _in_force(files, built.opdef.op)


def _in_force(files: Files, op: str) -> Iterator[tuple[str, str]]:
    if files.installed:
        yield "installed", f"{files.installed}: {op} is in force for conversions and sessions"
    else:
        hint = f"set {ENVIRONMENT_VARIABLE} to a folder, or use --custom_op_info={files.definition}"
        yield "not installed", hint


def _ascend_c(given: argparse.Namespace) -> AscendC:
    if given.ascend_c is None:
        return "told" if read_seconds(given.search) else ""
    return "required" if given.ascend_c == "1" else ""
