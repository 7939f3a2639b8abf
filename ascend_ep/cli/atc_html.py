"""`ascend-atc --html=FILE`: a conversion as one page, which loads nothing from elsewhere."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ascend_ep.cli.html_graph import Node, drawing

if TYPE_CHECKING:
    from ascend_ep.compiler.conversion import Conversion
    from ascend_ep.plan.plan import Plan, Ref

STYLE = """
:root { color-scheme: light dark; --page: #fff; --ink: #1c2330; --dim: #5a6475; --line: #d5dae3;
  --native: #dbeafe; --host: #fde4cf; --fused: #dcf5e3; --edge: #8a93a3; --bar: #3b6fd4; }
@media (prefers-color-scheme: dark) { :root { --page: #14181f; --ink: #e6e9ef; --dim: #a3adbd;
  --line: #333b48; --native: #1e3357; --host: #54331a; --fused: #1d4129; --edge: #6d7787; --bar: #6f9df0; } }
body { background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; margin: 1.5rem auto;
  max-width: 1200px; padding: 0 1rem; }
h1 { font-size: 1.4rem; overflow-wrap: anywhere; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
p.dim, td.dim { color: var(--dim); }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .2rem .6rem .2rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; overflow-wrap: anywhere; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
.graph { overflow: auto; max-height: 75vh; border: 1px solid var(--line); }
svg text { font: 11px system-ui, sans-serif; fill: var(--dim); }
svg text.op { font-weight: 600; fill: var(--ink); }
rect { stroke: var(--line); fill: var(--native); }
.host rect { fill: var(--host); } .fused rect { fill: var(--fused); }
.edge { fill: none; stroke: var(--edge); } .slot { fill: var(--bar); stroke: var(--page); }
.key i { display: inline-block; width: .9em; height: .9em; border: 1px solid var(--line);
  margin: 0 .3em 0 1em; }
"""
#: Rows that a table of reasons has at most.
SHOWN = 500


def page(conversion: Conversion, om: str, size: int) -> str:
    """The whole page. `om`: the bundle that was written, `size`: its bytes."""
    rows = conversion.partition_table
    native = sum(row.target == "AscendEP" for row in rows)
    meta = conversion.plan.meta
    said = f"{native} of {len(rows)} nodes on AscendEP, {len(rows) - native} on CPU; {size:,} bytes"
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{html.escape(om)}</title><style>{STYLE}</style></head><body><main>",
            f"<h1>{html.escape(om)}</h1><p>{said}</p>",
            f'<p class="dim">{html.escape(meta.get("producer", ""))} · {html.escape(conversion.where)}</p>',
            '<p class="key dim">Boxes:<i style="background:var(--native)"></i>runs natively'
            '<i style="background:var(--fused)"></i>fused, folded or simplified away'
            '<i style="background:var(--host)"></i>on the CPU, by onnxruntime</p>',
            "<h2>The model</h2>",
            drawing(_before(conversion), "the model as it was given"),
            "<h2>What runs</h2>",
            drawing(_after(conversion.plan), "the instructions of the bundle"),
            "<h2>On the CPU, and why</h2>",
            _host(conversion),
            "<h2>Fusion</h2>",
            _fusions(conversion),
            "<h2>Weights</h2>",
            _weights(conversion.plan),
            "<h2>Memory of temporaries</h2>",
            _arena(om),
            "</main></body></html>",
        ]
    )


def table(head: Sequence[str], rows: Iterable[Sequence[object]], numbers: Sequence[int] = ()) -> str:
    """`numbers`: columns that are aligned as such."""
    listed = list(rows)
    if not listed:
        return '<p class="dim">None.</p>'

    def cells(tag: str, row: Sequence[object]) -> str:
        return "".join(
            f"<{tag}{' class=n' if i in numbers else ''}>{html.escape(_text(value))}</{tag}>"
            for i, value in enumerate(row)
        )

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in listed[:SHOWN])
    more = f'<p class="dim">And {len(listed) - SHOWN} more.</p>' if len(listed) > SHOWN else ""
    return f"<table><thead><tr>{cells('th', head)}</tr></thead><tbody>{body}</tbody></table>{more}"


def _text(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _before(conversion: Conversion) -> list[Node]:
    from ascend_ep.graph.load import load_model
    from ascend_ep.graph.naming import label

    options = conversion.options
    model = load_model(conversion.source, base_dir=options.base_dir, memory=options.memory)
    place = {row.node: row for row in conversion.partition_table}
    made: dict[str, str] = {}
    nodes = []
    for number, node in enumerate(model.graph):
        key, name = str(number), label(node)
        reads = tuple(made[v.name] for v in node.inputs if v is not None and v.name in made)
        made |= {v.name: key for v in node.outputs if v.name}
        row = place.get(name)
        kind = "fused" if row is None else "native" if row.target == "AscendEP" else "host"
        nodes.append(Node(key, node.op_type, name, reads, kind, row.reason if row else ""))
    return nodes


def _after(plan: Plan) -> list[Node]:
    from ascend_ep.plan.plan import HostPartition

    nodes: list[Node] = []
    of_edge: dict[str, str] = {}
    for part in plan.partitions:
        if isinstance(part, HostPartition):
            reads = tuple(of_edge[e.name] for e in part.inputs if e.name in of_edge)
            nodes.append(Node(part.name, "onnxruntime", part.name, reads, "host", part.reason))
            of_edge |= {e.name: part.name for e in part.outputs}
            continue
        made: dict[int, str] = {id(r): of_edge[e.name] for e, r in part.inputs if e.name in of_edge}
        for number, insn in enumerate(part.insns):
            key = f"{part.name}/{number}"
            reads = tuple(
                dict.fromkeys(made[id(_root(r))] for r in insn.ins if r is not None and id(_root(r)) in made)
            )
            made |= {id(_root(r)): key for r in insn.outs}
            shapes = ", ".join(f"[{','.join(map(str, r.dims))}]" for r in insn.outs)
            nodes.append(Node(key, insn.kernel, insn.name or insn.op_type, reads, "native", shapes))
        of_edge |= {e.name: made[id(_root(r))] for e, r in part.outputs if id(_root(r)) in made}
    return nodes


def _root(ref: Ref) -> Ref:
    return ref.base or ref


def _host(conversion: Conversion) -> str:
    rows = [r for r in conversion.partition_table if r.target != "AscendEP"]
    return table(("node", "operator", "why"), ((r.node, r.op_type, r.reason) for r in rows))


def _fusions(conversion: Conversion) -> str:
    done = Counter(o.rule.name for o in conversion.fusions if o.is_fused)
    summaries = {o.rule.name: o.rule.summary for o in conversion.fusions}
    fused = table(("rule", "what", "times"), ((n, summaries[n], c) for n, c in done.most_common()), (2,))
    missed = [o for o in conversion.fusions if not o.is_fused]
    rows = ((o.place, " → ".join(o.operators), o.rule.name, o.reason) for o in missed)
    return fused + "<h3>Nearly fused, and why not</h3>" + table(("at", "operators", "rule", "why"), rows)


def _weights(plan: Plan) -> str:
    from ascend_ep.element_types import element_name
    from ascend_ep.plan.writing.packing import packed_bytes
    from ascend_ep.plan.writing.writer import plan_weights

    counts: Counter[tuple[str, str]] = Counter()
    sizes: Counter[tuple[str, str]] = Counter()
    for ref in plan_weights(plan):
        assert ref.weight is not None
        key = (element_name(ref.dtype), ref.weight.layout)
        counts[key] += 1
        sizes[key] += packed_bytes(ref)
    rows = ((*key, counts[key], size) for key, size in sizes.most_common())
    return table(("type", "layout", "number", "bytes"), rows, (2, 3))


def _arena(om: str) -> str:
    """Each temporary over the instructions that it lives for, at its offset; for the sizes of the samples."""
    from ascend_ep.cli.arena_slots import arenas

    found = []
    for arena in arenas(om):
        if not arena.slots or not arena.size:
            continue
        across = max(s.last for s in arena.slots) + 1
        boxes = "".join(
            f'<rect class="slot" x="{s.first / across * 1000:.2f}" y="{s.offset / arena.size * 240:.2f}" '
            f'width="{max((s.last - s.first + 1) / across * 1000, 1):.2f}" '
            f'height="{max(s.size / arena.size * 240, 1):.2f}"><title>{html.escape(s.name)}: {s.size:,} bytes'
            f" at {s.offset:,}, instructions {s.first} to {s.last}</title></rect>"
            for s in arena.slots
        )
        alone = sum(s.size for s in arena.slots)
        label = f"{arena.name}: {arena.size:,} bytes hold temporaries of {alone:,} bytes"
        found.append(
            f'<p>{html.escape(label)}</p><svg role="img" aria-label="{html.escape(label)}" '
            f'viewBox="0 0 1000 240" width="100%" preserveAspectRatio="none" height="240">{boxes}</svg>'
        )
    return "".join(found) or '<p class="dim">No temporaries, or sizes that are free.</p>'
