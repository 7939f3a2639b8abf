"""How much a kernel call computes: operations by kind, from its shapes and arguments alone.

A product counts two operations for each multiplication with its addition. `None` is not known: what a
library of the user's does, say.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from ascend_ep.opdef.dims import Dim
from ascend_ep.plan.kernel_params import (
    ATTENTION,
    CONV,
    CONV_AXIS,
    CONV_LAST,
    POOL,
    POOL_AXIS,
    QCONV,
    Params,
    is_gated,
)
from ascend_ep.profiling.trace_file import KernelCall, Operand, elements
from ascend_ep.runtime.binding import lib

#: Kernels whose operations are products: what a matrix unit does.
CUBE = frozenset(
    {
        *("matmul", "matmul_exact", "qmatmul", "conv", "conv_last", "conv_joined"),
        *("conv_transposed_last", "conv_winograd"),
        *("qconv", "recurrent"),
    }
)
#: The first operand of conv_joined that is an image behind X.
FIRST_JOINED = lib.ASC_CONV_JOINED
ATTENTIONS = frozenset({"attention", "attention_append"})
#: Operators that a program launches itself: those of products with the place of the first matrix,
#: recurrent layers, convolutions, and attention.
LAUNCHED_PRODUCTS = {
    "aclnnMm": 0,
    "aclnnMatmul": 0,
    "aclnnBatchMatMul": 0,
    "aclnnAddmm": 1,
    "aclnnBaddbmm": 1,
    "aclnnAddbmm": 1,
    "aclnnInplaceAddmm": 1,
    "aclnnInplaceBaddbmm": 1,
    "aclnnMv": 0,
    "aclnnAddmv": 1,
}
LAUNCHED_RECURRENT = frozenset({"aclnnLSTM", "aclnnGRU"})
LAUNCHED_CUBE = frozenset(
    {*LAUNCHED_PRODUCTS, *LAUNCHED_RECURRENT, "aclnnConvolution", "aclnnConvolutionBackward"}
)
LAUNCHED_ATTENTIONS = frozenset({"aclnnFlashAttentionScore", "aclnnFlashAttentionScoreGrad"})
#: How HCCL's operations begin, behind which stand "@" and their communicator's name; their kind of core.
COLLECTIVE, COMMUNICATION = "hcom_", "COMMUNICATION"
#: Kernels that only move elements.
MOVES = frozenset(
    {
        *("copy", "concat", "slice", "gather", "gather_elements", "gather_nd", "pad", "scatter_elements"),
        *(
            "scatter_nd",
            "tensor_scatter",
            "one_hot",
            "resize_nearest",
            "reverse_sequence",
            "bitcast",
            "trilu",
        ),
        *("trilu", "ints", "expect_ints", "col2im", "deform_columns"),
    }
)
#: Operations and functions made of an exponential for each element of the first operand.
PER_ELEMENT = {
    "softmax": (4, 1),
    "log_softmax": (4, 1),
    "logsumexp": (3, 1),
    "layer_norm": (8, 0),
    "group_norm": (8, 0),
    "rms_norm": (4, 0),
    "lp_norm": (3, 0),
    "batch_norm": (2, 0),
    "reduce": (1, 0),
    "argmax": (1, 0),
    "argmin": (1, 0),
    "cumsum": (1, 0),
    "cumprod": (1, 0),
    "rope": (6, 0),
    "rope_regrouped": (6, 0),
    "swiglu": (4, 1),
    "quantize": (3, 0),
    "dequantize": (2, 0),
    "dynamic_quantize": (5, 0),
}
_FUNCTIONS = frozenset(
    {
        *(lib.ASC_EW_POW, lib.ASC_EW_ATAN2, lib.ASC_EW_GATE),
        *range(lib.ASC_EW_EXP, lib.ASC_EW_COUNT),
    }
)


@dataclass(frozen=True)
class Work:
    """Operations of one call: of products, of other arithmetic, and functions made of an exponential."""

    products: int = 0
    vector: int = 0
    functions: int = 0

    @property
    def operations(self) -> int:
        return self.products + self.vector + self.functions

    def __add__(self, other: Work) -> Work:
        return Work(
            self.products + other.products, self.vector + other.vector, self.functions + other.functions
        )


def work_of(call: KernelCall) -> Work | None:
    if call.is_library or call.core:
        return None
    known = _BY_KERNEL.get(call.kernel)
    try:
        if known:
            return known(call)
    except (IndexError, ZeroDivisionError, ValueError):  # arguments of a plan that we don't know
        return None
    if call.kernel in MOVES or call.kernel.startswith(COLLECTIVE):
        return Work()
    if call.kernel in PER_ELEMENT:
        vector, functions = PER_ELEMENT[call.kernel]
        count = elements(call.inputs[0])
        return Work(0, vector * count, functions * count)
    return None


def core_type(call: KernelCall) -> str:
    """The kind of core that such an operator takes on the chip, or that it took."""
    if call.core:
        return call.core
    if call.kernel.startswith(COLLECTIVE):
        return COMMUNICATION
    if call.kernel in ATTENTIONS | LAUNCHED_ATTENTIONS:
        return "MIX_AIC"
    return "AI_CORE" if call.kernel in CUBE | LAUNCHED_CUBE else "AI_VECTOR_CORE"


def _operand(call: KernelCall, place: int) -> Operand:
    found = call.inputs[place]
    if found is None:
        raise ValueError(f"input {place} is absent")
    return found


def _matmul(call: KernelCall) -> Work:
    a, b, out = _operand(call, 0), _operand(call, 1), elements(call.outputs[0])
    trans_a, trans_b = (*call.ints, 0, 0)[:2]
    terms = a.dims[-2 if trans_a and len(a.dims) > 1 else -1]
    columns = 1 if len(b.dims) < 2 else b.dims[-2 if trans_b else -1]
    gated = len(call.ints) > 2 and is_gated(call.ints)
    rows = out / (columns / 2 if gated else columns)
    return Work(products=round(2 * rows * terms * columns))


def _launched_product(call: KernelCall) -> Work:
    """Views say their dims as the product has them: there is no transposition beside."""
    first = _operand(call, LAUNCHED_PRODUCTS[call.kernel])
    batches = first.dims[0] if call.kernel == "aclnnAddbmm" else 1
    rows = elements(call.outputs[0]) * batches
    return Work(products=2 * rows * first.dims[-1])


def _get(params: Params[Dim], call: KernelCall, name: str) -> int:
    found = params.get(call.ints, name)
    assert isinstance(found, int)
    return found


def _taps(axes: Params[Dim], params: Params[Dim], call: KernelCall) -> int:
    runs = axes.runs(params.rest(call.ints))[: len(_operand(call, 0).dims) - 2]  # a sum's may follow
    return math.prod(k for run in runs if isinstance(k := axes.get(run, "kernel"), int))


def _convolution(params: Params[Dim], last: str, transposed: str) -> Callable[[KernelCall], Work]:
    """`last` names the argument that is 1 where X has its channels first, or, after '!', last."""

    def work(call: KernelCall) -> Work:
        x, out = _operand(call, 0), call.outputs[0]
        flag = _get(params, call, last.lstrip("!")) if last else 1
        first = bool(flag) != last.startswith("!")
        taps, group = _taps(CONV_AXIS, params, call), _get(params, call, "group")
        if transposed == "1" or (transposed and _get(params, call, transposed)):
            assert out is not None
            outputs = out.dims[1] if not last else out.dims[-1]
            return Work(products=2 * elements(x) * outputs // group * taps)
        channels = x.dims[1] if first else x.dims[-1]
        return Work(products=2 * elements(out) * channels // group * taps)

    return work


def _joined_convolution(call: KernelCall) -> Work:
    """What is read is scaled, shifted and bounded once; its padding and what windows share aside."""
    out = call.outputs[0]
    images = [x for i, x in enumerate(call.inputs) if x is not None and (i == 0 or i >= FIRST_JOINED)]
    channels = sum(x.dims[-1] for x in images)
    taps, group = _taps(CONV_AXIS, CONV_LAST, call), _get(CONV_LAST, call, "group")
    products = 2 * elements(out) * channels // group * taps
    return Work(products=products, vector=4 * sum(map(elements, images)))


def _attention(call: KernelCall) -> Work:
    q, out = _operand(call, 0), call.outputs[0]
    heads_last = _get(ATTENTION, call, "heads_last")
    axis = 1 if heads_last else -2
    keys = call.outputs[1].dims[-2] if call.kernel == "attention_append" and call.outputs[1] else 0
    keys = keys or _operand(call, 1).dims[axis]
    queries, width = q.dims[axis], q.dims[-1]
    pairs = elements(q) // max(width, 1) * keys
    if _get(ATTENTION, call, "causal") and not _get(ATTENTION, call, "offset") and queries == keys:
        pairs = pairs * (keys + 1) // (2 * keys)
    value_width = out.dims[-1] if out else width
    return Work(products=2 * pairs * (width + value_width), vector=3 * pairs, functions=pairs)


def _elementwise(call: KernelCall) -> Work:
    count = elements(call.outputs[0])
    steps = call.ints[2 :: lib.ASC_EW_STEP_INTS][: call.ints[1]]
    functions = sum(step in _FUNCTIONS for step in steps)
    arithmetic = (lib.ASC_EW_SELECT, *range(lib.ASC_EW_ADD, lib.ASC_EW_COUNT))
    vector = sum(step in arithmetic and step not in _FUNCTIONS for step in steps)
    return Work(0, vector * count, functions * count)


def _pool(call: KernelCall) -> Work:
    return Work(vector=elements(call.outputs[0]) * _taps(POOL_AXIS, POOL, call))


def _recurrent(call: KernelCall) -> Work:
    x, weights = _operand(call, 0), elements(_operand(call, 1)) + elements(_operand(call, 2))
    return Work(products=2 * math.prod(x.dims[:2]) * weights)


def _launched_recurrent(call: KernelCall) -> Work:
    """Each row of the input meets each matrix of the layers once; biases and states aren't matrices."""
    matrices = [o for o in call.inputs[1:] if o is not None and len(o.dims) == 2]
    return Work(products=2 * math.prod(_operand(call, 0).dims[:-1]) * sum(map(elements, matrices)))


_BY_KERNEL: dict[str, Callable[[KernelCall], Work]] = {
    "matmul": _matmul,
    "matmul_exact": _matmul,
    "qmatmul": _matmul,
    "conv": _convolution(CONV, "", "transposed"),
    "conv_last": _convolution(CONV_LAST, "channels_first", ""),
    "conv_joined": _joined_convolution,
    "conv_winograd": _convolution(CONV_LAST, "channels_first", ""),
    "conv_transposed_last": _convolution(CONV_LAST, "channels_first", "1"),
    "qconv": _convolution(QCONV, "!x_last", ""),
    "attention": _attention,
    "attention_append": _attention,
    "elementwise": _elementwise,
    "recurrent": _recurrent,
    **dict.fromkeys(LAUNCHED_PRODUCTS, _launched_product),
    **dict.fromkeys(LAUNCHED_RECURRENT, _launched_recurrent),
    **dict.fromkeys(
        ("max_pool", "max_pool_bytes", "max_pool_last", "average_pool", "average_pool_last"), _pool
    ),
}
