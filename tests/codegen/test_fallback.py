"""A bundle with compiled formulas runs anywhere: compiled where that is trusted, else interpreted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from formula_models import conversion_of, session_of

import ascend_ep
from ascend_ep.plan.plan import NativePartition
from ascend_ep.runtime.binding import lib

FORMULA = "t = exp(x - max(x)); y0 = t/sum(t)"
X = np.random.default_rng(0).standard_normal((6, 200), np.float32)
MODEL: Any = (FORMULA, {"x": X}, [1], [X.shape])

pytestmark = pytest.mark.usefixtures("compiler")


def loaded(session: ascend_ep.InferenceSession) -> list[int]:
    bundle = session._executor.bundle
    return [lib.asc_model_native_loaded(bundle.model.pointer, i) for i in range(len(bundle.natives))]


def kernels(session: ascend_ep.InferenceSession) -> set[str]:
    bundle = session._executor.bundle
    return {i.kernel for p in bundle.partitions for i in bundle.instructions(p)}


def test_untrusted_code_is_interpreted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    conversion = conversion_of(tmp_path, "auto", *MODEL)
    (part,) = conversion.plan.partitions
    assert isinstance(part, NativePartition)
    assert part.fallback is not None
    path = tmp_path / "m.om"
    conversion.write(path)
    trusted = ascend_ep.InferenceSession(path)
    assert loaded(trusted) == [1]
    assert kernels(trusted) == {"Tested"}
    expected = trusted.run(None, {"x": X})[0]
    monkeypatch.setenv("ASCEND_EP_TRUST", str(tmp_path / "nobody"))
    untrusted = ascend_ep.InferenceSession(path)
    assert loaded(untrusted) == [0]
    assert kernels(untrusted) == {"elementwise", "reduce"}
    np.testing.assert_array_equal(untrusted.run(None, {"x": X})[0], expected)
    digest = ascend_ep.InferenceSession(path)._executor.bundle.natives[0].sha256
    again = ascend_ep.InferenceSession(path, providers=[("AscendEP", {"trust": f"sha256:{digest}"})])
    assert loaded(again) == [1]


def test_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = session_of(conversion_of(tmp_path, "off", *MODEL))
    assert loaded(session) == []
    monkeypatch.setenv("ASCEND_EP_CODEGEN", "0")
    assert loaded(session_of(conversion_of(tmp_path, "auto", *MODEL))) == []


def test_a_single_step_stays_interpreted(tmp_path: Path) -> None:
    single = ("y0 = tanh(x)", {"x": X}, [1], [X.shape])
    assert loaded(session_of(conversion_of(tmp_path, "auto", *single))) == []
    assert loaded(session_of(conversion_of(tmp_path, "always", *single))) == [1]


def test_an_unusable_cache_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ASCEND_EP_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.warns(RuntimeWarning, match="formulas are interpreted"):
        conversion = conversion_of(tmp_path, "auto", *MODEL)
    assert loaded(session_of(conversion)) == []


def test_a_compiler_that_is_none_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "./pipe")
    with pytest.warns(RuntimeWarning, match=r"formulas are interpreted: \$CC names the compiler \[\./pipe\]"):
        conversion = conversion_of(tmp_path, "auto", *MODEL)
    assert loaded(session_of(conversion)) == []


def test_outputs_let_go_of_are_used_again_and_others_not(tmp_path: Path) -> None:
    x = np.ones((512, 512), np.float32)
    session = session_of(conversion_of(tmp_path, "off", "y0 = x + 1", {"x": x}, [1], [x.shape]))
    first = session.run(None, {"x": x})[0]
    place, part = first.ctypes.data, first[3:]
    del first
    second = session.run(None, {"x": x * 3})[0]
    assert second.ctypes.data != place
    np.testing.assert_array_equal(part, 2)
    del part
    assert session.run(None, {"x": x})[0].ctypes.data == place
    np.testing.assert_array_equal(second, 4)
