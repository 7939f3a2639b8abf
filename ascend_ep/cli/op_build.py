"""ascend-op build and verify: from a description to an installed operator, and its proof."""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ascend_ep.errors import AscendError
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.definition import OpDef
from ascend_ep.opdef.registry import ENVIRONMENT_VARIABLE, Registry

if TYPE_CHECKING:
    from ascend_ep.compiler.codegen.session import TensorSpec
    from ascend_ep.compiler.proof.prove import AscendC

SEARCH_SECONDS = 5.0
SOC_VERSION = "Ascend910B1"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}", re.ASCII)
_SIZES = r"(\d{1,12}\s*(?:,\s*\d{1,12}\s*)*)"
_DIMS = re.compile(rf"\s*(?:\[\s*{_SIZES}?\]|{_SIZES})\s*", re.ASCII)


def add_commands(commands: Any) -> None:
    """Adds both to the subcommands of ascend-op."""
    build = commands.add_parser(
        "build",
        help="an operator from a description",
        description="From one line of maths to a proven operator.",
    )
    build.add_argument(
        "file",
        nargs="?",
        help="a .py or .txt file with the description, instead of --prompt; a TBE file is code and is run",
    )
    build.add_argument(
        "--prompt", metavar="TEXT", help='a formula, a def, or prose: "Swish(x) = x * sigmoid(x)"'
    )
    build.add_argument(
        "--input_shape",
        metavar="SHAPES",
        help='the shape to build for, inputs by ";": "[4,33];[33]"',
    )
    build.add_argument(
        "--output_name", default="", metavar="NAME", help="name of the files (default: the type's)"
    )
    build.add_argument("--output", default=".", metavar="DIR", help="folder of the files (default: .)")
    build.add_argument(
        "--dtype", default="float32", help='element type, one per input by ";" (default: float32)'
    )
    build.add_argument(
        "--attr", action="append", default=[], metavar="NAME=VALUE", help="a parameter that is an attribute"
    )
    build.add_argument(
        "--op_type", metavar="TYPE", help="the operator's type, instead of the name in the text"
    )
    build.add_argument(
        "--search", default=str(SEARCH_SECONDS), metavar="SECONDS",
        help="how long schedules are tried; 0: the cost model alone",
    )  # fmt: skip
    build.add_argument(
        "--ascend_c", choices=("0", "1"),
        help="1: the Ascend C for the chip must be right on the CPU too; 0: it isn't run (default: it is run"
        " after a search, and only reported)",
    )  # fmt: skip
    build.add_argument("--soc_version", default=SOC_VERSION, help=f"the chip (default: {SOC_VERSION})")
    build.add_argument("--llm-url", metavar="URL", help="OpenAI-compatible endpoint that reads prose")
    build.add_argument("--llm-model", metavar="NAME", help="its model")
    build.add_argument("--force", action="store_true", help="replace a different definition of the same name")
    build.set_defaults(run=build_operator)
    verify = commands.add_parser("verify", help="the proof of a built operator")
    verify.add_argument(
        "op", metavar="NAME|FILE", help="an installed operator, or the definition build wrote"
    )
    verify.add_argument(
        "--rerun", action="store_true", help="prove it again instead of reading what was stored"
    )
    verify.set_defaults(run=verify_operator)


