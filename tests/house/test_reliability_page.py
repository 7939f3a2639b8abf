"""docs/reliability.md names what there is: every attack of the tests, files of tests, and tools."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
CVE = re.compile(r"CVE-\d{4}-\d{4,5}")


def test_every_cve_has_a_test_and_a_row() -> None:
    tried = set()
    streams = ROOT / "tests" / "serving" / "test_grpc_hostile.py"
    for path in (streams, *(ROOT / "tests" / "hostile").glob("test_cves_of_*.py")):
        text = path.read_text(encoding="utf-8")
        tried |= set(CVE.findall(text))
        tried |= {f"CVE-{year}-{n}" for year, n in re.findall(r"def test_cve_(\d{4})_(\d{4,5})_", text)}
    assert set(CVE.findall(PAGE)) == tried
    assert len(tried) > 40


def test_what_it_names_is_there() -> None:
    commands = re.findall(r"`(tools/\w+)", PAGE)
    assert {"tools/faults", "tools/fuzz_bundles", "tools/branch_coverage"} <= set(commands)
    assert all((ROOT / c).exists() for c in commands)
    paths = re.findall(r"(?:native|tests)/[\w/]+(?:\.\w+)?", PAGE)
    assert len(paths) > 8
    missing = [p for p in paths if not (ROOT / p).exists()]
    assert not missing
    files = re.findall(r"`(test_\w+\.py)`", PAGE)
    assert len(files) > 15
    assert all((ROOT / "tests" / "serving" / name).exists() for name in files)
