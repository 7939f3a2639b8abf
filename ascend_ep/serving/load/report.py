"""What was measured, as text and as CSV, with perf_analyzer's names."""

from __future__ import annotations

from collections.abc import Sequence

from .measure import PERCENTILES, Measured, Plan

#: Columns of the CSV behind the first.
COLUMNS = (
    *("Inferences/Second", "Client Send/Recv", "Server Queue", "Server Compute Input"),
    *("Server Compute Infer", "Server Compute Output", *(f"p{p} latency" for p in PERCENTILES)),
)
#: The share of a core from which on this client, not the server, may be what was measured.
_BUSY = 0.9


def text(found: Measured, word: str, batch: int, plan: Plan) -> str:
    """`word`: Concurrency or Request Rate. Times are in microseconds."""
    window, each = found.window, _parts(found)
    taken = window.latencies * 1e6
    lines = [
        f"{word}: {found.value:g}",
        "  Client:",
        f"    Request count: {len(taken)}",
        f"    Throughput: {window.throughput * batch:.2f} infer/sec",
        f"    Avg latency: {taken.mean():.0f} usec (standard deviation {taken.std():.0f} usec)",
        *(f"    p{p} latency: {window.latency(p) * 1e6:.0f} usec" for p in PERCENTILES),
        "  Server:",
        f"    Inference count: {window.server.inferences}",
        f"    Execution count: {window.server.executions}",
        f"    Successful request count: {window.server.count}",
        f"    Avg request latency: {each['total']:.0f} usec (overhead {each['overhead']:.0f} usec + queue "
        f"{each['queue']:.0f} usec + compute input {each['compute_input']:.0f} usec + compute infer "
        f"{each['compute_infer']:.0f} usec + compute output {each['compute_output']:.0f} usec)",
    ]
    if window.failures:
        lines.append(f"  {window.failures} requests failed, the first: {window.first_failure}")
    if window.late:
        lines.append(f"  {window.late} requests were sent late: the client couldn't keep up with this rate")
    if not found.stable:
        lines.append(
            f"  Not stable: {plan.trials} windows, and three still differ by more than {plan.spread:.0%}"
        )
    if window.busy > _BUSY:
        lines.append(f"  The client used {window.busy:.0%} of a core: it may be what limits the throughput")
    return "\n".join(lines)


def summary(measured: Sequence[Measured], word: str, batch: int, plan: Plan) -> str:
    latency = "Avg" if plan.percentile is None else f"p{plan.percentile} Batch"
    lines = [f"Inferences/Second vs. Client {latency} Latency"]
    lines += [
        f"{word}: {m.value:g}, throughput: {m.window.throughput * batch:.2f} infer/sec, "
        f"latency {m.window.latency(plan.percentile) * 1e6:.0f} usec"
        for m in measured
    ]
    return "\n".join(lines)


def csv(measured: Sequence[Measured], word: str, batch: int) -> str:
    """A row for each; times in microseconds."""
    rows = [",".join([word, *COLUMNS])]
    for m in measured:
        each = _parts(m)
        mean = float(m.window.latencies.mean()) * 1e6
        values = [m.window.throughput * batch, mean - each["total"]]
        values += [each[n] for n in ("queue", "compute_input", "compute_infer", "compute_output")]
        values += [m.window.latency(p) * 1e6 for p in PERCENTILES]
        rows.append(",".join([f"{m.value:g}", *(f"{v:.2f}" for v in values)]))
    return "\n".join(rows) + "\n"


def _parts(found: Measured) -> dict[str, float]:
    """Microseconds of the server for a request."""
    times = found.window.server
    count = max(times.count, 1) * 1e3
    names = ("queue", "compute_input", "compute_infer", "compute_output")
    each = {name: getattr(times, name) / count for name in names}
    total = times.total / count
    return each | {"total": total, "overhead": max(total - sum(each.values()), 0.0)}
