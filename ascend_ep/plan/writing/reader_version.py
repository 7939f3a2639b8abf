"""The oldest reader that knows all that a plan holds (ASC_READER_VERSION in ascend_rt.h has the list).

An older one then refuses the bundle at once and says what to update, where it would find no kernel for a
call's types, or not know its arguments.
"""

from __future__ import annotations

from collections.abc import Iterable

from ascend_ep.opdef.constraints import OrOne
from ascend_ep.opdef.dtypes import BFLOAT16, FLOAT32
from ascend_ep.plan.kernel_params import CONV, CONV_LAST, MATMUL, MATMUL_FLOATS, is_gated
from ascend_ep.plan.plan import Insn, NativePartition, Plan
from ascend_ep.runtime._rt import lib
from ascend_ep.runtime.layouts import LAYOUT_NAMES, LAYOUTS

#: Kernels whose first operand or result may be bfloat16 since 9; convolutions and poolings had it before.
NARROW_SINCE_9 = frozenset({"matmul", "attention", "attention_append", "layer_norm", "rms_norm", "swiglu"})
#: Kernels that are there since 9.
KERNELS_SINCE_9 = frozenset({
    "conv_transposed_last", "max_pool_bytes", "max_pool_bytes_last", "byte_table", "byte_binary",
})  # fmt: skip
KERNELS_SINCE_10 = frozenset({"lookup", "pair_votes", "squared_distances", "tree_ensemble"})
#: Activations whose results may be bfloat16 since 11; limits and what bends had it before.
CURVES_SINCE_11 = (
    lib.ASC_ACTIVATION_GELU, lib.ASC_ACTIVATION_GELU_TANH, lib.ASC_ACTIVATION_SILU,
    lib.ASC_ACTIVATION_SIGMOID, lib.ASC_ACTIVATION_TANH,
)  # fmt: skip
#: Operands of convolutions of bytes; the image that is added to the result is one more since 14.
MOST_OF_QCONV = 10
#: Convolutions with channels last that have three spatial axes since 9.
VOLUMES_SINCE_9 = frozenset({"conv_last", "conv_winograd"})


def min_reader(plan: Plan, layouts: Iterable[int], *, weight_files: bool) -> int:
    """Of a plan whose values have these layouts (their numbers)."""
    known = [4] if plan.profiles else [1]
    known += [6] if weight_files else []
    known += [8 if a.or_one == OrOne.EITHER else 7 for a in plan.constraints]
    known += [2 for p in plan.partitions if isinstance(p, NativePartition) and p.fallback is not None]
    known += [LAYOUTS[LAYOUT_NAMES[number]].reader for number in layouts]
    known += [kernel_reader(insn) for part in plan.native_parts() for insn in part.insns]
    return max(known)


def kernel_reader(insn: Insn) -> int:
    """The first reader that has the kernel of an instruction, for its types and arguments."""
    if insn.native is not None:
        return 1
    if insn.kernel == "byte_binary" and any(r is not None and r.dtype == FLOAT32 for r in insn.ins):
        return 13
    if insn.kernel == "qconv" and len(insn.ins) > MOST_OF_QCONV:
        return 14
    if insn.kernel == "group_norm_last":
        return 15
    if insn.kernel == "conv_joined" or _may_slice_backwards(insn):
        return 12
    if _is_of_11(insn):
        return 11
    return 10 if _is_of_10(insn) else 9 if _is_of_9(insn) else 1


def _may_slice_backwards(insn: Insn) -> bool:
    """Of steps that come with the data: below 0, older readers cut open ends, and starts before the first
    element, otherwise."""
    return insn.kernel == "slice" and len(insn.ins) > 4 and insn.ins[4] is not None


def _is_of_11(insn: Insn) -> bool:
    """Whether it is a recurrent layer in bfloat16, or a convolution that gives bfloat16 of a function."""
    if insn.kernel == "recurrent":
        return any(r is not None and r.dtype == BFLOAT16 for r in insn.ins)
    if insn.kernel != "conv_last" or insn.outs[0].dtype != BFLOAT16:
        return False
    return CONV_LAST.get(insn.ints, "activation") in CURVES_SINCE_11


def _is_of_10(insn: Insn) -> bool:
    """Whether its kernel is of models of tables, or its sums go through HardSwish or LeakyRelu."""
    if insn.kernel in KERNELS_SINCE_10:
        return True
    params = {"matmul": MATMUL, "conv": CONV}.get(insn.kernel, CONV_LAST)
    if params is CONV_LAST and not insn.kernel.startswith("conv_"):
        return False
    activation = params.get(insn.ints, "activation")
    bends = (lib.ASC_ACTIVATION_HARD_SWISH, lib.ASC_ACTIVATION_LEAKY_RELU)
    return isinstance(activation, int) and activation % lib.ASC_ROUNDING in bends


def _is_of_9(insn: Insn) -> bool:
    if insn.kernel == "matmul" and (MATMUL_FLOATS.has(insn.floats, "epsilon") or is_gated(insn.ints)):
        return True
    if insn.kernel in VOLUMES_SINCE_9 and insn.outs[0].rank == 5:
        return True
    first = [r for r in (*insn.ins[:1], *insn.outs) if r is not None]
    is_narrow = insn.kernel in NARROW_SINCE_9 and any(r.dtype == BFLOAT16 for r in first)
    return is_narrow or insn.kernel in KERNELS_SINCE_9
