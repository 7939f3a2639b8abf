"""Merged elementwise instructions against the ones they came from: the same bits, fewer of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_call import DTYPES
from lowered import PlanRun

from ascend_ep.compiler.lower import lowering
from ascend_ep.compiler.lowering import NodeView, Operand, PlanBuilder, Ref, lower_node
from ascend_ep.compiler.rewrites.fuse_elementwise import fuse_elementwise
from ascend_ep.graph.fusion.assessment import MOST, SIMPLE
from ascend_ep.graph.fusion.ledger import Ledger
from ascend_ep.opdef.registry import Registry

REGISTRY = Registry.from_options()
RNG = np.random.default_rng(23)


class Chain:
    """A plan of standard operators over named arrays, all of one type unless said otherwise."""

    def __init__(self, outputs: Sequence[str], **inputs: np.ndarray) -> None:
        self.builder = PlanBuilder(outputs)
        self.operands: dict[str, Operand] = {}
        self.inputs = inputs
        self.refs: dict[str, Ref] = {}
        for name, array in inputs.items():
            self.operands[name] = operand = Operand(name, DTYPES[array.dtype], array.shape)
            self.refs[name] = self.builder.input(operand)
        self.outputs = outputs

    def add(self, name: str, op: str, *args: str, dtype: Any = None, **attributes: Any) -> None:
        ins = [self.operands[a] for a in args]
        shape = np.broadcast_shapes(*(tuple(int(d) for d in o.dims) for o in ins))  # type: ignore[call-overload]
        kind = DTYPES[np.dtype(dtype)] if dtype is not None else ins[0].dtype
        self.operands[name] = out = Operand(name, kind, shape)
        view = NodeView(op, ins, [out], attributes, version=21, name=name)
        found = REGISTRY.resolve("", op, 21)
        assert found is not None
        kernel = getattr(found.opdef.semantics, "name", "formula")
        function = lowering(kernel)
        assert function is not None
        lower_node(replace(view, opdef=found.opdef), function, self.builder)

    def check(self, expected: int) -> None:
        """Runs as built and merged: equal bits, and so many instructions after merging."""
        before = self.run()
        self.builder.insns[:] = fuse_elementwise(self.builder.insns)
        assert len(self.builder.insns) == expected
        for plain, merged in zip(before, self.run(), strict=True):
            assert plain.tobytes() == merged.tobytes()

    def run(self) -> list[np.ndarray]:
        plan = PlanRun({})
        plan.arrays.update({id(self.refs[n]): a for n, a in self.inputs.items()})
        plan.run(self.builder, None, 2)
        return [plan.array(self.builder.result(self.operands[n])) for n in self.outputs]


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def test_a_chain_becomes_one_instruction() -> None:
    chain = Chain(["y"], x=floats(40, 70), row=floats(70), column=floats(40, 1))
    chain.add("a", "Mul", "x", "row")
    chain.add("b", "Add", "a", "column")
    chain.add("c", "Gelu", "b")
    chain.add("d", "Sigmoid", "c")
    chain.add("y", "Mul", "x", "d")
    chain.check(1)


@pytest.mark.parametrize("seed", range(12))
def test_chains_of_any_length_are_weighed_as_they_have_grown(seed: int) -> None:
    """The kernel that a chain has grown to is assessed, not its last two operators: none has more operators
    than the cost function allows, and the ledger has each once."""
    rng = np.random.default_rng(seed)
    length = [1, SIMPLE, SIMPLE + 1, MOST, MOST + 1, 201][seed] if seed < 6 else int(rng.integers(1, 301))
    chain = Chain(["y"], v0=floats(3, 5), w=floats(5))
    for i in range(length):
        op = str(rng.choice(["Abs", "Tanh", "Sigmoid", "Neg", "Add", "Mul", "Max"]))
        more = [str(rng.choice(["w", "v0"]))] if op in ("Add", "Mul", "Max") else []
        chain.add("y" if i == length - 1 else f"v{i + 1}", op, f"v{i}", *more)
    ledger = Ledger()
    merged = fuse_elementwise(chain.builder.insns, ledger)
    kernels = [o.assessment for o in ledger.outcomes if o.is_fused]
    assert all(k.nodes <= MOST for k in kernels)
    assert all((k.quadrant == "challenge") == (k.nodes > SIMPLE) for k in kernels)
    assert sum(k.nodes for k in kernels) + len(merged) - len(kernels) == length
    refused = [o.assessment.nodes for o in ledger.outcomes if not o.is_fused]
    assert len(refused) == len(merged) - 1 == (length - 1) // MOST
    assert all(n > MOST for n in refused)
    chain.check(len(merged))


def test_a_value_with_two_readers_stays() -> None:
    chain = Chain(["y", "z"], x=floats(1000))
    chain.add("a", "Exp", "x")
    chain.add("b", "Neg", "a")
    chain.add("y", "Abs", "b")
    chain.add("z", "Add", "a", "x")
    chain.check(3)


def test_a_model_output_inside_the_chain_stays() -> None:
    chain = Chain(["a", "y"], x=floats(50))
    chain.add("a", "Exp", "x")
    chain.add("y", "Neg", "a")
    chain.check(2)


def test_a_smaller_value_is_not_computed_again_for_every_row() -> None:
    chain = Chain(["y"], x=floats(20, 30), row=floats(30))
    chain.add("a", "Exp", "row")
    chain.add("y", "Mul", "x", "a")
    chain.check(2)


def test_one_value_as_both_operands() -> None:
    chain = Chain(["y"], x=floats(300))
    chain.add("a", "Tanh", "x")
    chain.add("y", "Mul", "a", "a")
    chain.check(1)


@pytest.mark.parametrize("dtype", [np.float16, np.int8, np.uint8, np.uint32, np.uint64, np.int64, np.float64])
def test_types_held_wider_are_rounded_between(dtype: Any) -> None:
    x, y = (RNG.integers(1, 120, 500).astype(dtype) for _ in range(2))
    if np.dtype(dtype).kind == "f":
        x, y = x + dtype(0.1), y / dtype(3)
    chain = Chain(["r"], x=x, y=y)
    chain.add("a", "Mul", "x", "y")
    chain.add("b", "Add", "a", "y")
    chain.add("c", "Sub", "b", "x")
    chain.add("d", "Max", "c", "y")
    chain.add("e", "Cast", "d", dtype=np.float32, to=1)
    chain.add("f", "Greater", "e", "e", dtype=np.bool_)
    chain.add("r", "Where", "f", "x", "d", dtype=dtype)
    chain.check(2)


def test_programs_too_large_for_one_stay_apart() -> None:
    inputs = {f"x{i}": floats(64) for i in range(30)}
    chain = Chain(["y"], **inputs)
    total = "x0"
    for i in range(1, 30):
        name = "y" if i == 29 else f"s{i}"
        chain.add(name, "Add", total, f"x{i}")
        total = name
    chain.check(2)


UNARY = ["Neg", "Abs", "Sigmoid", "Tanh", "Relu", "Exp", "Floor", "Softsign", "HardSwish"]
BINARY = ["Add", "Sub", "Mul", "Max", "Min", "Div"]


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_random_graphs(data: st.DataObject) -> None:
    shapes = [(6, 37), (37,), (6, 1), ()]
    names = [f"x{i}" for i in range(4)]
    n = data.draw(st.integers(2, 12))
    outputs = sorted({f"v{n - 1}", *(f"v{i}" for i in range(n) if data.draw(st.integers(0, 4)) == 0)})
    half = data.draw(st.booleans())
    kind = np.float16 if half else np.float32
    chain = Chain(outputs, **{m: floats(*s).astype(kind) for m, s in zip(names, shapes, strict=True)})
    for i in range(n):
        pick = st.sampled_from(names)
        if data.draw(st.booleans()):
            chain.add(f"v{i}", data.draw(st.sampled_from(UNARY)), data.draw(pick))
        else:
            chain.add(f"v{i}", data.draw(st.sampled_from(BINARY)), data.draw(pick), data.draw(pick))
        names.append(f"v{i}")
    with np.errstate(all="ignore"):
        chain.check(len(fuse_elementwise(chain.builder.insns)))
