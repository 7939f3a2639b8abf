"""ascend-op: the operators in force, what one of them is, and building new ones."""

from __future__ import annotations

import argparse
import json
import os
import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from ascend_ep.cli.command import Parser, command
from ascend_ep.cli.gen import add_gen_command
from ascend_ep.cli.op_build import add_build_command
from ascend_ep.cli.op_debug import add_debug_command
from ascend_ep.cli.op_run import add_run_command
from ascend_ep.cli.op_verify import add_verify_command, proof_state
from ascend_ep.cli.streams import OUTPUT
from ascend_ep.errors import AscendError
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.definition import Attribute, Formula, Kernel, OpDef, Semantics, TensorSpec
from ascend_ep.opdef.registry import Registry, Resolved


@command("ascend-op")
def main(arguments: Sequence[str] | None = None, environ: Mapping[str, str] = os.environ) -> int:
    """Runs one command line and returns its exit status: 0, 1 for an AscendError, 2 for wrong usage, 130
    when it was interrupted."""
    given = command_parser().parse_args(arguments)
    try:
        given.run(given, environ)
    except OSError as error:
        if error.filename in (None, OUTPUT):
            raise
        raise AscendError("E43104", error.filename, error.strerror or error, fix="") from None
    return 0


def command_parser() -> argparse.ArgumentParser:
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument(
        "--custom_op_info", action="append", default=[], metavar="FILE", help="a file of operator definitions"
    )
    shared.add_argument(
        "--custom_op",
        action="append",
        default=[],
        metavar="TYPE:LIBRARY",
        help="a shared library of an operator",
    )
    parser: argparse.ArgumentParser = Parser(
        prog="ascend-op", description="Custom operators: definitions and where they come from."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    listing = commands.add_parser("list", parents=[shared], help="all operators that definitions exist for")
    listing.add_argument("--json", action="store_true", help="print JSON")
    listing.set_defaults(run=list_operators)
    explained = commands.add_parser("explain", parents=[shared], help="what one operator is")
    explained.add_argument("op", metavar="OP", help="its type, or domain::Type")
    explained.add_argument(
        "--opset", type=int, default=0, help="opset version of its domain (default: the newest)"
    )
    explained.add_argument("--json", action="store_true", help="print JSON")
    explained.set_defaults(run=explain_operator)
    add_build_command(commands)
    add_run_command(commands)
    add_debug_command(commands)
    add_verify_command(commands)
    add_gen_command(commands)
    return parser


def list_operators(given: argparse.Namespace, environ: Mapping[str, str]) -> None:
    """One line for each definition: name, semantics, origin, and of built ones the state of the proof.

    Then one for each installed file that isn't used.
    """
    rows = []
    registry = _registry(given, environ)
    for place, opdef in registry.definitions():
        proof = proof_state(opdef) if place != "built-in" else ""
        origin = f"{place} ({opdef.origin})" + (f", {proof}" if proof else "")
        rows.append((opdef.full_name, _semantics_text(opdef.semantics), origin))
    if given.json:
        keys = ("name", "semantics", "origin")
        found = {"operators": [dict(zip(keys, row, strict=True)) for row in rows]}
        print(json.dumps(found | {"unused": [file.text for file in registry.unused()]}, indent=1))
        return
    widths = [max((len(row[i]) for row in rows), default=0) for i in range(2)]
    for name, semantics, origin in rows:
        print(f"{name:{widths[0]}}  {semantics:{widths[1]}}  {origin}")
    for file in registry.unused():
        print(file.text)


def _registry(given: argparse.Namespace, environ: Mapping[str, str]) -> Registry:
    return Registry.from_options(given.custom_op, given.custom_op_info, environ)


def explain_operator(given: argparse.Namespace, environ: Mapping[str, str]) -> None:
    """The resolved definition of one operator with its proof, or E19010 with the places looked in."""
    registry = _registry(given, environ)
    domain, _, op_type = given.op.rpartition("::")
    version = given.opset or newest_opset(domain)
    found = registry.resolve(domain, op_type, version)
    if found is None:
        looked = registry.explain(domain, op_type, version)
        near = registry.near_misses(domain, op_type, version)
        hint = [f"similar: {', '.join(near)}"] if near else []
        name = f"{domain or 'ai.onnx'}::{version}::{op_type}"
        raise AscendError("E19010", op_type, name, details=[*looked, *hint])
    if given.json:
        shadowed = [place for place, _ in registry.shadowed(domain, op_type, version)]
        print(json.dumps(as_data(found) | {"not_by": shadowed}, indent=1))
        return
    print("\n".join(describe(found)))
    for place, _ in registry.shadowed(domain, op_type, version):
        print(f"not by: {place}")
    proof = "" if found.opdef.standard else proof_state(found.definition)
    if proof:
        print(f"proof: {proof}")


def newest_opset(domain: str) -> int:
    """The newest opset of a standard domain; 1 for others."""
    import onnx.defs

    domain = "" if domain == "ai.onnx" else domain
    return int(onnx.defs.onnx_opset_version()) if domain == "" else 1


def as_data(found: Resolved) -> dict[str, Any]:
    """A definition for machines, with the words of `describe`."""
    opdef = found.opdef
    sides = (("inputs", opdef.inputs), ("outputs", opdef.outputs))
    return {
        "op": opdef.op,
        "domain": opdef.domain,
        "since_version": opdef.since_version,
        "doc": opdef.doc,
        "from": found.source,
        "semantics": _semantics_text(opdef.semantics),
        **{
            side: [
                {"name": s.name, "types": [dtypes.name(t) for t in s.types], "occurrence": s.occurrence}
                for s in specs
            ]
            for side, specs in sides
        },
        "attributes": [
            {"name": a.name, "type": a.type, "required": a.required, "default": a.default}
            for a in opdef.attributes
        ],
        "shape": {o.name: _shape_text(opdef, o.name) for o in opdef.outputs},
        "proof": "" if opdef.standard else proof_state(found.definition),
    }


def describe(found: Resolved) -> list[str]:
    """A definition as lines of text."""
    opdef = found.opdef
    lines = [_signature(opdef), *textwrap.wrap(opdef.doc, 100, initial_indent="  ", subsequent_indent="  ")]
    lines.append(f"from: {found.source}")
    domain = "any" if opdef.domain is None else opdef.domain or "ai.onnx"
    lines.append(f"domain: {domain}, since version: {opdef.since_version or 'any'}")
    lines += [line for spec in opdef.inputs for line in _tensor_lines("input", spec)]
    lines += [line for spec in opdef.outputs for line in _tensor_lines("output", spec)]
    lines += [_attribute_line(a) for a in opdef.attributes]
    lines += [f"shape of {o.name}: {_shape_text(opdef, o.name)}" for o in opdef.outputs]
    if not isinstance(opdef.semantics, Formula):
        lines.append(f"semantics: {_semantics_text(opdef.semantics)}")
    if opdef.formula is not None and (opdef.inputs or not opdef.standard):
        from ascend_ep.opdef.expression_text import program_text
        from ascend_ep.opdef.formula import formula_program

        text = program_text(formula_program(opdef))
        lines += ["formula:", *("  " + line for line in text.split("\n"))]
    return lines


def _signature(opdef: OpDef) -> str:
    marks = {"required": "", "optional": "?", "variadic": "..."}
    inputs, outputs = (
        ", ".join(s.name + marks[s.occurrence] for s in t) for t in (opdef.inputs, opdef.outputs)
    )
    return f"{opdef.op}({inputs}) -> {outputs}"


def _tensor_lines(what: str, spec: TensorSpec) -> list[str]:
    types = ", ".join(dict.fromkeys(map(dtypes.name, spec.types))) or "any type"
    variable = f"{spec.variable} = " if spec.variable else ""
    formats = f", format {', '.join(dict.fromkeys(spec.formats))}" if spec.formats else ""
    kind = "" if spec.occurrence == "required" else f" ({spec.occurrence})"
    return [f"{what} {spec.name}{kind}: {variable}{types}{formats}"]


def _attribute_line(attribute: Attribute) -> str:
    default = "required" if attribute.required else f"default {attribute.default!r}"
    if not attribute.required and attribute.default is None:
        default = "no default"
    allowed = f", one of {', '.join(map(str, attribute.allowed))}" if attribute.allowed else ""
    return f"attribute {attribute.name}: {attribute.type}, {default}{allowed}"


def _shape_text(opdef: OpDef, output: str) -> str:
    rule = opdef.shape.get(output)
    if rule is not None:
        return rule
    if opdef.standard:
        return "as ONNX says"
    if isinstance(opdef.semantics, Formula):
        return "as the formula gives"
    return "broadcast of the inputs" if isinstance(opdef.semantics, Kernel) else "as the library says"


def _semantics_text(semantics: Semantics | None) -> str:
    if semantics is None:
        return "(declared only)"
    if isinstance(semantics, Formula):
        return "formula"
    if isinstance(semantics, Kernel):
        return f"kernel {semantics.name}"
    return f"{type(semantics).__name__.lower()} {semantics.path.name}"


if __name__ == "__main__":
    sys.exit(main())
