"""LSTM, GRU and RNN: one product of all steps' inputs, then the kernel of kernels/recurrent/recurrent.c.

Constant weights are packed at conversion; others by the kernel in every run. What X is multiplied with is
W of both directions side by side; the biases of both products are added there, but for GRU's candidate
when its reset gate comes after the product.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascend_ep.compiler.lower.arguments import needed, operand
from ascend_ep.compiler.lower.elementwise import emit_program
from ascend_ep.compiler.lower.matmul import emit_matmul, require_float, right_operand
from ascend_ep.compiler.lowering import Dim, NodeView, Operand, PlanBuilder, Ref, Unsupported, lowers
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.dims import static
from ascend_ep.plan.kernel_params import CONCAT, RECURRENT, RECURRENT_DIRECTION, RECURRENT_FLOATS, choices
from ascend_ep.plan.tile_program import TileProgram

KINDS = {name.upper(): number for name, number in choices("asc_recurrent").items()}
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
DIRECTIONS = {"forward": (0,), "reverse": (1,), "bidirectional": (0, 1)}
DEFAULTS = {"RNN": ("Tanh",), "GRU": ("Sigmoid", "Tanh"), "LSTM": ("Sigmoid", "Tanh", "Tanh")}
FUNCTIONS = 3  #: ONNX's f, g and h

#: Activations, with alpha and beta where they have them and are given none.
ACTIVATIONS: dict[str, tuple[float, ...]] = {
    "Sigmoid": (),
    "Tanh": (),
    "Relu": (),
    "Affine": (1.0, 0.0),
    "LeakyRelu": (0.01,),
    "ThresholdedRelu": (1.0,),
    "ScaledTanh": (1.0, 1.0),
    "HardSigmoid": (0.2, 0.5),
    "Elu": (1.0,),
    "Softsign": (),
    "Softplus": (),
}


@dataclass(frozen=True)
class Layer:
    """A node's operands and sizes; `order` says per direction whether it runs backwards."""

    node: NodeView
    order: tuple[int, ...]
    hidden: int

    @property
    def kind(self) -> str:
        return self.node.op_type.removeprefix("DynamicQuantize")

    @property
    def gates(self) -> int:
        return GATES[self.kind]

    @property
    def reset_after(self) -> bool:
        return self.kind == "GRU" and bool(self.node.attr("linear_before_reset", 0))

    def given(self, index: int) -> Operand | None:
        return operand(self.node.inputs, index)


@lowers("recurrent")
def lower_recurrent(node: NodeView, b: PlanBuilder) -> None:
    """Inputs X, W, R, B, sequence_lens, initial_h, and of LSTM initial_c and P; opset 7 and later."""
    layer = _read(node)
    x = needed(node.inputs, 0)
    if layer.node.attr("layout", 0):
        steps, batch = x.dims[1], x.dims[0]
        source = _swapped(b, b.ref(x), 0, 1)
    else:
        (steps, batch), source = x.dims[:2], b.ref(x)
    width = len(layer.order) * layer.gates * layer.hidden
    sums = b.temp(dtypes.FLOAT32, (steps, batch, width))
    bias, after = biases(layer, b)
    weights, transposed = _input_weights(layer, b, width)
    emit_matmul(b, (source, weights), sums, bias, transposed=(0, transposed))
    lengths = layer.given(4)
    ins = [
        sums,
        *_recurrent_weights(layer, b),
        after,
        None if lengths is None else b.ref(lengths),
        *(state_ref(layer, b, i) for i in (5, 6)),
        peephole(layer, b),
    ]
    emit_layer(layer, b, ins, steps, batch)


def _read(node: NodeView) -> Layer:
    order = DIRECTIONS.get(str(node.attr("direction", "forward")))
    if order is None:
        raise Unsupported(f"direction is {node.attr('direction')!r}")
    if node.version < 7:
        raise Unsupported("recurrent layers before opset 7 are not implemented")
    require_float(*(o for i, o in enumerate(node.inputs) if i != 4))
    hidden = static(needed(node.inputs, 2).dims[-1])
    if hidden is None:
        raise Unsupported("its hidden size isn't known")
    return Layer(node, order, hidden)


