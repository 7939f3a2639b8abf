"""The same operator without compiled code, as a bundle runs it whose native code isn't trusted."""

from __future__ import annotations

from collections.abc import Sequence

from ascend_ep.codegen.library_call import element_type
from ascend_ep.compiler.lower.formula import lower_formula
from ascend_ep.compiler.lowering import NodeView, Operand, PlanBuilder, lower_node
from ascend_ep.opbuild.proof.harness import Array, Case
from ascend_ep.opbuild.proof.subject import Subject
from ascend_ep.opdef.output_types import infer
from ascend_ep.plan.plan import Edge, NativePartition, Plan, Ref
from ascend_ep.plan.writing.writer import write_bytes
from ascend_ep.runtime.session import InferenceSession, open_with_threads

_MODEL_DEF = b"\x0a\x07formula"


def run_interpreted(subject: Subject, case: Case) -> list[Array]:
    """The outputs of one case. Raises Unsupported when no kernels do it, AscendError when the run fails."""
    feeds = {f"x{i}": a for i, a in enumerate(case.inputs) if a is not None}
    return interpreted_session(subject, case.inputs).run(None, feeds)


def interpreted_session(subject: Subject, arrays: Sequence[Array | None]) -> InferenceSession:
    """A session for inputs of these shapes, named x0, x1, ...; outputs are y0, y1, ..."""
    types = [None if a is None else (element_type(a), a.shape) for a in arrays]
    opdef = subject.for_every_shape
    outputs = infer(opdef, types, subject.attributes)
    builder = PlanBuilder([f"y{i}" for i in range(len(outputs))])
    plan, read, written = Plan(), list[tuple[Edge, Ref]](), list[tuple[Edge, Ref]]()
    operands = [None if t is None else Operand(f"x{i}", t[0], tuple(t[1])) for i, t in enumerate(types)]
    for operand in operands:
        if operand is not None:
            builder.input(operand)
            plan.edges.append(Edge(operand.name, operand.dtype, operand.dims, is_input=True))
            read.append((plan.edges[-1], builder.values[-1]))
    made = [Operand(f"y{i}", dtype, tuple(dims or ())) for i, (dtype, dims) in enumerate(outputs)]
    node = NodeView(opdef.op, operands, made, dict(subject.attributes), opdef=opdef)
    lower_node(node, lower_formula, builder)
    for operand in made:
        plan.edges.append(Edge(operand.name, operand.dtype, operand.dims, is_output=True))
        written.append((plan.edges[-1], builder.result(operand)))
    plan.partitions.append(NativePartition("p0", builder.values, builder.insns, read, written))
    return open_with_threads(write_bytes(plan, _MODEL_DEF), 1)
