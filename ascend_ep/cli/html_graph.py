"""A graph of nodes as SVG: ranks by the longest path from the inputs, edges as curves between them."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

#: What is drawn of larger graphs: the first nodes.
MOST = 400
WIDTH, HEIGHT, GAP_X, GAP_Y = 150, 36, 18, 34


@dataclass(frozen=True)
class Node:
    """`key` and the keys of what it reads; `kind`: the class of its box, as in the page's style."""

    key: str
    title: str
    subtitle: str
    reads: tuple[str, ...]
    kind: str
    more: str = ""


def drawing(nodes: Sequence[Node], label: str) -> str:
    """The SVG, with a title for those who can't see it; nodes come in the order they run."""
    shown = list(nodes[:MOST])
    if not shown:
        return "<p>Nothing.</p>"
    places = _placed(shown)
    width = max(x for x, _ in places.values()) + WIDTH + 2
    height = max(y for _, y in places.values()) + HEIGHT + 2
    edges = "".join(
        _edge(places[read], places[node.key]) for node in shown for read in node.reads if read in places
    )
    boxes = "".join(_box(node, *places[node.key]) for node in shown)
    left = "" if len(nodes) <= MOST else f"<p>The first {MOST} of {len(nodes)} are drawn.</p>"
    return (
        f'{left}<div class="graph" tabindex="0" role="region" aria-label="{html.escape(label)}">'
        f'<svg role="img" aria-label="{html.escape(label)}" width="{width}" height="{height}">'
        f"{edges}{boxes}</svg></div>"
    )


def _placed(nodes: Sequence[Node]) -> dict[str, tuple[int, int]]:
    """Left upper corners. In its rank a node stands near what it reads."""
    rank: dict[str, int] = {}
    for node in nodes:
        rank[node.key] = 1 + max((rank[r] for r in node.reads if r in rank), default=-1)
    rows: dict[int, list[Node]] = {}
    for node in nodes:
        rows.setdefault(rank[node.key], []).append(node)
    column: dict[str, float] = {}
    for number in sorted(rows):
        wanted = sorted(rows[number], key=lambda n: _mean([column[r] for r in n.reads if r in column]))
        at = 0.0
        for node in wanted:
            at = max(at, round(_mean([column[r] for r in node.reads if r in column])))
            column[node.key] = at
            at += 1
    return {
        node.key: (round(column[node.key] * (WIDTH + GAP_X)) + 1, rank[node.key] * (HEIGHT + GAP_Y) + 1)
        for node in nodes
    }


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found) if found else 0.0


def _edge(start: tuple[int, int], end: tuple[int, int]) -> str:
    x1, y1 = start[0] + WIDTH // 2, start[1] + HEIGHT
    x2, y2 = end[0] + WIDTH // 2, end[1]
    bend = max((y2 - y1) // 2, 8)
    return f'<path class="edge" d="M{x1} {y1}C{x1} {y1 + bend} {x2} {y2 - bend} {x2} {y2}"/>'


def _box(node: Node, x: int, y: int) -> str:
    told = html.escape(" — ".join(filter(None, (node.title, node.subtitle, node.more))))
    rect = f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="5"/>'
    return (
        f'<g class="{node.kind}"><title>{told}</title>{rect}'
        f'<text x="{x + 8}" y="{y + 15}" class="op">{html.escape(_short(node.title, 20))}</text>'
        f'<text x="{x + 8}" y="{y + 29}">{html.escape(_short(node.subtitle, 24))}</text></g>'
    )


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"…{text[-(most - 1) :]}"
