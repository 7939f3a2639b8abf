"""tools/kernel_table on a project whose operator a program calls: by its own scripts, in a toolkit."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
from kernel_corpus.aclnn_projects import aclnn_projects_of, run_aclnn_project
from kernel_corpus.found import LICENCES

#: Stands for a build: it needs the toolkit that the presets name, and leaves an installer.
BUILD = """#!/bin/bash
set -e
toolkit=$(grep -o '"/[^"]*"' CMakePresets.json | tr -d '"')
test "$toolkit" -ef "$ASCEND_HOME_PATH"
mkdir build_out
printf '#!/bin/sh\\necho "$1" > "$ASCEND_OPP_PATH/vendors/said"\\n' > build_out/custom_opp_any.run
chmod +x build_out/custom_opp_any.run
"""
RUN = """#!/bin/bash
set -e
test "$(cat "$ASCEND_OPP_PATH/vendors/said")" = --quiet
python3 scripts/verify_result.py > output/said
cat output/said
"""


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    """A folder with an operator and the program that calls it."""
    files = {
        "Add/op_host/add.cpp": "",
        "Add/op_kernel/add.cpp": "",
        "Add/build.sh": BUILD,
        "Add/CMakePresets.json": json.dumps(
            {"configurePresets": [{"cacheVariables": {"ASCEND_CANN_PACKAGE_PATH": {"value": "/nowhere"}}}]}
        ),
        "Call/src/main.cpp": '#include "aclnn_add.h"\n',
        "Call/run.sh": RUN,
        "Call/scripts/verify_result.py": "print('test pass')\n",
        "Other/run.sh": "python3 verify_result.py\n",
    }
    for name, text in files.items():
        path = tmp_path / "sample" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "sample"


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        ("print('test pass')", "right"),
        ("print('[ERROR] result error')", "differs"),
        ("raise SystemExit(2)", "no run"),
    ],
)
def test_the_programs_own_check_decides(sample: Path, said: str, outcome: str) -> None:
    (sample / "Call/scripts/verify_result.py").write_text(said + "\n")
    before = sorted(sample.rglob("*"))
    (project,) = aclnn_projects_of(sample.parent, LICENCES)
    assert (project.operator.name, project.program.name) == ("Add", "Call")
    assert run_aclnn_project(project, "Ascend910B1").outcome == outcome
    assert sorted(sample.rglob("*")) == before


def test_what_a_licence_forbids_is_left(sample: Path) -> None:
    (sample / "Add/op_host/add.cpp").write_text(f"// {LICENCES[0]}\n")
    assert aclnn_projects_of(sample.parent, LICENCES) == []
