"""Lines of the log: text, JSON, how many, and what stands in them of requests."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
from running import Running

from ascend_ep.errors import AscendError
from ascend_ep.serving.logs import limit
from ascend_ep.serving.logs.limit import RateLimit
from ascend_ep.serving.logs.setup import set_up
from ascend_ep.serving.settings import Settings

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
BODY = {"inputs": [{"name": "x", "shape": [1, 8], "datatype": "FP32", "data": [0.1] * 8}]}
INFER = "/v2/models/rows/infer"


@pytest.mark.usefixtures("root_logger")
def test_json_lines_of_requests(repository: Path, tmp_path: Path) -> None:
    path = tmp_path / "log"
    set_up("info", "json", path)
    with Running(Settings(repository, http_port=0, log_requests=True)) as running:
        running.ask("POST", INFER, BODY | {"id": "a\nb"}, {"traceparent": TRACE})
        running.ask("POST", INFER, BODY | {"inputs": []})
        for _ in range(40):
            running.ask("POST", INFER, BODY)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    answered, refused, *others = [line for line in lines if line["message"].startswith("infer")]
    assert answered["time"].endswith("Z")
    assert (answered["level"], answered["model"], answered["version"]) == ("info", "rows", "2")
    assert (answered["id"], answered["status"], answered["batch"]) == ("a\nb", 200, 1)
    assert answered["trace_id"] == "0af7651916cd43dd8448eb211c80319c"
    assert 0 < answered["compute_ms"] <= answered["ms"]
    assert "\n" not in answered["message"]
    assert (refused["status"], refused["error"][:6]) == (400, "E50004")
    assert len(others) == 40


@pytest.mark.usefixtures("root_logger")
def test_failures_have_lines_and_only_so_many(repository: Path, tmp_path: Path) -> None:
    path = tmp_path / "log"
    set_up("info", "text", path)
    with Running(Settings(repository, http_port=0)) as running:
        for _ in range(5):
            running.ask("POST", INFER, BODY)
        for _ in range(60):
            running.ask("POST", INFER, {"inputs": []})
    lines = [line for line in path.read_text().splitlines() if "INFO infer" in line]
    assert 20 <= len(lines) < 60
    assert "model='rows' version='' status=400 error=\"E50004: Tensor [x] is refused" in lines[0]


@pytest.mark.usefixtures("root_logger")
def test_what_the_front_end_refuses_has_a_line(repository: Path, tmp_path: Path) -> None:
    path = tmp_path / "log"
    set_up("info", "text", path)
    with Running(Settings(repository, http_port=0)) as running:
        assert running.ask("POST", INFER, b"{no JSON")[0] == 400
        assert running.ask("POST", "/v2/models/none/infer", BODY)[0] == 404
    text = path.read_text()
    assert text.count("refused: E50001") == 1
    assert text.count("E50002") == 1


def test_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(limit.time, "monotonic", lambda: now[0])
    limited = RateLimit()

    def passes(line: int) -> str:
        record = logging.LogRecord("n", logging.ERROR, "file.py", line, "it %s", ("failed",), None)
        return record.getMessage() if limited.filter(record) else ""

    assert [passes(1) for _ in range(25)] == ["it failed"] * 20 + [""] * 5
    assert passes(2) == "it failed"
    now[0] = 0.21
    assert passes(1) == "it failed (5 lines like this left out)"
    assert passes(1) == ""
    now[0] = 1000.0
    assert [passes(1) for _ in range(21)] == [
        "it failed (1 lines like this left out)",
        *["it failed"] * 19,
        "",
    ]


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(AscendError) as refused:
        set_up("info", "text", tmp_path / "none" / "log")
    assert refused.value.code == "E50034"
