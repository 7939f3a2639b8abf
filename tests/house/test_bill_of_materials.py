"""The bill of materials that a wheel carries (PEP 770)."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


def made() -> dict[str, Any]:
    spec = importlib.util.spec_from_file_location("sbom", ROOT / "native" / "cmake" / "sbom.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found: dict[str, Any] = module.bill(project, "GNU 12.2.0")
    return found


def test_it_names_what_the_package_needs() -> None:
    bill = made()
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    parts = {c["name"]: c for c in bill["components"]}
    assert {n for n, c in parts.items() if c["scope"] == "required"} == {"numpy", "cffi"}
    assert {"onnx", "onnxruntime", "grpcio", "torch", "libjpeg"} <= parts.keys()
    assert "ascend-ep" not in parts
    assert parts["onnx"]["properties"][0]["value"] == ">=1.21,<2"
    assert parts["uvloop"]["properties"][0]["value"] == ">=0.21,<1"
    references = {c["bom-ref"] for c in bill["components"]}
    assert set(bill["dependencies"][0]["dependsOn"]) == references


def test_an_installed_wheel_carries_it() -> None:
    try:
        files = importlib.metadata.files("ascend-ep") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    if not any(f.name == "WHEEL" for f in files):
        pytest.skip("the package isn't installed from a wheel")
    (found,) = [f for f in files if f.parent.name == "sboms"]
    assert json.loads(found.read_text())["metadata"]["component"] == made()["metadata"]["component"]
