"""What pyproject.toml says of the distribution: true of the tree, and what an index would take."""

from __future__ import annotations

import importlib
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

import _ascend_ep_start
from ascend_ep.cli import completion, ep

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = SETTINGS["project"]
SCRIPTS = PROJECT["scripts"]


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_command_is_a_function(name: str) -> None:
    module, _, function = SCRIPTS[name].partition(":")
    assert callable(getattr(importlib.import_module(module), function))


def test_every_command_has_a_script_and_completion() -> None:
    names = {f"ascend-{name.replace('_', '-')}" for name in _ascend_ep_start.MODULES}
    assert set(SCRIPTS) == names
    assert {key.split()[0] for key, _ in completion._words(ep.command_parser())} == names


def test_what_an_index_shows_is_there() -> None:
    assert (ROOT / PROJECT["readme"]).is_file()
    assert all((ROOT / name).is_file() for name in PROJECT["license-files"])
    for key in ("description", "keywords", "classifiers", "authors", "license", "requires-python"):
        assert PROJECT[key], key
    assert len(PROJECT["description"]) < 512
    assert "\n" not in PROJECT["description"]


def test_versions_of_python_are_said_once() -> None:
    least = PROJECT["requires-python"].removeprefix(">=")
    named = [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if re.search(r"Python :: 3\.", c)]
    assert min(named, key=lambda version: tuple(map(int, version.split(".")))) == least
    tag = "cp" + least.replace(".", "")
    assert SETTINGS["tool"]["scikit-build"]["wheel"]["py-api"] == tag
    assert all(build.startswith(f"{tag}-manylinux_") for build in SETTINGS["tool"]["cibuildwheel"]["build"])


def test_requirements_can_be_read_and_extras_name_extras() -> None:
    requirements = pytest.importorskip("packaging.requirements")
    extras = PROJECT["optional-dependencies"]
    for text in [*PROJECT["dependencies"], *(t for texts in extras.values() for t in texts)]:
        found = requirements.Requirement(text)
        if found.name == PROJECT["name"]:
            assert found.extras <= set(extras), text
    for page in ("README.md", "README.zh.md"):
        for named in re.findall(r'pip install "\.\[([\w,]+)\]"', (ROOT / page).read_text()):
            assert set(named.split(",")) <= set(extras), page


def test_the_root_of_the_package_is_typed() -> None:
    package, start = SETTINGS["tool"]["scikit-build"]["wheel"]["packages"]
    assert (ROOT / package / "py.typed").is_file()
    assert {entry.partition(":")[0] for entry in SCRIPTS.values()} == {start}


def test_what_a_source_distribution_takes_is_source() -> None:
    """All that git tracks, which once had a profile among it that a test had left behind."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("this is no working copy of git")
    root = {name.partition("/")[0] for name in listed.stdout.splitlines() if not name.startswith(".")}
    folders = {name for name in root if (ROOT / name).is_dir()}
    named = (ROOT / "docs/architecture.md").read_text()
    assert {f for f in folders if not re.search(rf"`{f}/?[`/]", named)} == {"docs"}
