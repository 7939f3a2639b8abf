"""Bundles that older trees wrote load in this one, and give the same bits.

Each folder here is a set of write.py, named after the commit whose tree wrote it.
"""

from __future__ import annotations

import platform
import struct
from pathlib import Path

import numpy as np
import pytest
from cases import CASES
from write import Arrays, runs, stored

import ascend_ep
from ascend_ep.errors import AscendError
from ascend_ep.plan.writing.writer import stamp
from ascend_ep.runtime.binding import lib

HERE = Path(__file__).parent
SETS = sorted(folder for folder in HERE.iterdir() if next(folder.glob("*.om"), None))
BUNDLES = [bundle for folder in SETS for bundle in sorted(folder.glob("*.om"))]
#: Where a level rounds otherwise than the baseline: a few ulp in float32; bfloat16 has 8 bits, and sums of
#: 48 products of it follow one another.
TOLERANCE, TOLERANCE_OF_BFLOAT16 = 2e-4, 5e-2


def by_folder(bundle: Path) -> str:
    return f"{bundle.parent.name}-{bundle.stem}"


def name_of(folder: Path) -> str:
    return folder.name


def differing(wanted: Arrays, found: Arrays) -> list[str]:
    """Outputs of which a bit differs."""
    return [
        name
        for name, array in wanted.items()
        if (array.dtype, array.shape, array.tobytes())
        != (found[name].dtype, found[name].shape, found[name].tobytes())
    ]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the results are those of x86-64 without FMA")
@pytest.mark.parametrize("bundle", BUNDLES, ids=by_folder)
def test_old_bundles_give_the_same_bits(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_EP_CPU", "baseline")
    wanted = stored(bundle.with_suffix(".npz"))
    found = list(runs(bundle, [given for given, _ in wanted]))
    assert len(found) == len(wanted)
    for (_, before), (_, now) in zip(wanted, found, strict=True):
        assert not differing(before, now)


@pytest.mark.parametrize("bundle", BUNDLES, ids=by_folder)
def test_old_bundles_run_at_this_machines_level(bundle: Path) -> None:
    wanted = stored(bundle.with_suffix(".npz"))
    bound = TOLERANCE_OF_BFLOAT16 if bundle.stem == "bfloat16" else TOLERANCE
    for (_, before), (_, now) in zip(wanted, runs(bundle, [given for given, _ in wanted]), strict=True):
        for name, array in before.items():
            # An int8 or float16 next to a boundary may fall on its other side.
            step = 1 if array.dtype == np.uint8 else 2e-3 if array.dtype == np.float16 else 0
            np.testing.assert_allclose(now[name], array, rtol=bound, atol=bound + step, err_msg=name)


@pytest.mark.parametrize("folder", SETS, ids=name_of)
def test_sets_are_whole(folder: Path) -> None:
    """A bundle of each case that the folder's commit knew, with its runs, in few bytes."""
    assert {b.stem for b in folder.glob("*.om")} == {b.stem for b in folder.glob("*.npz")}
    assert {b.stem for b in folder.glob("*.om")} <= {case.name for case in CASES}
    assert sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) < 1_500_000


def of_version(version: int, min_reader: int) -> bytes:
    """A golden bundle whose plan says that it is of this version, for readers from `min_reader` on."""
    image = bytearray((SETS[0] / "half.om").read_bytes())
    at = image.index(struct.pack("<IH", lib.ASC_PLAN_MAGIC, lib.ASC_PLAN_VERSION))
    struct.pack_into("<HH", image, at + 4, version, min_reader)
    stamp(memoryview(image))
    return bytes(image)


@pytest.mark.parametrize("version", [lib.ASC_PLAN_VERSION, lib.ASC_PLAN_VERSION + 1])
def test_newer_bundle_is_refused_with_what_to_do(version: int) -> None:
    newer = lib.ASC_READER_VERSION + 1
    sentence = f"the plan needs reader version {newer}, this is version {newer - 1}; update ascend-ep"
    with pytest.raises(AscendError, match=sentence) as refused:
        ascend_ep.InferenceSession(of_version(version, newer))
    assert refused.value.code == "E40005"


def test_newer_plan_that_asks_for_this_reader_loads() -> None:
    """`version` alone refuses nothing."""
    for version in (lib.ASC_PLAN_VERSION, lib.ASC_PLAN_VERSION + 1):
        session = ascend_ep.InferenceSession(of_version(version, lib.ASC_READER_VERSION))
        assert session.get_inputs()
