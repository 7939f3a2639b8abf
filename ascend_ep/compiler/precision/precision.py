"""What atc's precision modes mean on the CPU: which element types every node computes in.

A node of float16 reads operands that are stored as float16, computes in float32, and rounds its result once;
beyond 65504 the result is infinite, as in the INF_NAN mode of Ascend910B and later. Products of bfloat16
are the business of narrow_products.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import onnx_ir as ir

from ascend_ep.errors import AscendError
from ascend_ep.graph.fusion.outline import original_names
from ascend_ep.graph.passes.retype import Choice, NodeTypes
from ascend_ep.opdef.dtypes import BFLOAT16, FLOAT16, FLOAT32

from .mixed_lists import Colour, MixedLists, is_cube, same_type

#: Everything in the types of the model.
EXACT = frozenset({"must_keep_origin_dtype", "origin"})

#: Products and convolutions of constant weights, and attention's own products for more than a few queries, in
#: bfloat16 with float32 sums, and the images between such convolutions; all else, inputs and outputs too, as
#: it is. The lists say which.
BFLOAT16_PRODUCTS = frozenset({"allow_mix_precision_bf16", "mixed_bfloat16", "allow_fp32_to_bf16"})

#: Modes whose products are of float32, which high-performance implementations may be less exact about.
FLOAT32_PRODUCTS = EXACT | {"force_fp32"}

ALL_FLOAT16 = frozenset({"force_fp16", "fp16"})
MIXED_FLOAT16 = frozenset({"allow_mix_precision", "allow_mix_precision_fp16", "mixed_float16"})

#: Modes that the lists of --modify_mixlist are for.
MIXED = MIXED_FLOAT16 | {"allow_mix_precision_bf16", "mixed_bfloat16"}

_HALF = NodeTypes((FLOAT16,), FLOAT16)
_SINGLE = NodeTypes((FLOAT32,), FLOAT32)
_CUBE = NodeTypes((FLOAT16,), FLOAT32)


@dataclass(frozen=True)
class PrecisionLists:
    """What the files of --keep_dtype, --modify_mixlist and --customize_dtypes say.

    `keep`, `keep_types`: names, and operators, of nodes with the model's own types. `custom`,
    `custom_types`: the types of nodes by name and by operator.
    """

    keep: Collection[str] = ()
    keep_types: Collection[str] = ()
    mixed: MixedLists = field(default_factory=MixedLists)
    custom: Mapping[str, NodeTypes] = field(default_factory=dict)
    custom_types: Mapping[str, NodeTypes] = field(default_factory=dict)

    def keeps(self, node: ir.Node) -> bool:
        names = _names(node)
        return any(n in self.keep for n in names) or any(same_type(node.op_type, t) for t in self.keep_types)

    def custom_types_of(self, node: ir.Node) -> NodeTypes | None:
        """By name before by operator."""
        by_name = (self.custom[n] for n in _names(node) if n in self.custom)
        by_type = (types for t, types in self.custom_types.items() if same_type(node.op_type, t))
        return next(chain(by_name, by_type), None)

    def products(self) -> Callable[[str, str], bool]:
        """Whether an instruction, of these node names and operators, is among the narrow products."""

        def chosen(names: str, operators: str) -> bool:
            types = _operators(operators)
            kept = any(n in self.keep for n in names.split("+"))
            kept |= any(same_type(t, k) for t in types for k in self.keep_types)
            return not kept and not any(same_type(t, b) for t in types for b in self.mixed.black)

        return chosen

    def names_product(self, names: str, operators: str) -> bool:
        """Whether the white list was given one of an instruction's operators."""
        return any(same_type(t, w) for t in _operators(operators) for w in self.mixed.white)

    def to_text(self) -> str:
        """JSON that `from_text` reads; "{}" when there are no exceptions."""
        mixed = {"white": self.mixed.white, "black": self.mixed.black, "grey": self.mixed.grey}
        found: dict[str, object] = {"keep": sorted(self.keep), "keep_types": sorted(self.keep_types)}
        found["mixed"] = {colour: sorted(names) for colour, names in mixed.items() if names}
        for name, types in (("custom", self.custom), ("custom_types", self.custom_types)):
            found[name] = {n: [*t.reads, t.writes] for n, t in types.items()}
        return json.dumps({k: v for k, v in found.items() if v})

    @classmethod
    def from_text(cls, text: str) -> PrecisionLists:
        found = json.loads(text or "{}")

        def types(name: str) -> dict[str, NodeTypes]:
            return {n: NodeTypes(tuple(t[:-1]), t[-1]) for n, t in found.get(name, {}).items()}

        return cls(
            frozenset(found.get("keep", ())),
            frozenset(found.get("keep_types", ())),
            MixedLists(**found.get("mixed", {})),
            types("custom"),
            types("custom_types"),
        )

    def check_names(self, known: Collection[str]) -> None:
        """Raises AscendError E10016 for a name that no node of the model has."""
        for flag, names in (("keep_dtype", self.keep), ("customize_dtypes", self.custom)):
            for name in names:
                if name not in known:
                    raise AscendError("E10016", name, flag)


