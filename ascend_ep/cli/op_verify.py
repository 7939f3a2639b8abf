"""ascend-op verify: the stored proof of a built operator, and whether it is still this operator's."""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ascend_ep.errors import AscendError
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.definition import OpDef
from ascend_ep.opdef.registry import ENVIRONMENT_VARIABLE, Registry


def add_verify_command(commands: Any) -> None:
    """Adds it to the subcommands of ascend-op."""
    verify = commands.add_parser("verify", help="the proof of a built operator")
    verify.add_argument(
        "op", metavar="NAME|FILE", help="an installed operator, or the definition build wrote"
    )
    verify.add_argument(
        "--rerun", action="store_true", help="prove it again instead of reading what was stored"
    )
    verify.set_defaults(run=verify_operator)


def verify_operator(given: argparse.Namespace, environ: Mapping[str, str]) -> None:
    """ascend-op verify: prints the stored proof, or a new one, and checks that it is this definition's."""
    from ascend_ep.compiler.operators.operator_files import read_proof

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
    if about.get("seconds") and about.get("floor_seconds"):
        seconds, floor = float(about["seconds"]), float(about["floor_seconds"])
        text = f"{seconds * 1e6:.2f} us, {seconds / floor:.2f} times the floor of {floor * 1e6:.2f} us"
        print(f"  measured when it was built: {text}")
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
        path = opdef.file
        if name in (opdef.op, opdef.full_name, path.stem) and place:
            return path
    raise AscendError("E43105", name, f"{folder} has no such operator")


def proof_state(opdef: OpDef) -> str:
    """What is known of an operator's proof, for listings; "" when it wasn't built."""
    from ascend_ep.compiler.operators.operator_files import proof_path, read_proof

    path = opdef.file
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
    from ascend_ep.compiler.device.soc import find_soc
    from ascend_ep.compiler.proof.prove import NotGenerated, prove

    try:
        return prove(
            _subject_of(opdef, about),
            find_soc(str(about.get("soc_version"))),
            log=lambda c: print(f"  {c.layer}, {c}"),
        )
    except NotGenerated as reason:
        raise AscendError("E43106", opdef.op, reason) from None
