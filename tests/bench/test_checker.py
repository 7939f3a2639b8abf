"""What the benchmark concludes from numbers: ratios, errors, verdicts, regressions. Nothing is timed."""

from __future__ import annotations

import math
import random
from pathlib import Path

import numpy as np
import pytest
from benchmark import __main__ as command
from benchmark.feeds import BEHIND, PAGE, read_feeds
from benchmark.gate import Change, NotComparable, broken, changes, confirmed
from benchmark.markdown import SECTIONS, table
from benchmark.noise import Ratio, has_fallen, ratio, typical_error
from benchmark.record import Record, embedded_excess, floors, verdict
from benchmark.results import Results
from benchmark.rows import ROWS, Goal, Row
from benchmark.runs import rms_error
from benchmark.work import Work
from page_section import write_section

ROW = next(r for r in ROWS if r.name == "gelu")
MACHINE = {"cpu": "one", "vectors": ["avx2"], "architecture": "x86_64"}
SETTINGS = {"threads": 2, "rounds": 5, "slot": 0.1}


def results(*records: Record, machine: dict[str, object] = MACHINE) -> Results:
    return Results(dict(machine), dict(SETTINGS), {}, {r.name: r for r in records})


def gelu(own: float, peer: float = 1.0, jitter: float = 0.0, seed: int = 0, rounds: int = 5) -> Record:
    """Times of own and onnxruntime whose logarithms vary with deviation `jitter`."""
    noise = random.Random(seed)
    times = {
        name: [value * math.exp(noise.gauss(0, jitter)) for _ in range(rounds)]
        for name, value in (("own", own), ("ort", peer))
    }
    return Record("gelu", "run", rounds=times)


def falls(earlier: Results, current: Results) -> list[Change]:
    return [c for c in changes([ROW], earlier, current) if c.fallen]


def test_a_ratio_is_of_the_same_round() -> None:
    slow_then_fast = [4.0, 1.0, 2.0]
    found = ratio([2 * t for t in slow_then_fast], slow_then_fast)
    assert found == Ratio(pytest.approx(2.0), 0.0)


def test_the_error_shrinks_with_rounds_and_grows_with_noise() -> None:
    def error(jitter: float, rounds: int) -> float:
        record = gelu(1.0, jitter=jitter, rounds=rounds)
        return ratio(record.rounds["ort"], record.rounds["own"]).error

    assert error(0.01, 100) < error(0.01, 9) < error(0.1, 9)
    # two normal deviations of 0.01 in the difference, the median's efficiency, 400 rounds
    assert error(0.01, 400) == pytest.approx(1.2533 * 0.01 * math.sqrt(2) / 20, rel=0.3)


def test_typical_error_has_a_floor() -> None:
    assert typical_error([]) == typical_error([Ratio(1, 0.0)]) == 0.01
    assert typical_error([Ratio(1, 0.0), Ratio(1, 0.05), Ratio(1, 0.06)]) == 0.05


@pytest.mark.parametrize(("now", "fallen"), [(2.0, False), (1.93, False), (1.9, True), (3.0, False)])
def test_has_fallen(now: float, fallen: bool) -> None:
    """With 1 % on each side, three deviations are 4.2 %."""
    assert has_fallen(Ratio(2.0, 0.0), Ratio(now, 0.0), 0.01, 0.01) is fallen


def test_noise_excuses_a_fall() -> None:
    assert not has_fallen(Ratio(2.0, 0.05), Ratio(1.8, 0.0), 0.01, 0.01)


def test_a_margin_lets_small_falls_pass() -> None:
    before, slightly, far = (Ratio(value, 0.0) for value in (2.0, 1.6, 1.2))
    assert has_fallen(before, slightly, 0.01, 0.01)
    assert not has_fallen(before, slightly, 0.01, 0.01, margin=0.33)
    assert has_fallen(before, far, 0.01, 0.01, margin=0.33)


def test_falls_finds_a_planted_regression_only() -> None:
    earlier = results(gelu(1.0, jitter=0.01))
    assert falls(earlier, results(gelu(1.0, jitter=0.01, seed=1))) == []
    found = falls(earlier, results(gelu(1.3, jitter=0.01, seed=1)))
    assert [(f.row.name, f.own, f.peer) for f in found] == [("gelu", "own", "ort")]
    # the whole machine slower: ratios stay
    assert falls(earlier, results(gelu(3.0, 3.0, jitter=0.01, seed=1))) == []


def test_false_alarms_are_rare() -> None:
    alarms = 0
    for seed in range(300):
        before = results(gelu(1.0, jitter=0.02, seed=2 * seed))
        now = results(gelu(1.0, jitter=0.02, seed=2 * seed + 1))
        alarms += bool(falls(before, now))
    assert alarms <= 9


