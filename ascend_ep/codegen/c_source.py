"""generate_c: a specialised program as one C file that is a custom-operator library (ascend_rt.h), or a part
of one (assembly.py).

The file includes nothing of ours but ascend_rt.h: the vector mathematics of the kernels is part of its text.
Nothing in it comes from the user but the operator's name, as a checked identifier.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from ascend_ep.opdef.expression import Program

from .builder import build_graph
from .distinct import with_distinct_axes
from .graph import ELEMENTS, Graph, InputType, NotGenerated
from .header_text import abi, code_of, mathematics, with_few_intrinsics
from .schedule import Schedule
from .source_text import SourceText

#: Names of the C library that compiled code may call, beside those that its text shows.
_TAKEN = frozenset(
    {"main", "memset", "memmove", "memcmp", "strlen", "strcmp", "malloc", "free", "posix_memalign"}
    | {"infer", "workspace", "compute", "described", "larger", "taken", "plan_move", "move_job"}
)
#: More takes a compiler minutes.
MAX_STEPS = 1000
#: Functions of generated code.
_GENERATED = re.compile(r"(pass|item|chunk|plan|move)\d+\w*|(aot|given|rank)_\w*|temps|place_temps")


@dataclass(frozen=True)
class Source:
    """A C file for one operator. op_type: what asc_get_custom_op knows it as. symbol: the aot function of an
    assembly of it. output_dims: per output its dimensions, in the names of the inputs' or "1". pays: whether
    to expect it to be faster than interpreted steps. folds: whether it has reductions. looks_up: whether it
    has a function that AVX-512 looks up in tables."""

    text: str
    op_type: str
    symbol: str
    output_dims: tuple[tuple[str, ...], ...]
    schedule: Schedule = field(default_factory=Schedule)
    pays: bool = True
    folds: bool = False
    looks_up: bool = False

    @property
    def hash(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


def generate_c(
    op_type: str,
    program: Program,
    names: Sequence[str],
    inputs: Sequence[InputType | None],
    output_types: Sequence[int],
    schedule: Schedule | None = None,
) -> Source:
    """C for a specialised program (opdef/specialize.py).

    names: the definition's inputs, in order; inputs: what each is, None for one that isn't given. The library
    takes exactly these element types and this broadcast pattern, and any sizes. Raises NotGenerated.
    """
    schedule = schedule or Schedule()
    graph = with_distinct_axes(build_graph(program, names, inputs, output_types))
    if sum(n.op not in ("load", "const") for n in graph.nodes()) > MAX_STEPS:
        raise NotGenerated(f"it has more than {MAX_STEPS} steps, which takes a compiler minutes")
    symbol = symbol_of(op_type)
    text = SourceText(op_type, symbol, graph, schedule)
    return Source(
        with_few_intrinsics("\n".join(text.lines()) + "\n"),
        op_type,
        symbol,
        dims_of_outputs(graph),
        schedule,
        _pays(graph),
        any(n.is_fold or n.is_rank for n in graph.nodes()),
        any(n.op == "erf" for n in graph.nodes()),
    )


def _pays(graph: Graph) -> bool:
    """A fold, or several steps between memory and memory; tools/bench_formulas has the measurements. Matrix
    products have kernels that are faster than plain loops, and parts of tensors are views in a plan."""
    if any(n.reads_memory or n.is_move for n in graph.nodes()):
        return False
    steps = [n for n in graph.nodes() if n.op not in ("load", "const")]
    return len(steps) > 1 or any(n.is_fold or n.is_rank for n in steps)


def dims_of_outputs(graph: Graph) -> tuple[tuple[str, ...], ...]:
    """Per output its dimensions, in the names of the inputs' or "1"."""
    return tuple(tuple("1" if a is None else a.name for a in node.axes) for node, _ in graph.outputs)


def symbol_of(op_type: str) -> str:
    """The name of an operator's aot function: its own where that is a name that nothing else has."""
    name = re.sub(r"\W", "_", op_type, flags=re.ASCII)
    taken = _TAKEN | _words()
    clashes = _GENERATED.fullmatch(name) or name.startswith("asc_") or {name, name.removesuffix("f")} & taken
    return f"op_{name}" if clashes or not name[:1].isalpha() else name


@cache
def _words() -> frozenset[str]:
    return frozenset(re.findall(r"\w+", mathematics(True) + mathematics(False) + code_of(abi())))


__all__ = [
    "ELEMENTS",
    "InputType",
    "NotGenerated",
    "Schedule",
    "Source",
    "dims_of_outputs",
    "generate_c",
    "mathematics",
    "symbol_of",
]
