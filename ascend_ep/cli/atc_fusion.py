"""--fusion_switch_file and --fusion_report: reading atc's switches, and what the rules did."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ascend_ep import regular_file
from ascend_ep.cli.atc_log import warn
from ascend_ep.errors import AscendError
from ascend_ep.opdef.fusion_rules import GRAPH, KERNEL
from ascend_ep.opdef.jsontext import strict_json

if TYPE_CHECKING:
    from ascend_ep.graph.fusion.ledger import Outcome

FLAG = "--fusion_switch_file"
LIMIT = 1 << 20  # bytes of a switch file
FORM = '{"Switch": {"GraphFusion": {"GeluFusionPass": "off"}, "UBFusion": {"ALL": "on"}}}'

Switches = dict[str, dict[str, bool]]


def rules_off(given: Mapping[str, str], path: Path) -> frozenset[str]:
    """Names of the rules that a switch file turns off; warns, once each, of names that are no rule's."""
    from ascend_ep.graph.fusion.switches import switched_off

    off, unknown = switched_off(read_switches(path))
    for switch in unknown:
        hint = f" Near it: {', '.join(switch.near)}." if switch.near else ""
        warn(given, f"{FLAG}={path}: {switch.group} has no rule {switch.name}.{hint}")
    return off


def read_switches(path: Path) -> Switches:
    """group -> rule -> whether it is on, of atc's JSON, or of lines `Rule:off` that name rules of any group.

    Raises AscendError E10001 with the line or the key that is wrong.
    """
    try:
        data = regular_file.read(path)
        text = data[: LIMIT + 1].decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise _refusal(path, f"The file cannot be read: {reason}.") from error
    if len(data) > LIMIT:
        raise _refusal(path, f"The file has more than {LIMIT} bytes.")
    return _from_json(path, text) if text.lstrip().startswith(("{", "[")) else _from_lines(path, text)


def _from_json(path: Path, text: str) -> Switches:
    try:
        root = strict_json(text, once=True)
    except ValueError as error:
        raise _refusal(path, f"It is no JSON: {error}.") from error
    groups = _map(path, _map(path, root, "the file").get("Switch"), "Switch")
    made: Switches = {}
    for group, switches in groups.items():
        if group not in (GRAPH, KERNEL):
            raise _refusal(path, f"Switch.{group} is none of [{GRAPH}, {KERNEL}].")
        made[group] = {
            name: _is_on(path, value, f"Switch.{group}.{name}")
            for name, value in _map(path, switches, f"Switch.{group}").items()
        }
    return made


def _from_lines(path: Path, text: str) -> Switches:
    from ascend_ep.graph.fusion.switches import ALL
    from ascend_ep.opdef.fusion_rules import RULES

    groups = {rule.name: rule.group for rule in RULES}
    made: Switches = {GRAPH: {}, KERNEL: {}}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        name, colon, value = (part.strip() for part in line.partition(":"))
        if not colon or not name:
            raise _refusal(path, f"Line {number} is no `Rule:on` or `Rule:off`: {line.strip()[:60]!r}.")
        is_on = _is_on(path, value, f"line {number}, {name}")
        for group in (GRAPH, KERNEL) if name == ALL else (groups.get(name, GRAPH),):
            made[group][name] = is_on
    return made


def _map(path: Path, value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _refusal(path, f"There must be a map at {where}.")
    return value


def _is_on(path: Path, value: Any, where: str) -> bool:
    if value not in ("on", "off"):
        raise _refusal(path, f"At {where}: {json.dumps(value)[:60]} is neither on nor off.")
    return bool(value == "on")


def _refusal(path: Path, reason: str) -> AscendError:
    return AscendError("E10001", str(path), FLAG, reason, details=[f"The form is {FORM}"])


# ---- what the rules did -----------------------------------------------------------------------------


def fusion_result(outcomes: Sequence[Outcome]) -> str:
    """fusion_result.json in atc's form: per rule how often it matched, and how often that took effect."""
    made: dict[str, Any] = {"graph_fusion": {}, "session_and_graph_id": "0_0", "ub_fusion": {}}
    matched = Counter((o.rule.group, o.rule.name) for o in outcomes)
    fused = Counter((o.rule.group, o.rule.name) for o in outcomes if o.is_fused)
    for group, name in sorted(matched):
        times = {"effect_times": str(fused[group, name]), "match_times": str(matched[group, name])}
        if group == KERNEL:
            times["repository_hit_times"] = "0"
        made["ub_fusion" if group == KERNEL else "graph_fusion"][name] = times
    return json.dumps([made], indent=4)


def print_report(outcomes: Sequence[Outcome], off: Sequence[str]) -> None:
    """Every candidate with its assessment and the decision, as a table."""
    fused = sum(o.is_fused for o in outcomes)
    saved = sum(o.assessment.saved for o in outcomes if o.is_fused)
    print(f"Fusion report: {fused} of {len(outcomes)} candidates fused, {_size(saved)} of traffic saved.")
    if off:
        print(f"  off: {', '.join(off)}")
    heads = ("rule", "last node", "ops", "apart", "fused", "tile", "loops", "class", "decision")
    rows = [heads, *(_cells(o) for o in outcomes)]
    widths = [min(40, max(len(row[i]) for row in rows)) for i in range(len(heads) - 1)]
    for row in rows:
        cells = [cell[:w].ljust(w) for cell, w in zip(row, widths, strict=False)]
        print("  " + "  ".join([*cells, row[-1]]))


def _cells(outcome: Outcome) -> tuple[str, ...]:
    found = outcome.assessment
    budget = "" if found.budget is None else f"/{_size(found.budget)}"
    return (
        outcome.rule.name,
        outcome.place,
        f"{found.nodes} ({found.operators})",
        _size(found.isolated),
        _size(found.fused),
        _size(found.on_chip) + budget,
        "same" if found.compatible else "differ",
        found.quadrant,
        "fused" if outcome.is_fused else f"not: {outcome.reason}",
    )


def _size(count: int) -> str:
    for unit, size in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} B"


def report_json(outcomes: Sequence[Outcome], off: Sequence[str]) -> str:
    """The same for machines."""
    candidates = [
        {
            "rule": o.rule.name,
            "group": o.rule.group,
            "node": o.place,
            "operators": list(o.operators),
            "fused": o.is_fused,
            "reason": o.reason,
            "assessment": {
                "bytes_apart": o.assessment.isolated,
                "bytes_fused": o.assessment.fused,
                "bytes_saved": o.assessment.saved,
                "on_chip_bytes": o.assessment.on_chip,
                "on_chip_budget": o.assessment.budget,
                "loops_compatible": o.assessment.compatible,
                "nodes": o.assessment.nodes,
                "different_operators": o.assessment.operators,
                "class": o.assessment.quadrant,
            },
        }
        for o in outcomes
    ]
    return json.dumps({"off": list(off), "candidates": candidates}, indent=1, ensure_ascii=False)