@pytest.mark.parametrize(("second", "count"), [(1.3, 1), (1.0, 0)])
def test_a_regression_is_measured_again(second: float, count: int) -> None:
    earlier = results(gelu(1.0))
    first = falls(earlier, results(gelu(1.3)))
    asked: list[list[Row]] = []

    def again(rows: list[Row]) -> Results:
        asked.append(rows)
        return results(gelu(second, rounds=10))

    assert len(confirmed(first, earlier, again)) == count
    assert asked == [[ROW]]


def test_another_machine_is_not_compared() -> None:
    with pytest.raises(NotComparable):
        falls(results(gelu(1.0), machine={"cpu": "other"}), results(gelu(1.0)))


def test_the_gate_measures_nothing_elsewhere(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "this_machine", lambda: {"cpu": "other"})
    monkeypatch.setattr(command, "measure_all", lambda *_: pytest.fail("it measures"))
    monkeypatch.setattr("sys.argv", ["bench", "--gate"])
    assert command.main() == 0
    assert "nothing is measured: " in capsys.readouterr().out


def test_what_broke_is_said() -> None:
    good, gone, wrong = gelu(1.0), gelu(1.0), gelu(1.0)
    gone.missing["own"] = "E40012"
    del gone.rounds["own"]
    wrong.errors["own"] = 1e-2
    assert broken([ROW], results(good), results(good)) == []
    assert broken([ROW], results(good), results(gone)) == ["gelu: own had a result, now E40012"]
    assert broken([ROW], results(good), results(wrong)) == ["gelu: own was right, now error 1.0e-02"]
    assert broken([ROW], results(wrong), results(wrong)) == []


def test_a_disturbed_row_proves_nothing() -> None:
    quiet, busy = gelu(0.5), gelu(5.0)
    busy.foreign = [0.01, 0.5]
    assert falls(results(quiet), results(busy)) == []
    assert falls(results(busy), results(quiet)) == []
    quiet.foreign = [0.01, 0.02, 0.5]
    for record, reached in ((quiet, True), (busy, False)):
        found = verdict(record, Goal(0.1))
        assert found is not None
        assert found.reached is reached


def test_verdict_takes_the_fastest_peer() -> None:
    record = Record("gelu", "run", rounds={"own": [1.0] * 3, "ort": [3.0] * 3, "openvino": [2.0] * 3})
    found = verdict(record, Goal(1.7))
    assert found is not None
    assert (found.peer, found.ratio.value, found.reached) == ("openvino", pytest.approx(2.0), True)
    assert verdict(record, Goal(1.7, "own_bf16")) is None
    missed = verdict(record, Goal(2.5))
    assert missed is not None
    assert not missed.reached


def test_a_fast_wrong_result_does_not_reach_its_goal() -> None:
    record = Record("gelu", "run", rounds={"own": [1.0], "ort": [9.0]}, errors={"own": 1e-3})
    found = verdict(record, Goal(1.7))
    assert found is not None
    assert not found.reached
    approximate = verdict(record, Goal(1.7, approximate=True))
    assert approximate is not None
    assert approximate.reached


def test_bfloat16_is_held_to_the_error_of_openvino() -> None:
    times = {"own_bf16": [1.0], "openvino_default": [2.0]}
    goal = Goal(1.1, "own_bf16", ("openvino_default",))
    for largest, rms, reached in (
        (3e-3, 1e-4, True),  # the largest of many is chance
        (5e-3, 1e-4, False),
        (2e-3, 3e-4, False),
    ):
        errors = {"own_bf16": largest, "openvino_default": 2e-3}
        record = Record(
            "x", "run", rounds=times, errors=errors, rms={"own_bf16": rms, "openvino_default": 2e-4}
        )
        found = verdict(record, goal)
        assert found is not None
        assert found.reached is reached


def test_rms_error_is_relative_to_the_largest_magnitude() -> None:
    expected = np.array([3.0, -4.0])
    assert rms_error(np.array([3.0, -3.0], np.float32), expected) == pytest.approx(np.sqrt(0.5) / 4)
    assert rms_error(np.zeros(0, np.float32), np.zeros(0)) == 0


def test_a_limit_in_seconds() -> None:
    goal = Goal(5.0, peers=())
    for seconds, reached in ((4.0, True), (6.0, False)):
        found = verdict(Record("atc", "command", rounds={"own": [seconds]}), goal)
        assert found is not None
        assert found.reached is reached


def embedded(own: list[float], inside: list[float], name: str = "x") -> Record:
    """Paired; what other processes measured of the own runtime doesn't matter."""
    record = Record(name, "run", rounds={"own": [5 * seconds for seconds in own]})
    for pair in zip(inside, own, strict=True):
        record.add_pair("ascend_in_ort", *pair)
    return record


