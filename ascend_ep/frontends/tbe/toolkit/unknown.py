"""Names of the toolkit without a stand-in: files import more than they use, so they can be imported, and say
why they can't be used when they are."""

from __future__ import annotations

import re
from typing import Any

from ascend_ep.frontends.tbe.toolkit.failure import Inexpressible

#: What a name is about -> why an expression hasn't it. The first that matches counts.
_REASONS: tuple[tuple[str, str], ...] = (
    (
        r"\btik\b|\btir\b|ir_builder|_ffi|instrinsic|intrinsic|emitinsn|insn_cmd|\bextern|call_(pure|extern)|decl_buffer"
        r"|cce_conf_tik|Tik|\.vdeq_cast|\.deq_cast|\.quant_cast|\.expr\b|get_dma_|CCE_AXIS",
        "it is part of a program for the hardware, not an expression",
    ),
    (
        r"calculate_group|conv|matmul|gemm|cube|fully_connection|mad\b|im2col|fractal|depthwise|_nz|lstm",
        "it isn't an expression over elements; ONNX's standard operator is native here",
    ),
    (r"pool|windowed", "pooling of the device's blocks has no expression; ONNX's pooling is native here"),
    (
        r"segment|scatter|gather|sort|topk|transpose|split|concat|tile\b",
        "it has no expression here; ONNX's operators that move elements are native",
    ),
    (
        r"frac_z|_format|tensor_dict|TensorClass|ShapeConverter|BIT_RATIO",
        "layouts in blocks are the device's; tensors lie here as their shapes say",
    ),
    (r"sparse|vsignbit", "there is no such element or operation among the expressions"),
    (
        r"utils\.const|op_tiling|get_te_var|var_inner|buffer_manager|get_align_factor|CceProductParams|te_compute"
        r"|fusion_input|dsl\.compute|error_manager_cube",
        "it serves the code generator of the device, not what is computed",
    ),
    (r"schedule", "how hardware would be scheduled says nothing about what is computed"),
)


def reason(name: str) -> str:
    """Why a name has no stand-in."""
    for pattern, why in _REASONS:
        if re.search(pattern, name):
            return why
    return ""


class Unknown:
    """A name without a stand-in. Every use but importing it, or naming a part of it, is refused."""

    def __init__(self, name: str, hint: str = "", beside: bool = False) -> None:
        """`beside`: it would be in a file that lies beside the user's."""
        self._name = name
        self._hint = hint
        self._beside = beside

    def refuse(self) -> Inexpressible:
        why = reason(self._name)
        if self._beside:
            module = self._name.rpartition(".")[0]
            return Inexpressible(
                f"{self._name}: the file takes it from {module}, which isn't beside it: keep the file in its"
                " folder impl with the others"
            )
        if why:
            return Inexpressible(f"{self._name}: {why}")
        return Inexpressible(
            f"ascend-ep doesn't know what {self._name} does{self._hint and '.' + self._hint}"
        )

    def __call__(self, *_arguments: object, **_named: object) -> Any:
        raise self.refuse()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Unknown(f"{self._name}.{name}", beside=self._beside)

    def __mro_entries__(self, _bases: object) -> tuple[type, ...]:
        """As a base of a class of the file's: one that can do nothing with what it is given."""

        def refused(_self: object, *arguments: object, **named: object) -> None:
            if arguments or named:
                raise self.refuse()

        return (type(self._name.rpartition(".")[2], (), {"__init__": refused}),)

    def __instancecheck__(self, _value: object) -> bool:
        return False

    def __hash__(self) -> int:
        return id(self)


def _refusing(self: Unknown, *_others: object) -> Any:
    raise self.refuse()


for _method in (
    *(
        "add",
        "radd",
        "sub",
        "rsub",
        "mul",
        "rmul",
        "truediv",
        "rtruediv",
        "floordiv",
        "rfloordiv",
        "mod",
        "rmod",
    ),
    *(
        "pow",
        "rpow",
        "neg",
        "abs",
        "lt",
        "le",
        "gt",
        "ge",
        "eq",
        "ne",
        "bool",
        "int",
        "float",
        "index",
        "len",
    ),
    *("iter", "contains", "getitem", "setitem", "enter", "exit"),
):
    setattr(Unknown, f"__{_method}__", _refusing)
