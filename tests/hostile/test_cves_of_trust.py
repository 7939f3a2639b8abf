"""Ways to have native code run that nobody trusts here: each test is named by the CVE of its class."""

from __future__ import annotations

import contextlib
import logging
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import onnx.parser
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ascend_ep
from ascend_ep.codegen.compilers import has_compiler
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.errors import AscendError
from ascend_ep.runtime import trust

TEXT = """<ir_version: 8, opset_import: ["": 17]>
agraph (float[N, 64] x) => (float[N, 64] y) { s = Sigmoid(x) m = Mul(x, s) y = Tanh(m) }"""
FEED = {"x": np.linspace(-2, 2, 64, dtype=np.float32).reshape(1, 64)}


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With generated code that its maker trusts, and nobody here."""
    if not has_compiler():
        pytest.skip("there is no C compiler")
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASCEND_EP_TRUST", str(folder / "of-its-maker"))
        patch.setenv("ASCEND_EP_CACHE", str(folder / "cache"))
        patch.delenv("ASCEND_EP_CODEGEN", raising=False)
        convert(onnx.parser.parse_model(TEXT), ConvertOptions(codegen="always")).write(folder / "m.om")
    return folder / "m.om"


@pytest.fixture(autouse=True)
def nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_EP_TRUST", str(tmp_path / "trust"))


def refused(bundle: Path, **options: object) -> bool:
    """Whether the code isn't loaded: the session says that it interprets, or isn't opened."""
    try:
        session = ascend_ep.InferenceSession(str(bundle), provider_options=[options] if options else None)
    except AscendError:
        return True
    session.run(None, FEED)
    return len(session.bundle.refused_natives) == len(session.bundle.natives) > 0


@pytest.mark.parametrize(
    "word", ["*", "ALL", "all,", "true", "1", "sha256:", "sha256:*", "sha256:" + "0" * 64, "", " "]
)
def test_cve_2026_28500_one_word_means_everybody(bundle: Path, word: str) -> None:
    """That is "all", and no other."""
    assert refused(bundle, trust=word)
    assert refused(bundle, trust=word, native_code="1")


def test_cve_2026_28500_to_say_nothing_is_not_to_trust(bundle: Path) -> None:
    """onnx asked before it loaded a model of a stranger, and with silent=True neither asked nor refused."""
    options = ascend_ep.SessionOptions()
    options.log_severity_level = 4
    logger = logging.getLogger("ascend_ep")
    level = logger.level
    try:
        logger.setLevel(logging.CRITICAL)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            session = ascend_ep.InferenceSession(str(bundle), options)
            session.run(None, FEED)
    finally:
        logger.setLevel(level)
    assert len(session.bundle.refused_natives) == len(session.bundle.natives) > 0


#: How it would be trusted.
WHOLE = "sha256 {digest}\n"
PROGRAM = """
import sys, ascend_ep
session = ascend_ep.InferenceSession(sys.argv[1])
print(len(session.bundle.natives), len(session.bundle.refused_natives))
"""


@pytest.mark.parametrize(
    "line",
    [
        WHOLE,
        "sha256 {digest}",
        "SHA256 {digest}\n",
        " sha256 {digest}\n",
        "sha256 {digest}0\n",
        "sha256 {short}\n",
        "sha256 {other}\n#\rsha256 {digest}\n",
        "sha256 {other} \x00\nsha256 {digest}x\n",
        "sha256 {wild}\n",
        "sha256\t{digest}\x0b\n",
    ],
    ids=range(10),
)
def test_cve_2026_28500_lines_of_the_store(bundle: Path, tmp_path: Path, line: str) -> None:
    """What is trusted is a whole line with the digest; C and Python read the store alike."""
    digests = [native.sha256 for native in ascend_ep.InferenceSession(str(bundle)).bundle.natives]
    lines = [line.format(digest=d, short=d[:-1], other="0" * 64, wild="*" * 64) for d in digests]
    store = tmp_path / "trust"
    store.write_bytes("".join(lines).encode())
    store.chmod(0o600)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(bundle)], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    natives, kept_out = map(int, done.stdout.split())
    assert natives == len(digests)
    assert kept_out == len(set(digests) - trust.trusted())
    assert (kept_out == 0) == (line in (WHOLE, f" {WHOLE}"))


@pytest.mark.parametrize("kind", ["others may write", "a link", "a folder", "a pipe", "another's"])
def test_cve_2026_28500_stores_that_count_for_nothing(bundle: Path, tmp_path: Path, kind: str) -> None:
    natives = ascend_ep.InferenceSession(str(bundle)).bundle.natives
    store = tmp_path / "trust"
    content = "".join(WHOLE.format(digest=native.sha256) for native in natives).encode()
    if kind == "a folder":
        store.mkdir()
    elif kind == "a pipe":
        os.mkfifo(store)
    else:
        target = store if kind != "a link" else tmp_path / "elsewhere"
        target.write_bytes(content)
        target.chmod(0o622 if kind == "others may write" else 0o600)
        if kind == "a link":
            target.chmod(0o666)
            store.symlink_to(target)
        if kind == "another's":
            if os.getuid() != 0:
                pytest.skip("only root gives files away")
            os.chown(store, 65534, 65534)
    assert refused(bundle)


PIECES = (
    "sha256",
    "{0}",
    "{1}",
    "{short}",
    "{zero}",
    " ",
    "\t",
    "\n",
    "\r",
    "\x0b",
    "\x0c",
    "\0",
    "\x85",
    "\u2028",
    "#",
)


@settings(max_examples=120)
@given(st.lists(st.one_of(st.just(WHOLE.format(digest="{0}")), st.sampled_from(PIECES)), max_size=8))
def test_both_readers_of_the_store_agree(bundle: Path, pieces: list[str]) -> None:
    """What C loads is what Python lists; and to trust adds what both then find, or says that it can't."""
    digests = [native.sha256 for native in ascend_ep.InferenceSession(str(bundle)).bundle.natives]
    text = "".join(pieces).format(*digests, short=digests[0][:-1], zero="0" * 64)
    store = trust.store_path()
    store.write_bytes(text.encode())
    store.chmod(0o600)

    def loaded() -> set[str]:
        opened = ascend_ep.InferenceSession(str(bundle)).bundle
        return set(digests) - {native.sha256 for native in opened.refused_natives}

    assert loaded() == trust.trusted() & set(digests)
    with contextlib.suppress(AscendError):
        trust.trust([(digest, "") for digest in digests])
        assert loaded() == set(digests)


@pytest.mark.parametrize("kind", ["others may write", "too large", "a zero byte"])
def test_to_trust_says_when_it_counts_for_nothing(bundle: Path, kind: str) -> None:
    store = trust.store_path()
    store.write_bytes({"too large": b"\n" * (1 << 20) + b"\n", "a zero byte": b"\0\n"}.get(kind, b""))
    store.chmod(0o622 if kind == "others may write" else 0o600)
    natives = ascend_ep.InferenceSession(str(bundle)).bundle.natives
    with pytest.raises(AscendError) as caught:
        trust.trust([(native.sha256, "") for native in natives])
    assert caught.value.code == "E40002"
    assert refused(bundle)
