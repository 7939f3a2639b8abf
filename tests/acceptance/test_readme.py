"""The walk of the README, from an idea to a served model, command by command as it stands there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from page_commands import blocks, ran

README = Path(__file__).parents[2] / "README.md"
WALK = README.read_text().partition("\n## From an idea to a served model\n")[2].partition("\n## ")[0]
BLOCKS = blocks(WALK)


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a user is: an empty folder, with a trust store of its own."""
    monkeypatch.setenv("ASCEND_EP_TRUST", str(tmp_path / "trust"))
    monkeypatch.delenv("ASCEND_CUSTOM_OPS", raising=False)


def test_the_walk(tmp_path: Path) -> None:
    """The server is only checked, and asked nothing: tests/serving does that with the same request."""
    folder = tmp_path / "user"
    folder.mkdir()
    printed: dict[str, str] = {}
    for kind, text in BLOCKS:
        first = text.split()[0]
        if first == "curl":
            assert json.loads(text.partition("-d '")[2].rpartition("'")[0])["inputs"][0]["shape"] == [1, 4]
            continue
        if first == "ascend-serve":
            text = text.partition("#")[0].rstrip() + " --check\n"
        if first == "ascend-op" and " build " in text:
            text = text.replace(" build ", " build --search=0 ")  # seconds less
        printed[first] = ran(folder, kind, text)
    assert {"pip", "ascend-op", "python", "mkdir", "import", "ascend-serve"} <= set(printed) | {"mkdir"}
    x = np.array([-1, 0, 1, 2], np.float64)
    expected = -x / (1 + np.exp(-1.5 * x))
    numbers = [float(t) for t in re.findall(r"-?\d+\.\d*(?:e[+-]?\d+)?", printed["import"])]
    np.testing.assert_allclose(numbers, [*expected, *expected], rtol=1e-5, atol=1e-6)
    assert (folder / "served/layer/1/model.om").is_file()
    assert (folder / "project").is_dir()
