"""ascend-op verify: the stored proof of a built operator, and whether it is still this operator's."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ascend_ep import regular_file
from ascend_ep.errors import AscendError
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
    from ascend_ep.opbuild.operators.measure import Times, beside
    from ascend_ep.opdef.stored_proof import (
        check_belongs,
        proven_definition,
        proven_sources,
        read_proof,
    )

    path = definition_path(given.op, environ)
    report = read_proof(path)
    opdef = proven_definition(path, report.about)
    check_belongs(path, opdef, report.about)
    if given.rerun:
        report = _proven_again(opdef, report.about)
    about = report.about
    print(f"{opdef.op}: {path}")
    made_with = f"{', '.join(about.get('levels', ()))}, {about.get('compiler')}"
    print(f"  proven {about.get('date')} for {about.get('soc_version')}, {made_with}")
    times, floor = (Times.from_json(about.get(key)) for key in ("seconds", "floor_seconds"))
    if times and floor and floor.median > 0:
        print(f"  measured when it was built: {beside(times, floor)}")
    for source in proven_sources(path, about):
        print(f"  source: {source}")
    print("\n".join(f"  {line}" for line in report.lines()))
    if not report.passed:
        raise AscendError("E43107", opdef.op, f"{len(report.failures())} checks fail")
    print("proof holds")


def definition_path(name: str, environ: Mapping[str, str]) -> Path:
    """The file of an operator: as given, or by type or file name in $ASCEND_CUSTOM_OPS. Raises E43105."""
    if name.endswith(".json") or "/" in name:
        regular_file.need(name)
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
    from ascend_ep.opdef.stored_proof import check_proof

    try:
        report = check_proof(opdef)
    except AscendError as error:
        return error.text
    if report is None:
        return ""
    passed = sum(c.passed is True for c in report.checks)
    return f"proven ({passed} checks) {report.about.get('date', '')}".strip()


def _proven_again(opdef: OpDef, about: Mapping[str, Any]) -> Any:
    from ascend_ep.cann.soc import find_soc
    from ascend_ep.opbuild.proof.prove import NotGenerated, prove
    from ascend_ep.opbuild.proof.subject import subject_of

    try:
        return prove(
            subject_of(opdef, about),
            find_soc(str(about.get("soc_version"))),
            log=lambda c: print(f"  {c.layer}, {c}"),
        )
    except NotGenerated as reason:
        raise AscendError("E43106", opdef.op, reason) from None
