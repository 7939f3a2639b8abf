"""Registering: import orders, opting out, old releases, unregistering, the interpreter's end."""

from __future__ import annotations

import pytest
from provider_graphs import run_python

RUN = """
    import numpy as np
    from provider_graphs import two_layers, two_layers_reference
    x = np.ones((3, 8), np.float32)
    s = ort.InferenceSession(two_layers(), providers=["AscendEP"], enable_fallback=0)
    assert s.get_providers()[0] == "AscendEP", s.get_providers()
    assert np.allclose(s.run(None, {"x": x})[0], two_layers_reference(x), atol=1e-5)
"""


def check(code: str, **kwargs: object) -> str:
    done = run_python(code, **kwargs)  # type: ignore[arg-type]
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize(
    "imports", ["import ascend_ep, onnxruntime as ort", "import onnxruntime as ort, ascend_ep"]
)
def test_either_import_order_makes_the_provider_available(imports: str) -> None:
    check(f"    {imports}\n    assert 'AscendEP' in ort.get_available_providers()\n" + RUN)


def test_importing_the_package_imports_neither_onnxruntime_nor_the_compiler() -> None:
    out = check(
        "import sys, ascend_ep; print([m for m in ('onnxruntime', 'onnx', 'onnx_ir') if m in sys.modules])"
    )
    assert out.strip() == "[]"


def test_sessions_alive_at_exit_leave_no_trace() -> None:
    check("    import onnxruntime as ort, ascend_ep\n" + RUN + "    keep = s\n")


def test_registering_twice_is_harmless() -> None:
    check(
        """
    import onnxruntime as ort, ascend_ep
    from ascend_ep.provider import get_library_path, register
    for _ in range(10):
        register(); register(ort)
        try:
            ort.register_execution_provider_library("AscendEP", get_library_path())
        except Exception as error:
            assert "already registered" in str(error)
    assert ort.get_available_providers().count("AscendEP") == 1
    junk = [bytes(n) for n in range(4000)]
"""
        + RUN
    )


def test_opting_out_and_asking_later() -> None:
    check(
        """
        import onnxruntime as ort, ascend_ep
        assert "AscendEP" not in ort.get_available_providers()
        from ascend_ep.provider import register
        register()
        assert "AscendEP" in ort.get_available_providers()
        """,
        env={"ASCEND_EP_REGISTER": "0"},
    )


def test_unregistering_with_a_live_session_and_registering_again() -> None:
    check(
        "    import onnxruntime as ort, ascend_ep\n"
        + RUN
        + """
    from ascend_ep.provider import register, unregister
    for _ in range(20):
        unregister(); register()
    assert np.allclose(s.run(None, {"x": x})[0], two_layers_reference(x), atol=1e-5)
    del s
    assert "AscendEP" in ort.get_available_providers()
"""
        + RUN
    )


def test_a_forked_child_runs_the_parents_session_and_its_own() -> None:
    check(
        "    import os, onnxruntime as ort, ascend_ep\n"
        + RUN
        + """
    child = os.fork()
    if child == 0:
        ok = np.allclose(s.run(None, {"x": x})[0], two_layers_reference(x), atol=1e-5)
        # A new name: destroying the parent's session would join onnxruntime's threads, which a fork loses.
        t = ort.InferenceSession(two_layers(), providers=["AscendEP"], enable_fallback=0)
        ok = ok and np.allclose(t.run(None, {"x": x})[0], two_layers_reference(x), atol=1e-5)
        os._exit(0 if ok else 1)
    assert os.waitpid(child, 0)[1] == 0
"""
    )


def test_the_synthetic_device_captures_no_cpu_policy() -> None:
    out = check(
        """
        import onnxruntime as ort, ascend_ep
        (device,) = [d for d in ort.get_ep_devices() if d.ep_name == "AscendEP"]
        hardware = device.device
        print(hardware.type.name, hex(hardware.vendor_id), hardware.device_id, hardware.metadata)
        from provider_graphs import two_layers
        so = ort.SessionOptions()
        so.set_provider_selection_policy(ort.OrtExecutionProviderDevicePolicy.PREFER_CPU)
        print(ort.InferenceSession(two_layers(), so).get_providers())
        """
    )
    device, providers = out.strip().splitlines()
    assert device.startswith("NPU 0x19e5 0")
    assert "simulated" in device
    assert providers == "['CPUExecutionProvider']"


def test_the_library_registered_without_the_package_runs_nothing_but_says_why() -> None:
    done = run_python(
        """
        import importlib.util, sys
        import onnxruntime as ort
        folder = importlib.util.find_spec("ascend_ep").submodule_search_locations[0]
        ort.register_execution_provider_library("AscendEP", folder + "/lib/libascend_ep.so")
        import numpy as np, os
        s = ort.InferenceSession(sys.argv[1], providers=["AscendEP"])
        print(s.run(None, {"x": np.ones((2, 8), np.float32)})[0].shape)
        """,
        _saved_model(),
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "(2, 4)"
    assert "no compiler in this process" in done.stderr


def _saved_model() -> str:
    import tempfile

    from provider_graphs import two_layers

    with tempfile.NamedTemporaryFile(suffix=".onnx", delete=False) as file:
        file.write(two_layers())
    return file.name


def test_an_old_onnxruntime_is_named_when_the_provider_is_asked_for(tmp_path: object) -> None:
    from pathlib import Path

    root = Path(str(tmp_path)) / "onnxruntime"
    (root / "capi").mkdir(parents=True)
    (root / "__init__.py").write_text(
        "__version__ = '1.23.2'\nfrom onnxruntime.capi import onnxruntime_inference_collection as c\n"
        "InferenceSession = c.InferenceSession\n"
    )
    (root / "capi" / "__init__.py").write_text("")
    (root / "capi" / "onnxruntime_inference_collection.py").write_text(
        "def check_and_normalize_provider_args(providers, options, available):\n"
        "    return providers, options\n"
        "class InferenceSession:\n"
        "    def __init__(self, providers): check_and_normalize_provider_args(providers, None, [])\n"
    )
    done = run_python(
        """
        import warnings, onnxruntime as ort, ascend_ep
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ort.InferenceSession(["CPUExecutionProvider"])
            assert not caught
            ort.InferenceSession([("AscendEP", {})])
        print(caught[0].message)
        try:
            from ascend_ep.provider import register
            register()
        except RuntimeError as error:
            print(error)
        """,
        path=str(root.parent),
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["AscendEP needs onnxruntime >= 1.25; this is 1.23.2"] * 2
