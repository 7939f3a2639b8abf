"""What ascend-atc says of a conversion: the partition table as text and JSON, and mode 3's report."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ascend_ep.cli.atc_log import warn
from ascend_ep.errors import AscendError

if TYPE_CHECKING:
    from ascend_ep.compiler.conversion import Conversion
    from ascend_ep.compiler.partition_table import PartitionRow
    from ascend_ep.compiler.precheck import Finding

SHOWN = 40  # nodes on the CPU named one by one before the rest is counted


def print_table(conversion: Conversion) -> None:
    """Nodes per place and operator, those of bodies too; each on the CPU with its reason; definitions."""
    rows = conversion.partition_table
    native = [row for row in rows if row.target == "AscendEP"]
    host = [row for row in rows if row.target != "AscendEP"]
    ours, theirs = (Counter(t for row in group for t in row.operators) for group in (native, host))
    print(
        f"Partition table: {ours.total()} of {ours.total() + theirs.total()} nodes on AscendEP, "
        f"{theirs.total()} on CPU."
    )
    for place, counts in (("AscendEP", ours), ("CPU", theirs)):
        for op_type, count in sorted(counts.items()):
            print(f"  {place:<9} {count:5d}  {op_type}")
    for row in host[:SHOWN]:
        bodies = f", with {len(row.inside)} nodes inside" if row.inside else ""
        print(f"  CPU: {row.node} ({row.op_type}{bodies}): {row.reason}")
    if len(host) > SHOWN:
        print(f"  ... and {len(host) - SHOWN} more; --json=FILE lists all")
    for op_type, definition in definitions(rows).items():
        print(f"  {op_type}: defined by {definition}")


def warn_of_limits(given: Mapping[str, str], conversion: Conversion) -> None:
    """Says what the chip would say of the model's operators, each sort once."""
    sorts: dict[tuple[str, str], list[str]] = {}
    for limit in conversion.soc_limits:
        sorts.setdefault((limit.op_type, limit.reason), []).append(limit.node)
    for (op_type, reason), nodes in sorts.items():
        more = f" and {len(nodes) - 3} more" if len(nodes) > 3 else ""
        warn(given, f"{op_type} ({', '.join(nodes[:3])}{more}): {reason}.")


def definitions(rows: tuple[PartitionRow, ...]) -> dict[str, str]:
    """Operator -> where its definition was found, for those that are not ONNX's own."""
    return dict(sorted({row.op_type: row.definition for row in rows if row.definition}.items()))


def table_json(conversion: Conversion) -> str:
    """The partition table for machines."""
    rows = conversion.partition_table
    nodes = [
        {
            "node": node,
            "op_type": op_type,
            "provider": row.target,
            "partition": row.partition,
            "reason": row.reason,
            "definition": row.definition,
        }
        | ({"inside": outer} if outer else {})
        for row in rows
        for node, op_type, outer in _with_bodies(row)
    ]
    placed = Counter(node["provider"] for node in nodes)
    return json.dumps({"nodes": nodes, "counts": dict(sorted(placed.items()))}, indent=1, ensure_ascii=False)


def _with_bodies(row: PartitionRow) -> Iterator[tuple[str, str, str]]:
    """Name and operator of a row's node, and of those inside with the name of the one that they are in."""
    yield row.node, row.op_type, ""
    for node, op_type in row.inside:
        yield node, op_type, row.node


def check_report(model: str, findings: Sequence[Finding], soc_version: str) -> str:
    """Mode 3's report in atc's form: {name, result, total, pass, fail, op: [...]}.

    What a chip limits is a cause of an operator that passes; `soc` says what the chip has.
    """
    operators: list[dict[str, object]] = []
    for found in findings:
        causes = [
            {"code": cause.code, "message": cause.message} | ({"near": cause.near} if cause.near else {})
            for cause in (*found.failures, *found.limits)
        ]
        result = "failed" if found.failures else "success"
        entry: dict[str, object] = {"name": found.node, "type": found.op_type, "result": result}
        operators.append(entry | ({"cause": causes} if causes else {}))
    report = _report(model, operators)
    if soc_version:
        from ascend_ep.cann.soc import find_soc

        report["soc"] = asdict(find_soc(soc_version))
        report["limits"] = sum(len(found.limits) for found in findings)
    return json.dumps(report, indent=1, ensure_ascii=False)


def failed_report(model: str, error: AscendError) -> str:
    """The report of a model that can't be checked node by node."""
    cause = {"code": error.code, "message": " ".join([error.text, *error.details])}
    operators = [
        {"name": name, "type": op_type, "result": "failed", "cause": [cause]}
        for name, op_type in error.nodes or [(error.where.removeprefix("node "), "")]
    ]
    return json.dumps(_report(model, operators), indent=1, ensure_ascii=False)


def _report(model: str, operators: Sequence[Mapping[str, object]]) -> dict[str, object]:
    failed = sum(operator["result"] == "failed" for operator in operators)
    return {
        "name": Path(model).name,
        "result": "failed" if failed else "success",
        "total": len(operators),
        "pass": len(operators) - failed,
        "fail": failed,
        "op": operators,
    }
