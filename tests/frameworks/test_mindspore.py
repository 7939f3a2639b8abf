"""docs/mindspore.md in an environment of its own, whose Python ASCEND_EP_TEST_MINDSPORE names."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "mindspore.md"
sys.path.insert(0, str(PAGE.parents[1] / "tests" / "acceptance"))

from page_commands import PRELUDE, blocks, ran  # noqa: E402

PYTHON = os.environ.get("ASCEND_EP_TEST_MINDSPORE", "")
BUILT, TRAINED = blocks(PAGE.read_text())


@pytest.mark.slow
@pytest.mark.skipif(not PYTHON, reason="ASCEND_EP_TEST_MINDSPORE names no Python with mindspore 2.10")
def test_the_page_of_mindspore(tmp_path: Path) -> None:
    ran(tmp_path, *BUILT)
    (tmp_path / "train.py").write_text(TRAINED[1])
    assert "20 steps in both modes agree" in ran(tmp_path, "sh", f"{shlex.quote(PYTHON)} train.py")
    refused = 'from mindspore.ops import Custom\nCustom("./out/swish_custom.so:Swish", reg_format="ND")'
    with pytest.raises(AssertionError, match=r"TypeError.*reg_format"):
        ran(tmp_path, "python", refused, PRELUDE, PYTHON)
