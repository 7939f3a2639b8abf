"""What broke other loaders and kernels, tried on bundles: each test is named by the CVE of its class.

tests/hostile/test_bundles.py flips bits under AddressSanitizer; these are the attacks as they were made.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from edited_bundles import Edited, edited

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.errors import AscendError
from ascend_ep.runtime._rt import lib

NONE = 2**32 - 1
INDICES = (NONE, NONE - 1, 2**31, 2**31 - 1, 2**16, 63)
SIZES = (2**63, 2**63 - 1, 2**64 - 1, 2**64 - 8, 2**62, 2**32, 2**32 - 1, 2**31)
REFUSED = ("E40002", "E40003", "E40005", "E40006", "E40008", "E40009", "E40012", "E40013")
FEED = {"x": np.ones((3, 4), np.float32), "i": np.array([0, 2])}


def refused(change: Callable[[Edited], None]) -> None:
    """The loader, or the binding to shapes, says no with a code; nothing is computed."""
    with pytest.raises(AscendError) as caught:
        ascend_ep.InferenceSession(edited(change)).run(None, FEED)
    assert caught.value.code in REFUSED, caught.value


def test_the_bundle_runs_as_it_is() -> None:
    y, z = ascend_ep.InferenceSession(edited(lambda e: None)).run(None, FEED)
    assert (y.shape, z.shape) == ((2, 4), (3, 8))


@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize("operand", range(3))
def test_cve_2020_15211_an_index_of_a_tensor_that_is_none(index: int, operand: int) -> None:
    def change(e: Edited) -> None:
        gather = e.rows(lib.ASC_SEC_INSNS, "asc_insn")[1]
        e.rows(lib.ASC_SEC_INDICES, "uint32_t")[gather.first_operand + operand][0] = index

    refused(change)


@pytest.mark.parametrize("field", ["first_operand", "first_int", "kernel", "op_type", "name"])
@pytest.mark.parametrize("index", INDICES[:5])
def test_cve_2020_15211_an_index_of_a_table(field: str, index: int) -> None:
    refused(lambda e: setattr(e.rows(lib.ASC_SEC_INSNS, "asc_insn")[1], field, index))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("field", ["offset", "bytes"])
def test_cve_2025_30404_offset_and_size_that_overflow(field: str, size: int) -> None:
    refused(lambda e: setattr(e.rows(lib.ASC_SEC_WEIGHTS, "asc_weight")[0], field, size))


@pytest.mark.parametrize("size", SIZES)
def test_cve_2025_53630_offsets_of_sections(size: int) -> None:
    def change(e: Edited) -> None:
        e.sections[lib.ASC_SEC_VALUES].offset = size

    refused(change)


@pytest.mark.parametrize("size", SIZES)
def test_cve_2026_27940_counts_of_sections(size: int) -> None:
    def change(e: Edited) -> None:
        e.sections[lib.ASC_SEC_INSNS].count = size

    refused(change)


@pytest.mark.parametrize("stride", [0, 1, 8, 63, 2**31, NONE])
def test_cve_2026_33298_strides_of_sections(stride: int) -> None:
    def change(e: Edited) -> None:
        e.sections[lib.ASC_SEC_VALUES].stride = stride

    refused(change)


@pytest.mark.parametrize("size", [2**63 - 1, 2**62, 2**32, 2**31, -1, -(2**63)])
def test_cve_2022_23558_dims_whose_product_overflows(size: int) -> None:
    def change(e: Edited) -> None:
        for dim in e.rows(lib.ASC_SEC_DIMS, "asc_dim"):
            if dim.op == lib.ASC_DIM_CONST and dim.value == 4:
                dim.value = size

    refused(change)


@pytest.mark.parametrize("rank", [9, 64, 255])
def test_cve_2025_30405_a_rank_beyond_the_arrays(rank: int) -> None:
    refused(lambda e: setattr(e.rows(lib.ASC_SEC_VALUES, "asc_value")[0], "rank", rank))


@pytest.mark.parametrize("bytes_", [1, 4, 31])
def test_cve_2025_54949_fewer_bytes_than_the_shape(bytes_: int) -> None:
    refused(lambda e: setattr(e.rows(lib.ASC_SEC_WEIGHTS, "asc_weight")[1], "bytes", bytes_))


def test_cve_2025_54950_a_type_of_wider_elements() -> None:
    def change(e: Edited) -> None:
        for value in e.rows(lib.ASC_SEC_VALUES, "asc_value"):
            if value.kind == lib.ASC_VALUE_WEIGHT:
                value.dtype = 11  # double

    refused(change)


@pytest.mark.parametrize("dtype", [0, 8, 21, 24, 99, 255])
def test_cve_2025_54951_a_type_that_is_none(dtype: int) -> None:
    refused(lambda e: setattr(e.rows(lib.ASC_SEC_VALUES, "asc_value")[0], "dtype", dtype))


def test_cve_2026_7482_a_value_that_nothing_wrote() -> None:
    """The memory of another run, or of another request, would go out with it."""

    def change(e: Edited) -> None:
        insns = e.rows(lib.ASC_SEC_INSNS, "asc_insn")
        indices = e.rows(lib.ASC_SEC_INDICES, "uint32_t")
        first, last = insns[0], insns[4]
        indices[first.first_operand][0] = indices[last.first_operand][0]

    refused(change)


def test_cve_2026_7482_a_value_that_is_written_twice() -> None:
    def change(e: Edited) -> None:
        insns = e.rows(lib.ASC_SEC_INSNS, "asc_insn")
        indices = e.rows(lib.ASC_SEC_INDICES, "uint32_t")
        at = [i.first_operand + i.n_in for i in insns]
        indices[at[1]][0] = indices[at[0]][0]

    refused(change)


@pytest.mark.parametrize(
    "name", ["../secret", "/etc/passwd", "weight/../../secret", "weight//x", ".", "w\\x"]
)
def test_cve_2024_37032_names_of_files_out_of_the_folder(tmp_path: Path, name: str) -> None:
    text = """<ir_version: 9, opset_import: ["" : 17]> agraph (float[N,2] x) => (float[N,2] y)
    <float[2] w = {1, 2}> { y = Add(x, w) }"""
    path = tmp_path / "m.om"
    options = ConvertOptions(codegen="off", sample_seed=None, external_weight=1)
    convert(onnx.parser.parse_model(text), options).write(path)
    (kept,) = (tmp_path / "weight").iterdir()
    (tmp_path.parent / "secret").write_bytes(kept.read_bytes())
    content = bytearray(path.read_bytes())
    own = f"weight/{kept.name}".encode()
    at = content.index(own + b"\0")
    content[at : at + len(own)] = name.encode().ljust(len(own), b"\0")
    from ascend_ep.plan.writing.writer import stamp

    with memoryview(content) as image:
        stamp(image)
    path.write_bytes(content)
    with pytest.raises(AscendError, match="would not be in the bundle's folder"):
        ascend_ep.InferenceSession(str(path))


@pytest.mark.parametrize("link", ["symbolic", "hard", "folder"])
def test_cve_2026_27489_links_to_files_of_weights(tmp_path: Path, link: str) -> None:
    """Also CVE-2026-34447 and CVE-2026-34446: a link as a folder, and hard links."""
    text = """<ir_version: 9, opset_import: ["" : 17]> agraph (float[N,2] x) => (float[N,2] y)
    <float[2] w = {1, 2}> { y = Add(x, w) }"""
    path, folder = tmp_path / "in" / "m.om", tmp_path / "in" / "weight"
    path.parent.mkdir()
    options = ConvertOptions(codegen="off", sample_seed=None, external_weight=1)
    convert(onnx.parser.parse_model(text), options).write(path)
    (kept,) = folder.iterdir()
    outside = tmp_path / "outside"
    outside.mkdir()
    if link == "folder":
        kept.rename(outside / kept.name)
        folder.rmdir()
        folder.symlink_to(outside)
    elif link == "symbolic":
        kept.rename(outside / "w")
        kept.symlink_to(outside / "w")
    else:
        os.link(kept, outside / "w")
    with pytest.raises(AscendError, match="link") as caught:
        ascend_ep.InferenceSession(str(path))
    assert caught.value.code == "E40002"


SCATTER = """<ir_version: 9, opset_import: ["" : 17]>
agraph (float[4] x, int64[2] i, float[2] u) => (float[4] y) { y = ScatterElements(x, i, u) }"""
SCATTER_ND = """<ir_version: 9, opset_import: ["" : 17]>
agraph (float[4] x, int64[2,1] i, float[2] u) => (float[4] y) { y = ScatterND(x, i, u) }"""
GATHER = """<ir_version: 9, opset_import: ["" : 17]>
agraph (float[4] x, int64[2] i) => (float[2] y) { y = GatherElements(x, i) }"""
GATHER_ND = """<ir_version: 9, opset_import: ["" : 17]>
agraph (float[4] x, int64[2,1] i) => (float[2] y) { y = GatherND(x, i) }"""


@pytest.mark.parametrize("text", [SCATTER, SCATTER_ND, GATHER, GATHER_ND], ids=["se", "snd", "ge", "gnd"])
def test_cve_2020_15212_indices_that_are_data(text: str) -> None:
    """Also CVE-2020-15214: what is written where data says."""
    session = ascend_ep.InferenceSession(convert(onnx.parser.parse_model(text)).to_bytes())
    assert session.get_providers() == ["AscendEP"]
    names = {i.name: i.shape for i in session.get_inputs()}
    feed = {n: np.ones(s, np.float32) for n, s in names.items()}
    for wrong in (4, -5, 2**31, 2**32, 2**62, -(2**63)):
        with pytest.raises(AscendError) as caught:
            session.run(None, feed | {"i": np.full(names["i"], wrong, np.int64)})
        assert caught.value.code == "E40011"
    session.run(None, feed | {"i": np.full(names["i"], 3, np.int64)})


@pytest.mark.parametrize(
    ("body", "given"),
    [
        ("y = ConstantOfShape(s)", [2**31, 2**31]),
        ("y = ConstantOfShape(s)", [2**62, 2]),
        ("y = ConstantOfShape(s)", [-1, 2]),
        ("t = Cast<to = 1>(s) r = Reshape(t, m) y = Expand(r, s)", [2**40, 2**40]),
        ("t = Cast<to = 1>(s) r = Reshape(t, m) y = Tile(r, s)", [2**40, 2**40]),
    ],
)
def test_cve_2020_15213_sizes_that_are_data(body: str, given: list[int]) -> None:
    text = f"""<ir_version: 9, opset_import: ["" : 17]>
    agraph (int64[2] s) => (float[A,B] y) <int64[2] m = {{2, 1}}> {{ {body} }}"""
    session = ascend_ep.InferenceSession(convert(onnx.parser.parse_model(text)).to_bytes())
    with pytest.raises((AscendError, MemoryError)) as caught:
        session.run(None, {"s": np.array(given, np.int64)})
    assert len(str(caught.value)) < 2000
    assert session.run(None, {"s": np.array([2, 1], np.int64)})[0].size