def _operators(joined: str) -> list[str]:
    """The operators of an instruction, without their domains."""
    return [t.rpartition("::")[2] for t in joined.split("+")]


def _names(node: ir.Node) -> list[str]:
    """What a file may call a node: its own name, and those of the nodes fused in it."""
    return [*([node.name] if node.name else []), *original_names(node)]


def changes_types(mode: str, lists: PrecisionLists) -> bool:
    """Whether a conversion has to look at the types of nodes at all."""
    return bool(lists.custom or lists.custom_types) or mode not in EXACT | BFLOAT16_PRODUCTS


def choice(mode: str, lists: PrecisionLists) -> Choice:
    """The types of each node under a precision mode and the lists. Lists go first, custom types before kept
    ones, as with atc."""
    by_mode = _BY_MODE.get(mode)

    def types_of(node: ir.Node, flowing: Sequence[int]) -> NodeTypes | None:
        custom = lists.custom_types_of(node)
        if custom is not None:
            return custom
        if by_mode is None or lists.keeps(node):
            return None
        return by_mode(node, flowing, lists.mixed)

    return types_of


def _all_half(node: ir.Node, flowing: Sequence[int], mixed: MixedLists) -> NodeTypes | None:
    return _HALF


def _all_single(node: ir.Node, flowing: Sequence[int], mixed: MixedLists) -> NodeTypes | None:
    return _SINGLE


def _cube_half(node: ir.Node, flowing: Sequence[int], mixed: MixedLists) -> NodeTypes | None:
    """float16 operands and float32 results of matrix operators, float32 elsewhere."""
    return _CUBE if is_cube(node.op_type) else _SINGLE


def _cube_only(node: ir.Node, flowing: Sequence[int], mixed: MixedLists) -> NodeTypes | None:
    """Matrix operators in float16; vector operators, all of which have float32, as they are."""
    return _HALF if is_cube(node.op_type) else None


def _mixed(node: ir.Node, flowing: Sequence[int], mixed: MixedLists) -> NodeTypes | None:
    colour = mixed.colour(node.op_type)
    if colour is Colour.WHITE:
        return _HALF
    if colour is Colour.BLACK or not flowing:
        return None
    return _HALF if set(flowing) == {FLOAT16} else None


_BY_MODE = {
    **dict.fromkeys(ALL_FLOAT16, _all_half),
    **dict.fromkeys(MIXED_FLOAT16, _mixed),
    "force_fp32": _all_single,
    "cube_fp16in_fp32out": _cube_half,
    "allow_fp32_to_fp16": _cube_only,
}

#: Modes of atc's that can't be had on a CPU, and why.
_NO_HIFLOAT8 = "HiFloat8 is a format of the matrix unit of Ascend950 and later, and no public text defines it"
REFUSED = {"cube_hif8": _NO_HIFLOAT8, "mixed_hif8": _NO_HIFLOAT8}

#: Every mode that can be had.
MODES = EXACT | BFLOAT16_PRODUCTS | set(_BY_MODE)

#: atc's names of element types, in files.
TYPE_NAMES = {"float16": FLOAT16, "float32": FLOAT32, "float": FLOAT32, "bfloat16": BFLOAT16}


def check_mode(mode: str) -> None:
    """Raises AscendError E10055 for a mode of atc's that can't be had here, E10001 for what is no mode."""
    if mode in REFUSED:
        raise AscendError("E10055", f"--precision_mode_v2={mode}: {REFUSED[mode]}.")
    if mode not in MODES:
        raise AscendError("E10001", mode, "--precision_mode", f"It is none of {', '.join(sorted(MODES))}.")
