"""What stands in an installed package is somebody else's: damage is told as such, whatever it is."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from ascend_ep.errors import AscendError
from ascend_ep.opdef import packages

GOOD = {
    "op": "Doubled", "library": "libdoubled.so",
    "inputs": [{"name": "x"}], "outputs": [{"name": "y"}],
}  # fmt: skip
NAMES = [None, 7, "", ".", "..", "a/..", "operator.json", "\0", "\ud800", "x" * 300, ["l.so"], "a\nb"]
DAMAGED = [
    *(json.dumps({**GOOD, "library": name}) for name in NAMES),
    json.dumps({k: v for k, v in GOOD.items() if k != "library"}),
    json.dumps({**GOOD, "inputs": 3}), "[" * 100_000, "[]", "3", '"library"', "", "{", "\xff", "NaN",
]  # fmt: skip


def read(definition: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    text = definition.encode("latin-1")
    head = packages.MAGIC + packages._SIZES.pack(len(text), 4) + text
    section = head + bytes(-len(head) % packages._ALIGNED) + b"code"
    monkeypatch.setattr(packages, "ElfFile", lambda content: SimpleNamespace(find=lambda name: section))
    library = tmp_path / packages._LIBRARY
    library.parent.mkdir(parents=True, exist_ok=True)
    library.write_bytes(b"")
    return [opdef.op for opdef in packages.read_package(tmp_path)]


def test_a_package_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read(json.dumps(GOOD), tmp_path, monkeypatch) == ["Doubled"]


@pytest.mark.parametrize("damaged", DAMAGED, ids=range(len(DAMAGED)))
def test_damaged_definitions(damaged: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AscendError) as told:
        read(damaged, tmp_path, monkeypatch)
    assert str(told.value).startswith("E4")