def test_embedded_excess() -> None:
    def excess(seconds: float) -> float:
        found = embedded_excess(embedded([1e-3], [seconds]))
        assert found is not None
        return found.seconds

    assert excess(1.053e-3) < 0 < excess(1.055e-3)
    assert embedded_excess(Record("x", "run", rounds={"own": [1.0]})) is None


def test_two_processes_say_nothing_about_the_excess() -> None:
    """As the files of earlier versions have them."""
    apart = Record("gelu", "run", rounds={"own": [1e-3], "ascend_in_ort": [1e-3]})
    assert embedded_excess(apart) is None
    assert "In stock onnxruntime" not in table([ROW], results(apart))


def test_an_excess_within_its_noise_decides_nothing() -> None:
    own = [1e-3] * 5
    for inside, beyond, within in (
        ([1.08e-3, 1.09e-3, 1.1e-3, 1.11e-3, 1.12e-3], True, False),
        ([1.0e-3, 1.01e-3, 1.02e-3, 1.0e-3, 1.01e-3], False, True),
        ([0.9e-3, 1.0e-3, 1.07e-3, 1.2e-3, 1.3e-3], False, False),  # 16 us, and 97 us of noise
        ([1.055e-3] * 5, False, False),  # 1 us; agreeing rounds are no surer than 0.3 % of the time
    ):
        found = embedded_excess(embedded(own, inside))
        assert found is not None
        assert (found.beyond, found.within) == (beyond, within)


def test_the_sentence_about_onnxruntime_says_what_is_undecided() -> None:
    def said(inside: float) -> str:
        return table([ROW], results(embedded([1e-3] * 3, [inside] * 3, "gelu")))

    assert "1 of 1 rows take at most 5 % and 4 us longer than in the own runtime. For this" in said(1e-3)
    assert "0 of 1 rows take at most 5 % and 4 us longer than in the own runtime; 1 beyond" in said(1.1e-3)
    assert "1 beyond that: gelu (+46 us ± 3 us)." in said(1.1e-3)
    assert "1 not decidable at this noise: gelu (-2 us ± 3 us)." in said(1.052e-3)
    assert "| 1.1 ms (1 ms) |" in said(1.1e-3)


@pytest.mark.parametrize("shape", [(), (0, 3), (5,), (300, 700)])
def test_feeds_begin_alike(shape: tuple[int, ...], tmp_path: Path) -> None:
    given = {"a": np.full(shape, 2, np.int64), "b": np.full(shape, 3, np.float16)}
    np.savez(tmp_path / "f.npz", **given)  # type: ignore[arg-type]
    found = read_feeds(tmp_path / "f.npz")
    for name, array in given.items():
        assert found[name].dtype == array.dtype
        assert found[name].flags["C_CONTIGUOUS"]
        assert not array.size or found[name].ctypes.data % PAGE == BEHIND  # numpy moves what has no bytes
        np.testing.assert_array_equal(found[name], array)


def test_floors_are_the_tightest_limit() -> None:
    limits = {"move_seconds": 1.0, "flops": 10.0, "bf16_flops": 20.0, "exponentials": 1.0}
    assert floors(Work(100, 0, 0, 5, 0), limits) == {"float32": 1.0, "bfloat16": 0.5}
    assert floors(Work(100, 0, 0, 30, 0), limits) == {"float32": 3.0, "bfloat16": 1.5}
    assert floors(Work(0, 100, 0, 0, 2), limits) == {"float32": 2.0, "bfloat16": 2.0}


def test_results_survive_the_file(tmp_path: Path) -> None:
    given = results(gelu(1.0, jitter=0.1))
    given.save(tmp_path / "r.json")
    assert Results.load(tmp_path / "r.json") == given
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(ValueError, match="no result"):
        Results.load(tmp_path / "other.json")


def test_the_table_goes_between_the_markers(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{SECTIONS[''][0]}\nold\n{SECTIONS[''][1]}\nafter\n")
    text = table([ROW], results(gelu(0.5)))
    write_section(page, SECTIONS[""][0], SECTIONS[""][1], text)
    assert page.read_text() == f"before\n{SECTIONS[''][0]}\n\n{text}\n\n{SECTIONS[''][1]}\nafter\n"
    assert "| GELU [512,1024] | 500 ms | 1 s |" in text
    assert "2.00 (1.7) ✓" in text
    page.write_text("no markers")
    with pytest.raises(ValueError, match="markers"):
        write_section(page, SECTIONS[""][0], SECTIONS[""][1], text)


def test_rows_have_names_of_their_own() -> None:
    names = [row.name for row in ROWS]
    assert len(set(names)) == len(names)
    assert all(row.goals for row in ROWS)