def emit_layer(layer: Layer, b: PlanBuilder, ins: list[Ref | None], steps: Dim, batch: Dim) -> None:
    """The kernel's call; outputs that nobody wants go to the arena."""
    node, n_outputs = layer.node, 3 if layer.kind == "LSTM" else 2
    directions, batch_first = len(layer.order), bool(node.attr("layout", 0))
    state: tuple[Dim, ...] = (directions, batch, layer.hidden)
    made: list[Ref] = []
    for i, dims in enumerate([(steps, *state), state, state][:n_outputs]):
        target = operand(node.outputs, i)
        plain = target is not None and not batch_first
        made.append(b.out(target) if plain and target is not None else b.temp(dtypes.FLOAT32, dims))
    codes, numbers = _activations(layer)
    directions_ints = [
        RECURRENT_DIRECTION.pack(backwards=backwards, f=f, g=g, h=h)
        for backwards, (f, g, h) in zip(layer.order, codes, strict=True)
    ]
    ints = RECURRENT.pack(
        *directions_ints,
        kind=KINDS[layer.kind],
        reset_after=int(layer.reset_after),
        coupled=int(bool(node.attr("input_forget", 0))),
    )
    clip = float(node.attr("clip", 0.0)) or float("inf")
    b.emit("recurrent", ins, made, ints, RECURRENT_FLOATS.pack(numbers, clip=clip))
    for i, ref in enumerate(made if batch_first else ()):
        target = operand(node.outputs, i)
        if target is not None:
            b.bind(target, b.contiguous(_batch_first(b, ref)))


def _batch_first(b: PlanBuilder, ref: Ref) -> Ref:
    """[S, D, B, H] as [B, S, D, H], [D, B, H] as [B, D, H]"""
    if len(ref.dims) == 3:
        return _swapped(b, ref, 0, 1)
    s, d, n, h = b.strides(ref)
    steps, directions, batch, hidden = ref.dims
    return b.view(ref, (batch, steps, directions, hidden), 0, (n, s, d, h))


def _swapped(b: PlanBuilder, ref: Ref, first: int, second: int) -> Ref:
    """A view with two axes exchanged."""
    dims, strides = list(ref.dims), list(b.strides(ref))
    for values in (dims, strides):
        values[first], values[second] = values[second], values[first]
    return b.view(ref, dims, 0, strides)


def state_ref(layer: Layer, b: PlanBuilder, index: int) -> Ref | None:
    given = layer.given(index)
    if given is None:
        return None
    ref = b.ref(given)
    return _swapped(b, ref, 0, 1) if layer.node.attr("layout", 0) else ref


def peephole(layer: Layer, b: PlanBuilder) -> Ref | None:
    given = layer.given(7)
    return None if given is None else b.ref(given)


# --- weights and biases -----------------------------------------------------------------------------


def _input_weights(layer: Layer, b: PlanBuilder, width: int) -> tuple[Ref, int]:
    """[I, D*G*H], and whether it is there transposed."""
    w = needed(layer.node.inputs, 1)
    fan_in = w.dims[-1]
    if w.const is not None:
        flat = w.const.reshape(width, w.const.shape[-1])
        return right_operand(b, Operand("", w.dtype, (width, fan_in), flat), transposed=True)
    return b.view(b.ref(w), (width, fan_in)), 1


