"""A compiled library as a session: a bundle of one call, in memory, run by the runtime and its threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ascend_ep.plan.node_view import Operand
from ascend_ep.plan.plan import Edge, Native, NativePartition, Plan, Ref
from ascend_ep.plan.plan_builder import PlanBuilder
from ascend_ep.plan.writing.writer import write_bytes
from ascend_ep.runtime.session import InferenceSession, open_with_threads

from .compiled_library import CompiledLibrary
from .symbols import loadable

#: A ge.proto.ModelDef of a name and no graph.
_MODEL_DEF = b"\x0a\x07library"


@dataclass(frozen=True)
class TensorSpec:
    """An operand of fixed shape: its ONNX element type and dims."""

    dtype: int
    dims: tuple[int, ...]


def library_session(
    library: CompiledLibrary,
    inputs: Sequence[TensorSpec | None],
    outputs: Sequence[TensorSpec],
    threads: int = 0,
) -> InferenceSession:
    """Inputs are named x0, x1, ... (absent ones leave gaps), outputs y0, y1, ...; `library` is trusted.

    Raises AscendError E43004 for one that calls what no kernel needs, which isn't loaded.
    """
    loadable(library)
    builder = PlanBuilder([f"y{i}" for i in range(len(outputs))])
    plan, read, written = Plan(), list[tuple[Edge, Ref]](), list[tuple[Edge, Ref]]()
    refs = []
    for i, spec in enumerate(inputs):
        refs.append(None if spec is None else builder.input(Operand(f"x{i}", spec.dtype, spec.dims)))
        if spec is not None:
            plan.edges.append(Edge(f"x{i}", spec.dtype, spec.dims, is_input=True))
            read.append((plan.edges[-1], builder.values[-1]))
    outs = [builder.out(Operand(f"y{i}", spec.dtype, spec.dims)) for i, spec in enumerate(outputs)]
    for i, (spec, ref) in enumerate(zip(outputs, outs, strict=True)):
        plan.edges.append(Edge(f"y{i}", spec.dtype, spec.dims, is_output=True))
        written.append((plan.edges[-1], ref))
    builder.emit_native(Native(f"{library.symbol}.so", str(library.path)), library.op_type, refs, outs, {})
    plan.partitions.append(NativePartition("p0", builder.values, builder.insns, read, written))
    return open_with_threads(write_bytes(plan, _MODEL_DEF), threads, trust=f"sha256:{library.sha256}")
