"""High-performance implementations: less exact, faster ones that a command line may ask for by operator.

Gelu with erf is computed with its tanh form (up to 5e-4 from it); products and convolutions that would be
exact float32 multiply in bfloat16, with float32 sums. Every other operator has one implementation, which is
the high-precision one, and so have these unless they are asked for.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import onnx_ir as ir

from ascend_ep.graph.fusion.outline import original_names

from .mixed_lists import ALIASES, same_type

GELU = "Gelu"
PRODUCTS = frozenset({"MatMul", "Gemm", "Conv", "LinearAddGelu", "ScaledDotProductAttention", "Attention"})

#: Largest differences from the reference, relative to an output's largest magnitude, of the tanh form in
#: float32.
GELU_BOUND = 5e-3


@dataclass(frozen=True)
class FastOperators:
    """The operators, and the nodes by name, that compute with their high-performance implementation."""

    types: Collection[str] = ()
    names: Collection[str] = ()

    def __bool__(self) -> bool:
        return bool(self.types or self.names)

    def has(self, op_type: str, names: Collection[str]) -> bool:
        return any(n in self.names for n in names) or any(same_type(op_type, t) for t in self.types)

    def product(self, names: str, operators: str) -> bool:
        """Whether an instruction of these node names and operators, joined by "+", is a fast product."""
        found = (t.rpartition("::")[2] for t in operators.split("+"))
        return any(t in PRODUCTS and self.has(t, names.split("+")) for t in found)

    def simplify_gelu(self, model: ir.Model) -> int:
        """Gives the Gelu nodes that are to be fast their tanh form; how many."""
        count = 0
        for node in model.graph:
            names = [node.name or "", *original_names(node)]
            if node.op_type == GELU and node.domain in ("", "ascend_ep") and self.has(GELU, names):
                node.attributes.add(ir.AttrString("approximate", "tanh"))
                count += 1
        return count


def has_fast_form(name: str) -> bool:
    """Whether a file's or flag's name of an operator is of one that has a high-performance implementation."""
    meant = {name, *(op for op in ALIASES if same_type(op, name))}
    return bool(meant & {GELU, *PRODUCTS})