def _recurrent_weights(layer: Layer, b: PlanBuilder) -> tuple[Ref, Ref | None]:
    """Those of the gates, and those of GRU's candidate, which sees another state."""
    r, hidden = needed(layer.node.inputs, 2), layer.hidden
    directions, rows = len(layer.order), layer.gates * hidden
    cut = 2 * hidden if layer.kind == "GRU" else rows
    if r.const is not None:
        first, second = (
            b.constant(np.swapaxes(part, 1, 2), layout="panel32") if part.size else None
            for part in (r.const[:, :cut], r.const[:, cut:])
        )
        assert first is not None
        return first, second
    whole = b.ref(r)
    parts = [
        b.view(whole, (directions, n, hidden), start * hidden, (rows * hidden, hidden, 1))
        for start, n in ((0, cut), (cut, rows - cut))
    ]
    return parts[0], parts[1] if cut < rows else None


def biases(layer: Layer, b: PlanBuilder) -> tuple[Ref | None, Ref | None]:
    """What is added to the input's product, [D*G*H], and to the candidate's own, [D, H]."""
    given = layer.given(3)
    if given is None:
        return None, None
    directions, hidden, rows = len(layer.order), layer.hidden, layer.gates * layer.hidden
    after = rows - hidden
    if given.const is not None:
        both: NDArray[Any] = given.const.reshape(directions, 2, rows)
        total = both.sum(axis=1, dtype=np.float32)
        if not layer.reset_after:
            return b.constant(total.reshape(-1)), None
        total[:, after:] = both[:, 0, after:]
        return b.constant(total.reshape(-1)), b.constant(np.ascontiguousarray(both[:, 1, after:]))
    whole = b.ref(given)

    def part(offset: int, count: int) -> Ref:
        return b.view(whole, (directions, count), offset, (2 * rows, 1))

    if not layer.reset_after:
        return b.view(_sum(b, part(0, rows), part(rows, rows)), (directions * rows,)), None
    joined = b.temp(dtypes.FLOAT32, (directions, rows))
    b.emit(
        "concat",
        [_sum(b, part(0, after), part(rows, after)), part(after, hidden)],
        [joined],
        CONCAT.pack(axis=1),
    )
    return b.view(joined, (directions * rows,)), part(rows + after, hidden)


def _sum(b: PlanBuilder, x: Ref, y: Ref) -> Ref:
    program: TileProgram[Ref] = TileProgram()
    program.output(program.input(x, x.dtype) + program.input(y, y.dtype), x.dtype)
    out = b.temp(x.dtype, x.dims)
    emit_program(b, program, [out])
    return out


# --- activations --------------------------------------------------------------------------------------


def _activations(layer: Layer) -> tuple[list[list[int]], list[float]]:
    """Codes of f, g, h per direction; alpha and beta of each in the same order.

    Given numbers are handed out in order to the activations that take them.
    """
    node, default = layer.node, DEFAULTS[layer.kind]
    names = list(node.attr("activations") or default * len(layer.order))
    if [*names] == [
        *default
    ] * 2:  # RNN's schema defaults to both directions', and onnxruntime writes defaults down
        names = names[: len(default) * len(layer.order)]
    if len(names) != len(default) * len(layer.order):
        raise Unsupported(f"{len(names)} activations where {len(default)} a direction are needed")
    cells = choices("asc_cell")
    known = {name.lower(): (cells[name.lower()], name) for name in ACTIVATIONS}
    alphas, betas = (list(node.attr(f"activation_{kind}") or ()) for kind in ("alpha", "beta"))
    codes: list[list[int]] = []
    numbers: list[float] = []
    for at in range(0, len(names), len(default)):
        codes.append([0] * FUNCTIONS)
        for i in range(FUNCTIONS):
            if i >= len(default):
                numbers += [0.0, 0.0]
                continue
            if names[at + i].lower() not in known:
                raise Unsupported(f"there is no native activation {names[at + i]!r}")
            codes[-1][i], name = known[names[at + i].lower()]
            takes = ACTIVATIONS[name]
            given = [
                source.pop(0) if source else own for source, own in zip((alphas, betas), takes, strict=False)
            ]
            numbers += [*map(float, given), *[0.0] * (2 - len(given))]
    return codes, numbers
