"""A run of the benchmark as a file: where it ran, how, and the records of its rows."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .record import Record

FORMAT = 2


@dataclass
class Results:
    """`machine` decides whether two runs can be compared; `versions` are of the libraries, by backend, and
    `missing` says why a backend has none (not kept in the file: each record has its own)."""

    machine: dict[str, Any]
    settings: dict[str, float]
    versions: dict[str, str] = field(default_factory=dict)
    records: dict[str, Record] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    def save(self, path: Path) -> None:
        """Writes the file anew, whole."""
        found = {
            "format": FORMAT,
            "machine": self.machine,
            "settings": self.settings,
            "versions": self.versions,
            "rows": [record.as_json() for record in self.records.values()],
        }
        partial = path.with_name(f".{path.name}.partial")
        partial.write_text(json.dumps(found, indent=1) + "\n")
        partial.rename(path)

    @classmethod
    def load(cls, path: Path) -> Results:
        """Raises ValueError for a file that is something else."""
        found = json.loads(path.read_text())
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise ValueError(f"{path} is no result of this version of tools/bench")
        try:
            records = {row["name"]: Record.from_json(row) for row in found["rows"]}
            return cls(found["machine"], found["settings"], found["versions"], records)
        except (KeyError, TypeError) as error:
            raise ValueError(f"{path} is damaged: {error}") from error


def this_machine() -> dict[str, Any]:
    """What ratios depend on: the kind of CPU and how many of them."""
    fields = _cpu_fields()
    flags = fields.get("flags", "").split()
    wanted = ("avx2", "avx512f", "avx512_bf16", "avx512_vnni", "amx_bf16", "amx_int8")
    return {
        "architecture": platform.machine(),
        "cpu": fields.get("model name", platform.processor()),
        "cpu_family_model": f"{fields.get('cpu family', '')}/{fields.get('model', '')}",
        "vectors": [name for name in wanted if name in flags],
        "cpus": os.cpu_count(),
    }


def _cpu_fields() -> dict[str, str]:
    """Of the first processor in /proc/cpuinfo; nothing elsewhere."""
    try:
        first = Path("/proc/cpuinfo").read_text().split("\n\n")[0]
    except OSError:
        return {}
    pairs = (line.partition(":") for line in first.splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}