def build_operator(given: argparse.Namespace, environ: Mapping[str, str]) -> None:
    """ascend-op build."""
    from ascend_ep.compiler.build_op import Request, build
    from ascend_ep.compiler.soc import find_soc
    from ascend_ep.frontends.language_model import Endpoint

    if (given.prompt is None) == (given.file is None):
        raise AscendError("E43103", given.file or "", "prompt", "give either --prompt or a file")
    if given.input_shape is None:
        raise AscendError("E10007", "input_shape", "the shape of each input, [4,33];[33]")
    if given.file is not None and not Path(given.file).is_file():
        raise AscendError("E10410", given.file)
    if given.output_name and not _NAME.fullmatch(given.output_name):
        raise AscendError("E43103", given.output_name, "output_name", "it must be letters, digits and _ - .")
    folder = environ.get(ENVIRONMENT_VARIABLE) or None
    soc = find_soc(given.soc_version)
    request = Request(
        prompt=given.prompt if given.file is None else given.file,
        inputs=read_inputs(given.input_shape, given.dtype),
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
    start = time.monotonic()

    def show(stage: str, text: str) -> None:
        print(f"[{time.monotonic() - start:6.2f} s] {stage}: {text}", flush=True)

    try:
        built = build(request, soc, show)
    except AscendError as error:
        raise _at_flag(error, given.input_shape, given.dtype) from None
    checks = built.report.checks
    passed = sum(c.passed is True for c in checks)
    show("proven", f"{passed} checks passed, see {built.files.definition.parent}/kernel_meta")
    show("written", f"{built.files.definition}, {built.files.library}")
    if built.files.installed:
        show(
            "installed", f"{built.files.installed}: {built.opdef.op} is in force for conversions and sessions"
        )
    else:
        show(
            "not installed",
            f"set {ENVIRONMENT_VARIABLE} to a folder, or use --custom_op_info={built.files.definition}",
        )


# ---- values of flags -----------------------------------------------------------------------------


def read_inputs(shapes: str, kinds: str) -> tuple[TensorSpec, ...]:
    """`[4,33];[33]` and `float32` or `float32;int32` as inputs. Raises E43103 with a caret."""
    from ascend_ep.compiler.codegen.session import TensorSpec

    found = []
    at = 0
    for part in shapes.split(";"):
        match = _DIMS.fullmatch(part)
        if match is None:
            raise _flag(shapes, "input_shape", "a shape is written [4,33], several as [4,33];[33]", at, part)
        dims = tuple(int(d) for d in (match[1] or match[2] or "").split(",") if d.strip())
        if len(dims) > 8 or any(d < 1 for d in dims) or _product(dims) > 1 << 31:
            raise _flag(
                shapes, "input_shape", "a shape has up to 8 sizes of at least 1 and 2^31 elements", at, part
            )
        found.append(dims)
        at += len(part) + 1
    names = [k.strip() for k in kinds.replace(",", ";").split(";")]
    for name in names:
        if name not in dtypes.NUMBERS or (
            dtypes.NUMBERS[name] not in dtypes.NUMPY and name not in ("bfloat16", "bf16")
        ):
            known = ", ".join(dtypes.name(t) for t in (*dtypes.NUMPY, dtypes.BFLOAT16))
            raise AscendError(
                "E43103", kinds, "dtype", f"there is no type {name}", details=[f"allowed: {known}"]
            )
    if len(names) not in (1, len(found)):
        raise AscendError("E43103", kinds, "dtype", f"{len(names)} types for {len(found)} shapes")
    names = names * len(found) if len(names) == 1 else names
    return tuple(TensorSpec(dtypes.NUMBERS[n], dims) for n, dims in zip(names, found, strict=True))


def read_attributes(texts: list[str]) -> dict[str, int | float | bool | str | None]:
    """`NAME=VALUE` of every --attr. Raises E43103."""
    found: dict[str, int | float | bool | str | None] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip().isidentifier():
            raise AscendError("E43103", text, "attr", "write NAME=VALUE")
        found[name.strip()] = _value(value.strip())
    return found


def _ascend_c(given: argparse.Namespace) -> AscendC:
    if given.ascend_c is None:
        return "told" if read_seconds(given.search) else ""
    return "required" if given.ascend_c == "1" else ""


def read_seconds(text: str) -> float:
    """The value of --search. Raises E43103."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= 3600:
        raise AscendError("E43103", text, "search", "it must be seconds from 0 to 3600")
    return seconds


def _value(text: str) -> int | float | bool | str:
    try:
        value = json.loads(text.lower() if text.lower() in ("true", "false") else text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, int | float | bool | str) else text


def _product(dims: tuple[int, ...]) -> int:
    total = 1
    for d in dims:
        total *= d
    return total


def _flag(text: str, flag: str, reason: str, at: int, part: str) -> AscendError:
    lead = len(part) - len(part.lstrip())
    caret = " " * (at + lead) + "^" * max(1, len(part.strip()))
    return AscendError("E43103", text, flag, reason, details=[text, caret])


def _at_flag(error: AscendError, shapes: str, kinds: str) -> AscendError:
    """An error about the inputs, with the flag it comes from, and a caret under the shape that doesn't fit:
    the last one."""
    if error.code not in ("E41011", "E41012"):
        return error
    if any(line.startswith("allowed: ") for line in error.details):
        error.where, error.fix = "--dtype", "Give a type that the operator takes."
        error.details = (*error.details, kinds, "^" * len(kinds))
        return error
    if "attribute" in error.text:
        error.where, error.fix = "--attr", "Give the attribute a value: --attr NAME=VALUE."
        return error
    start = shapes.rfind(";") + 1
    part = shapes[start:]
    caret = " " * (start + len(part) - len(part.lstrip())) + "^" * max(1, len(part.strip()))
    error.where, error.fix = "--input_shape", "Correct the shapes, or the formula."
    error.details = (*error.details, shapes, caret)
    return error


# ---- proofs --------------------------------------------------------------------------------------


def verify_operator(given: argparse.Namespace, environ: Mapping[str, str]) -> None:
    """ascend-op verify: prints the stored proof, or a new one, and checks that it is this definition's."""
    from ascend_ep.compiler.operator_files import read_proof

    path = definition_path(given.op, environ)
    report = read_proof(path)
    opdef = _definition(path)
    _check_belongs(path, opdef, report.about)
    if given.rerun:
        report = _proven_again(opdef, report.about)
    about = report.about
    print(f"{opdef.op}: {path}")
    made_with = f"{', '.join(about.get('levels', ()))}, {about.get('compiler')}"
    print(f"  proven {about.get('date')} for {about.get('soc_version')}, {made_with}")
    print("\n".join(f"  {line}" for line in report.lines()))
    if not report.passed:
        raise AscendError("E43107", opdef.op, f"{len(report.failures())} checks fail")
    print("proof holds")


def definition_path(name: str, environ: Mapping[str, str]) -> Path:
    """The file of an operator: as given, or by type or file name in $ASCEND_CUSTOM_OPS. Raises E43105."""
    if name.endswith(".json") or "/" in name:
        if not Path(name).is_file():
            raise AscendError("E10410", name)
        return Path(name)
    folder = environ.get(ENVIRONMENT_VARIABLE) or None
    if folder is None:
        raise AscendError(
            "E43105", name, f"{ENVIRONMENT_VARIABLE} isn't set", fix="Set it, or name the definition's file."
        )
    for place, opdef in Registry(folder=folder, builtin=False).definitions():
        path = Path(opdef.origin.rpartition(":")[0])
        if name in (opdef.op, opdef.full_name, path.stem) and place:
            return path
    raise AscendError("E43105", name, f"{folder} has no such operator")


def proof_state(opdef: OpDef) -> str:
    """What is known of an operator's proof, for listings; "" when it wasn't built."""
    from ascend_ep.compiler.operator_files import proof_path, read_proof

    path = Path(opdef.origin.rpartition(":")[0])
    if not path.name or not proof_path(path).is_file():
        return ""
    try:
        report = read_proof(path)
        _check_belongs(path, opdef, report.about)
    except AscendError as error:
        return error.text
    passed = sum(c.passed is True for c in report.checks)
    state = f"proven ({passed} checks)" if report.passed else "NOT proven"
    return f"{state} {report.about.get('date', '')}".strip()


def _definition(path: Path) -> OpDef:
    from ascend_ep.opdef.loader import load_definitions

    (opdef,) = load_definitions(path)[:1]
    return opdef


def _check_belongs(path: Path, opdef: OpDef, about: Mapping[str, Any]) -> None:
    """Raises E43107 when the definition or the library isn't the one that was proven."""
    subject = _subject_of(opdef, about)
    if str(subject.program) != about.get("formula"):
        raise AscendError(
            "E43107", opdef.op, "the definition was changed after it was proven", where=str(path)
        )
    library = path.with_suffix(".so")
    if library.is_file() and hashlib.sha256(library.read_bytes()).hexdigest() != about.get("library_sha256"):
        raise AscendError(
            "E43107", opdef.op, f"{library.name} was changed after it was proven", where=str(path)
        )


def _subject_of(opdef: OpDef, about: Mapping[str, Any]) -> Any:
    """The subject that a stored proof is about."""
    from ascend_ep.compiler.codegen.schedule import Schedule
    from ascend_ep.compiler.codegen.session import TensorSpec
    from ascend_ep.compiler.proof.subject import Subject

    try:
        given = {
            n: TensorSpec(dtypes.NUMBERS[t], tuple(map(int, d))) for n, (t, d) in about["inputs"].items()
        }
        parts = dict(p.split("=", 1) for p in str(about["schedule"]).split())
        schedule = Schedule(**{k: int(v) for k, v in parts.items()})
        return Subject(
            opdef, tuple(given.get(t.name) for t in opdef.inputs), dict(about["attributes"]), schedule
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise AscendError("E43105", opdef.op, f"the stored proof is malformed ({error})") from None


def _proven_again(opdef: OpDef, about: Mapping[str, Any]) -> Any:
    from ascend_ep.compiler.proof.prove import NotGenerated, prove
    from ascend_ep.compiler.soc import find_soc

    try:
        return prove(
            _subject_of(opdef, about),
            find_soc(str(about.get("soc_version"))),
            log=lambda c: print(f"  {c.layer}, {c}"),
        )
    except NotGenerated as reason:
        raise AscendError("E43106", opdef.op, reason) from None
