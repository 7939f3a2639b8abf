"""What ascend-atc says of a conversion: the partition table as text and JSON, and mode 3's report."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from ascend_ep.errors import AscendError

if TYPE_CHECKING:
    from ascend_ep.compiler.convert import Conversion, PartitionRow

SHOWN = 40  # nodes on the CPU named one by one before the rest is counted


def print_table(conversion: Conversion) -> None:
    """Nodes per place and operator; each node on the CPU with its reason; definitions that were used."""
    rows = conversion.partition_table
    native = [row for row in rows if row.target == "AscendEP"]
    host = [row for row in rows if row.target != "AscendEP"]
    print(f"Partition table: {len(native)} of {len(rows)} nodes on AscendEP, {len(host)} on CPU.")
    for place, group in (("AscendEP", native), ("CPU", host)):
        for op_type, count in sorted(Counter(row.op_type for row in group).items()):
            print(f"  {place:<9} {count:5d}  {op_type}")
    for row in host[:SHOWN]:
        print(f"  CPU: {row.node} ({row.op_type}): {row.reason}")
    if len(host) > SHOWN:
        print(f"  ... and {len(host) - SHOWN} more; --json=FILE lists all")
    for op_type, definition in definitions(rows).items():
        print(f"  {op_type}: defined by {definition}")


def definitions(rows: tuple[PartitionRow, ...]) -> dict[str, str]:
    """Operator -> where its definition was found, for those that are not ONNX's own."""
    return dict(sorted({row.op_type: row.definition for row in rows if row.definition}.items()))


def table_json(conversion: Conversion) -> str:
    """The partition table for machines."""
    rows = conversion.partition_table
    nodes = [
        {
            "node": row.node,
            "op_type": row.op_type,
            "provider": row.target,
            "partition": row.partition,
            "reason": row.reason,
            "definition": row.definition,
        }
        for row in rows
    ]
    placed = Counter(row.target for row in rows)
    return json.dumps({"nodes": nodes, "counts": dict(sorted(placed.items()))}, indent=1, ensure_ascii=False)


def check_report(model: str, conversion: Conversion | None, error: AscendError | None) -> str:
    """Mode 3's report in atc's form: {name, result, total, pass, fail, op: [...]}.

    Of a model that can't be converted it lists the nodes that the error is about.
    """
    rows = conversion.partition_table if conversion else ()
    operators: list[dict[str, object]] = [
        {"name": row.node, "type": row.op_type, "result": "success"} for row in rows
    ]
    if error:
        for name, op_type in error.nodes or [("", "")]:
            message = AscendError(error.code, name, op_type).text if error.nodes else error.text
            cause = {"code": error.code, "message": message}
            operators.append({"name": name, "type": op_type, "result": "failed", "cause": [cause]})
    failed = sum(operator["result"] == "failed" for operator in operators)
    report = {
        "name": Path(model).name,
        "result": "failed" if failed else "success",
        "total": len(operators),
        "pass": len(operators) - failed,
        "fail": failed,
        "op": operators,
    }
    return json.dumps(report, indent=1, ensure_ascii=False)
