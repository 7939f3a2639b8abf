"""assemble: one operator library of several generated parts, one for each combination of element types,
behind formula_abi.h, which finds the part of a call and brings its tensors to the part's form."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from .c_source import Source
from .header_text import abi
from .leading import Form
from .source_text import quoted, schedule_export, table

#: A longer command to build it again is cut short where a call is refused: a refusal has room for few words.
MOST_COMMAND = 120


@dataclass(frozen=True)
class Assembly:
    """The C of a library: its parts, the first one's types first, the names by which they are linked, and the
    front, which exports asc_get_custom_op and the aot function `symbol`."""

    op_type: str
    symbol: str
    parts: tuple[Source, ...]
    links: tuple[str, ...]
    front: str


def assemble(
    form: Form,
    names: Sequence[str],
    parts: Sequence[tuple[Source, Sequence[int | None], Sequence[int]]],
    could_be: Sequence[Collection[int]],
    rebuild: str = "",
) -> Assembly:
    """`names`: of all inputs. `parts`: each with the types of all inputs and outputs. `could_be`: per input
    the types that the formula takes. `rebuild`: the command that makes it, without shapes and types."""
    first = parts[0][0]
    links = tuple(f"asc_{first.symbol}_{k}" for k in range(len(parts)))
    given = [i for i, t in enumerate(form.inputs) if t is not None]
    place = {i: k for k, i in enumerate(given)}
    bits = [sum(1 << place[i] for i in group) for group in form.groups]
    command = rebuild if 0 < len(rebuild) <= MOST_COMMAND else "ascend-op build ..."
    types = [[t for t in ins if t is not None] + list(outs) for _, ins, outs in parts]
    lines = [
        '#include "ascend_rt.h"',
        f"#define OP_TYPE {quoted(first.op_type)}",
        f"#define AOT_NAME {quoted(first.symbol)}",
        f"#define REBUILD {quoted(command)}",
        f"#define N_IN {len(form.inputs)}",
        f"#define N_OUT {len(parts[0][2])}",
        f"#define N_GIVEN {len(given)}",
        f"#define N_LEAST {given[-1] + 1 if given else 0}",
        f"#define N_PARTS {len(parts)}",
        f"#define N_GROUPS {len(form.groups)}",
        f"#define FULL_GROUP {form.full if form.groups else 0}",
        f"#define LEADING {sum(1 << place[i] for i in form.leading)}u",
        f"#define SPREADS {int(form.spreads)}",
        f"#define EXACT {sum(1 << place[i] for i in form.exact)}u",
        *(f'extern const asc_custom_op {link} __attribute__((visibility("hidden")));' for link in links),
        table("asc_custom_op *const parts", [f"&{link}" for link in links]),
        table(f"int32_t part_types[][{max(map(len, types))}]", [f"{{{_numbers(row)}}}" for row in types], ""),
        table("int32_t given_slot", [str(i) for i in given]),
        table("int32_t given_own", [str(form.own[i]) for i in given]),
        table("char *const given_name", [quoted(names[i]) for i in given]),
        table("uint32_t could_be", [f"{sum(1 << t for t in could_be[i] if t < 32)}u" for i in given]),
        table("uint32_t group_of", [f"{bit}u" for bit in bits]),
        abi(),
        *schedule_export(quoted("; ".join(dict.fromkeys(str(part.schedule) for part, _, _ in parts)))),
    ]
    return Assembly(
        first.op_type, first.symbol, tuple(p for p, _, _ in parts), links, "\n".join(lines) + "\n"
    )


def _numbers(row: Sequence[int]) -> str:
    return ", ".join(map(str, row))
