"""The arguments of kernels by name, as native/include/asc_plan.h defines them.

    MATMUL.pack(trans_a=0, trans_b=0, activation=GATED)       the ints of an instruction
    MATMUL.get(insn.ints, "activation")                       one of them
    MATMUL.put(insn.ints, activation=GATED)                   the ints with another one
    CONV.pack(*axes, group=1, activation=0, transposed=0)     the last member of the struct repeats
    CONV_AXIS.each(CONV.rest(insn.ints), "kernel")            one of each that repeats
    AIPP.pack(format=1, order0=0, order1=1, ...)              a member that is an array counts its elements

Ints are dims: numbers, or expressions of the model's symbols.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Generic, TypeVar

from ascend_ep.opdef.dims import Dim
from ascend_ep.runtime._rt import ffi, lib

T = TypeVar("T")


@dataclass(frozen=True)
class Params(Generic[T]):
    """A struct of ints or floats: its members in order, without one that repeats."""

    struct: str
    names: tuple[str, ...]
    repeats: bool

    def pack(self, *rest: Sequence[T], **values: T) -> tuple[T, ...]:
        """The members by name, then what repeats, run after run. Members at the end may be absent when
        nothing repeats."""
        present = self.names[: len(values)] if not self.repeats else self.names
        if set(values) != set(present):
            raise TypeError(f"{self.struct} has {', '.join(self.names)}; given are {', '.join(values)}")
        if rest and not self.repeats:
            raise TypeError(f"no member of {self.struct} repeats")
        return (*(values[name] for name in present), *chain.from_iterable(rest))

    def get(self, packed: Sequence[T], name: str) -> T:
        return packed[self.names.index(name)]

    def has(self, packed: Sequence[T], name: str) -> bool:
        return len(packed) > self.names.index(name)

    def put(self, packed: Sequence[T], **values: T) -> tuple[T, ...]:
        """The same with other values. A member behind the last that is there is added."""
        made = list(packed)
        for name in sorted(values, key=self.names.index):
            at = self.names.index(name)
            made[at : at + 1] = [values[name]]
            if made[at : at + 1] != [values[name]]:
                raise ValueError(f"a member of {self.struct} in front of {name} is absent")
        return tuple(made)

    def head(self, packed: Sequence[T]) -> tuple[T, ...]:
        """What does not repeat."""
        return tuple(packed[: len(self.names)])

    def rest(self, packed: Sequence[T]) -> tuple[T, ...]:
        """What repeats, behind the members that do not."""
        return tuple(packed[len(self.names) :])

    def runs(self, packed: Sequence[T]) -> list[tuple[T, ...]]:
        """Structs of this kind that lie one after another."""
        size = len(self.names)
        return [tuple(packed[i : i + size]) for i in range(0, len(packed), size)]

    def each(self, packed: Sequence[T], name: str) -> tuple[T, ...]:
        """A member of structs that lie one after another."""
        return tuple(packed[self.names.index(name) :: len(self.names)])


def numbered(name: str, count: int) -> list[str]:
    """The names of a member that is an array: order0, order1, ..."""
    return [f"{name}{i}" for i in range(count)]


def _members(struct: str) -> tuple[tuple[str, ...], bool]:
    names: list[str] = []
    repeats = False
    for name, field in ffi.typeof(struct).fields:
        if field.offset != 8 * len(names):
            raise TypeError(f"{struct}.{name} is not where an argument lies")
        if field.type.kind != "array":
            names.append(name)
        elif field.type.length is None:
            repeats = True
        else:
            names += numbered(name, field.type.length)
    return tuple(names), repeats


def _ints(struct: str) -> Params[Dim]:
    return Params(struct, *_members(struct))


def _floats(struct: str) -> Params[float]:
    return Params(struct, *_members(struct))


def choices(enum: str) -> dict[str, int]:
    """The enumerators of an enum by the end of their names, in small letters: {"none": 0, "relu": 1, ...}."""
    found = sorted(ffi.typeof(enum).elements.items())
    names = {name.removeprefix(f"{enum.upper()}_").lower(): value for value, name in found}
    return {name: value for name, value in names.items() if name != "count"}


MATMUL = _ints("asc_matmul_params")
MATMUL_FLOATS = _floats("asc_matmul_floats")
CONV = _ints("asc_conv_params")
CONV_LAST = _ints("asc_conv_last_params")
CONV_AXIS = _ints("asc_conv_axis")
CONV_FLOATS = _floats("asc_conv_floats")
CONV_JOINED_FLOATS = _floats("asc_conv_joined_floats")
QCONV = _ints("asc_qconv_params")
POOL = _ints("asc_pool_params")
POOL_AXIS = _ints("asc_pool_axis")
RECURRENT = _ints("asc_recurrent_params")
RECURRENT_DIRECTION = _ints("asc_recurrent_direction")
RECURRENT_FLOATS = _floats("asc_recurrent_floats")
REDUCE = _ints("asc_reduce_params")
REDUCE_GIVEN = _ints("asc_reduce_given_params")
ARG_REDUCE = _ints("asc_arg_reduce_params")
LAYER_NORM = _ints("asc_layer_norm_params")
RMS_NORM = _ints("asc_rms_norm_params")
GROUP_NORM = _ints("asc_group_norm_params")
NORM_FLOATS = _floats("asc_norm_floats")
LP_NORM = _ints("asc_lp_norm_params")
SOFTMAX = _ints("asc_softmax_params")
ATTENTION = _ints("asc_attention_params")
ATTENTION_FLOATS = _floats("asc_attention_floats")
ROPE = _ints("asc_rope_params")
SWIGLU = _ints("asc_swiglu_params")
RESIZE = _ints("asc_resize_params")
RESIZE_FLOATS = _floats("asc_resize_floats")
GRID_SAMPLE = _ints("asc_grid_sample_params")
ROI_ALIGN = _ints("asc_roi_align_params")
ROI_ALIGN_FLOATS = _floats("asc_roi_align_floats")
AIPP = _ints("asc_aipp_params")
AIPP_FLOATS = _floats("asc_aipp_floats")
PAD = _ints("asc_pad_params")
CONCAT = _ints("asc_concat_params")
TRILU = _ints("asc_trilu_params")
GATHER = _ints("asc_gather_params")
GATHER_ND = _ints("asc_gather_nd_params")
ONE_HOT = _ints("asc_one_hot_params")
REVERSE_SEQUENCE = _ints("asc_reverse_sequence_params")
TENSOR_SCATTER = _ints("asc_tensor_scatter_params")
SCATTER_ELEMENTS = _ints("asc_scatter_elements_params")
SCATTER_ND = _ints("asc_scatter_nd_params")
COL2IM_AXIS = _ints("asc_col2im_axis")
DEFORM_COLUMNS = _ints("asc_deform_columns_params")
QUANTIZE = _ints("asc_quantize_params")
BYTE_TABLE = _ints("asc_byte_table_params")
BYTE_BINARY = _ints("asc_byte_binary_params")
BYTE_BINARY_FLOATS = _floats("asc_byte_binary_floats")
REQUANTISE_FLOATS = _floats("asc_requantise_floats")
EXPECT_INTS = _ints("asc_expect_ints_params")
TOPK = _ints("asc_topk_params")
CUMSUM = _ints("asc_cumsum_params")
TREE = _ints("asc_tree_params")
TREE_FLOATS = _floats("asc_tree_floats")


def is_gated(ints: Sequence[Dim]) -> bool:
    """Whether these are the arguments of a product of two sides, one the gate of the other."""
    return bool(MATMUL.get(ints, "activation") == lib.ASC_ACTIVATION_GATED)
