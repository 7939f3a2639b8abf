"""Programs on AscendCL load bundles and run them: fixed sizes, gears, ranges."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Runner

Convert = Callable[..., Path]
DOUBLE = "m (float[2, 3] x) => (float[2, 3] y) { y = Add(x, x) }"
BATCH = "m (float[N, 3] x) => (float[N, 3] y) { y = Add(x, x) }"
IMAGE = "m (float[1, 1, H, W] x) => (float[1, 1, H, W] y) { y = Add(x, x) }"


def doubled(count: int) -> str:
    return " ".join(f"{2 * i:g}" for i in range(count))


@pytest.mark.parametrize("check", ["0", "1"])
def test_fixed_sizes(run: Runner, convert: Convert, check: str) -> None:
    done = run("infer.c", convert(DOUBLE), ASCEND_EP_ACL_CHECK=check)
    assert (done.status, done.err) == (0, "")
    assert done.out == f"y [2,3] {doubled(6)}\n"


def test_batches(run: Runner, convert: Convert) -> None:
    model = convert(BATCH, "--input_shape=x:-1,3", "--dynamic_batch_size=1,2,4")
    assert run("infer.c", model, "batch", 2).out == f"y [2,3] {doubled(6)}\n"
    assert run("infer.c", model).out == f"y [4,3] {doubled(12)}\n"
    refused = run("infer.c", model, "batch", 3)
    assert refused.status == 1
    assert "145013" in refused.err
    assert "3 is none of the model's gears (1; 2; 4)" in refused.err


def test_image_sizes(run: Runner, convert: Convert) -> None:
    flags = ["--input_shape=x:1,1,-1,-1", "--dynamic_image_size=2,2;3,4", "--input_format=NCHW"]
    assert run("infer.c", convert(IMAGE, *flags), "hw", 2, 2).out == f"y [1,1,2,2] {doubled(4)}\n"
    assert run("infer.c", convert(IMAGE, *flags), "hw", 3, 4).out == f"y [1,1,3,4] {doubled(12)}\n"


def test_sets_of_dims(run: Runner, convert: Convert) -> None:
    flags = ["--input_shape=x:1,1,-1,-1", "--dynamic_dims=2,2;3,4", "--input_format=ND"]
    assert run("infer.c", convert(IMAGE, *flags), "dims", 1, 1, 3, 4).out == f"y [1,1,3,4] {doubled(12)}\n"


def test_ranges(run: Runner, convert: Convert) -> None:
    model = convert(BATCH, "--input_shape=x:-1,3")
    assert run("infer.c", model, "shape", 5, 3).out == f"y [5,3] {doubled(15)}\n"
    assert "aclmdlSetDatasetTensorDesc says which" in run("infer.c", model).err
    assert run("infer.c", model, "sizes").out.split()[-1] == "0"  # known once it ran


def test_an_image_before_static_aipp(run: Runner, convert: Convert, tmp_path: Path) -> None:
    settings = tmp_path / "aipp.cfg"
    settings.write_text(
        "aipp_op { aipp_mode: static input_format: YUV420SP_U8 src_image_size_w: 6 src_image_size_h: 4 }"
    )
    model = convert(
        "m (float[1, 3, 4, 6] x) => (float[1, 3, 4, 6] y) { y = Add(x, x) }", f"--insert_op_conf={settings}"
    )
    assert run("infer.c", model, "sizes").out == f"1 0 1,4,6,3 0 1,6,6,1 36 {4 * 72}\n"


def test_a_model_of_a_device_is_refused(run: Runner, tmp_path: Path) -> None:
    other = tmp_path / "real.om"
    other.write_bytes(b"IMOD" + bytes(500))
    refused = run("infer.c", other)
    assert refused.status == 1
    assert "real.om can't be loaded" in refused.err


def test_no_such_file(run: Runner) -> None:
    assert "145002" in run("infer.c", "none.om").err


def test_an_event_is_reset_before_it_is_reached(run: Runner) -> None:
    assert run("waits.c", "reset").out == "ab 0\n"


def test_an_event_is_recorded_again_in_a_stream_that_is_ahead(run: Runner) -> None:
    assert run("waits.c", "again").out == "[] 1 ab\n"


def test_copies_of_memory_that_is_not_page_locked(run: Runner) -> None:
    assert run("waits.c", "pageable").out == "0 200 7\n"


@pytest.mark.parametrize("check", ["0", "1"])
def test_copies_in_batches(run: Runner, check: str) -> None:
    done = run("batch.c", ASCEND_EP_ACL_CHECK=check)
    assert done.out == (
        "0 0 abz 0 b 1 107000 1 - 100000 100000 100000 1\n"  # what is wrong with one copy, and with the batch
        "0 0 107001 0\n"
    ), done.err


def test_a_limit_of_waits_for_events(run: Runner) -> None:
    assert run("waits.c", "event").out == "0 107019 0 0\n"


def test_streams_of_two_devices_take_turns(run: Runner) -> None:
    done = run("waits.c", "notify", ASCEND_EP_DEVICES="2")
    assert done.out == "0 0 0 107019 abc 1 0 107000\n"


def test_freed_memory_is_kept_for_a_while(run: Runner) -> None:
    assert run("reuse.c").out == "0 1 0 0 107000\n"


@pytest.mark.parametrize("check", ["0", "1"])
def test_random_graphs_compute_what_their_order_says(run: Runner, convert: Convert, check: str) -> None:
    """Streams of three contexts on two devices; tools/test_threads runs many more, under ThreadSanitizer."""
    model = convert("m (int32[16] x) => (int32[16] y) <int32[1] five = {5}> { y = Add(x, five) }")
    done = run("graphs.c", model, 1, 8, 200, 2, ASCEND_EP_DEVICES="2", ASCEND_EP_ACL_CHECK=check)
    assert (done.status, done.out) == (0, "1600\n"), done.out
    misuses = [line for line in done.err.splitlines() if "aclrtProcessReport" not in line]
    assert misuses == []  # that one waits in vain, and for streams yet to come
