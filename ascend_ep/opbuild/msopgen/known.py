"""A prototype without semantics, filled in from what its name is known to mean: the definitions in force."""

from __future__ import annotations

from dataclasses import replace

from ascend_ep.codegen.c_source import NotGenerated
from ascend_ep.errors import AscendError
from ascend_ep.opbuild.ascendc.identifiers import renamed_program
from ascend_ep.opdef.attributes import bind_attributes
from ascend_ep.opdef.declarations import check_interface, complete
from ascend_ep.opdef.definition import Attribute, Formula, OpDef, TensorSpec, canonical_domain
from ascend_ep.opdef.expression import Expression, Local, Program, children, with_children
from ascend_ep.opdef.expression_text import program_text
from ascend_ep.opdef.formula import formula_program
from ascend_ep.opdef.registry import Registry, Resolved
from ascend_ep.opdef.specialize import specialize


def filled_in(declared: OpDef, registry: Registry) -> tuple[OpDef, str]:
    """The prototype with the formula of the definition in force, in the prototype's names and types, and where
    it is from. Raises NotGenerated with the reason when there is none, or another interface."""
    try:
        found = _definition(declared, registry)
        if found is None:
            near = registry.near_misses("", declared.op, 1)
            similar = f" (similar: {', '.join(near[:3])})" if near else ""
            raise NotGenerated(f"it has no formula, and no operator of that name is known{similar}")
        known = _with_formula(found.opdef)
        if declared.counts is not None or not (declared.inputs or declared.outputs):
            return replace(complete(declared, known), standard=False), found.source
        return _in_its_terms(declared, known), found.source
    except AscendError as error:
        raise NotGenerated(f"what is known of {declared.op} doesn't fit: {error.text}") from error


def _definition(declared: OpDef, registry: Registry) -> Resolved | None:
    """Of its domain; a prototype that names none is a custom operator first, then ONNX's."""
    import onnx.defs

    newest = int(onnx.defs.onnx_opset_version())
    for domain in ("custom", "") if declared.domain is None else (canonical_domain(declared.domain),):
        found = registry.resolve(domain, declared.op, declared.since_version or (1 if domain else newest))
        if found is not None:
            return found
    return None


def _with_formula(known: OpDef) -> OpDef:
    text = known.formula
    if text is None:
        kind = type(known.semantics).__name__.lower()
        raise NotGenerated(f"{known.op} is known by a {kind}, not by a formula ({known.origin})")
    return replace(known, semantics=Formula(text))


def _in_its_terms(declared: OpDef, known: OpDef) -> OpDef:
    """The formula with the prototype's names; what the prototype leaves out is bound: optional inputs that
    aren't there, attributes at their defaults."""
    check_interface(declared, known)
    if known.inputs and known.inputs[-1].occurrence == "variadic":
        raise NotGenerated(f"{known.op} takes any number of tensors, which no formula of it says")
    inputs, outputs = known.inputs[: len(declared.inputs)], known.outputs[: len(declared.outputs)]
    theirs = {a.name: a for a in known.attributes}
    ours = tuple(_completed(a, theirs[a.name]) for a in declared.attributes)
    kept = {a.name for a in ours}
    bound = bind_attributes(
        replace(known, attributes=tuple(a for a in known.attributes if a.name not in kept)), {}
    )
    stays = {s.name for s, mine in zip(inputs, declared.inputs, strict=True) if mine.occurrence == "optional"}
    program = formula_program(known)
    program = Program(program.lets, program.outputs[: len(outputs)])
    program = specialize(program, bound, [s.name for s in inputs], kept | stays)
    pairs = (*zip(inputs, declared.inputs, strict=True), *zip(outputs, declared.outputs, strict=True))
    names = {s.name: mine.name for s, mine in pairs}
    program = renamed_program(_with_other_locals(program, set(names.values()) | kept), names)
    types = any(s.types or s.variable for s in (*declared.inputs, *declared.outputs))
    result = replace(
        declared,
        inputs=declared.inputs if types else _typed(declared.inputs, inputs),
        outputs=declared.outputs if types else _typed(declared.outputs, outputs),
        attributes=ours,
        semantics=Formula(program_text(program)),
        standard=False,
        paired=declared.paired and types,
        doc=declared.doc or known.doc,
    )
    formula_program(result)
    return result


def _completed(ours: Attribute, theirs: Attribute) -> Attribute:
    return replace(ours, default=theirs.default if ours.default is None else ours.default)


def _typed(ours: tuple[TensorSpec, ...], theirs: tuple[TensorSpec, ...]) -> tuple[TensorSpec, ...]:
    return tuple(replace(a, types=b.types, variable=b.variable) for a, b in zip(ours, theirs, strict=True))


def _with_other_locals(program: Program, taken: set[str]) -> Program:
    """Intermediate values whose names the prototype uses get others."""
    names = {}
    used = taken | {name for name, _ in program.lets}
    for name, _ in program.lets:
        if name in taken or name in dict(program.outputs):
            new = next(n for i in range(len(used) + 1) if (n := f"{name}_{i}") not in used)
            used.add(new)
            names[name] = new

    def changed(node: Expression) -> Expression:
        if isinstance(node, Local):
            return Local(names.get(node.name, node.name))
        below = children(node)
        return with_children(node, [changed(c) for c in below]) if below else node

    lets = tuple((names.get(n, n), changed(v)) for n, v in program.lets)
    return Program(lets, tuple((n, changed(v)) for n, v in program.outputs))
