"""Every flag of ascend-op build acts, and is in the help."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from build_commands import Run

from ascend_ep.opdef.loader import load_definitions

pytestmark = pytest.mark.usefixtures("compiler")

WAVE = ("--prompt", "Wave(x, k=0.5) = sin(x) * k + x", "--input_shape", "[4,33]")


def kernel(folder: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "kernel_meta" / f"{name}.json").read_text())
    return found


def test_names_places_types_and_the_chip(run: Run, tmp_path: Path) -> None:
    flags = ("--output_name", "my_wave", "--op_type", "Ripple", "--dtype", "bfloat16")
    more = ("--attr", "k=2.5", "--soc_version", "Ascend310P3", "--search", "0", "--verbose")
    status, out, err = run("build", *WAVE, *flags, *more, "--output", str(tmp_path / "deep" / "out"))
    assert status == 0, err
    folder = tmp_path / "deep" / "out"
    (opdef,) = load_definitions(folder / "my_wave.json")
    assert (opdef.op, opdef.attributes[0].name, opdef.attributes[0].default) == ("Ripple", "k", 2.5)
    meta = kernel(folder, "my_wave")
    assert meta["inputs"] == [{"name": "x", "dtype": "bfloat16", "shape": [4, 33]}]
    assert meta["soc_version"] == "Ascend310P3"
    assert "unified buffer: ok, Ascend310P3" in out
    assert "cost model alone" in out
    log = (folder / "kernel_meta" / "my_wave_search.log").read_text()
    assert "nothing was measured" in log


def test_one_element_type_for_each_input(build: Run, tmp_path: Path) -> None:
    arguments = ("--prompt", "Both(x, y) = x + y", "--input_shape", "[8];[8]", "--dtype", "float16;float16")
    assert build(*arguments)[0] == 0
    assert [i["dtype"] for i in kernel(tmp_path / "out", "both")["inputs"]] == ["float16", "float16"]


@pytest.mark.usefixtures("no_search_kept")
def test_a_search_is_logged_and_kept(run: Run, tmp_path: Path) -> None:
    """By expression, shape class and CPU: 33 and 40 are one class, another name is the same expression."""
    flags = ("--search", "1", "--ascend_c", "0", "--output", str(tmp_path))
    status, out, err = run("build", *WAVE, *flags)
    assert status == 0, err
    count = int(re.search(r"search: (\d+) candidates generated and measured:", out)[1])  # type: ignore[index]
    line = re.compile(r"tile=\d+ .*: source [0-9a-f]{16}, [\d.]+ us \+- [\d.]+")
    log = (tmp_path / "kernel_meta" / "wave_search.log").read_text().splitlines()
    measured = [x for x in log if line.match(x)]
    assert len(measured) == count > 1
    assert len({re.search(r"source (\w+)", x)[1] for x in measured}) > 1  # type: ignore[index]
    assert log[-1].startswith("chosen: tile=")
    other = ("--prompt", "Other(x, k=0.5) = sin(x) * k + x", "--input_shape", "[4,40]")
    status, out, err = run("build", *other, *flags)
    assert status == 0, err
    assert f"{count} candidates generated and measured earlier" in out


def test_a_file_that_is_no_description(build: Run, tmp_path: Path) -> None:
    path = tmp_path / "swish.md"
    path.write_text("x * sigmoid(x)")
    status, _, err = build(str(path), "--input_shape", "[4]")
    assert (status, err.partition(":")[0]) == (1, f"E42001 {path}")
    assert "must end in .py or .txt" in err


def test_the_help_has_every_flag_and_variable(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run("build", "--help")
    shown = capsys.readouterr().out
    names = "prompt input_shape output_name output dtype attr op_type search ascend_c soc_version llm-url"
    for name in (*names.split(), "llm-model", "force"):
        assert re.search(rf"^  --{name}\b.*", shown, re.MULTILINE), name
    for variable in ("ASCEND_CUSTOM_OPS", "ASCEND_EP_CACHE", "ASCEND_EP_LLM_URL", "ASCEND_EP_LLM_ROUNDS"):
        assert variable in shown
