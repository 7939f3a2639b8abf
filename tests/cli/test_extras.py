"""An installation without extras: each command that needs one names it in one line, and the run side runs."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import ascend_ep
from ascend_ep.extras import EXTRAS, NEEDED, lacking

ROOT = Path(__file__).parents[2]
#: Python without the modules of extras; then what follows.
BARE = "import sys; sys.modules.update(dict.fromkeys({absent!r})); "
START = "from ascend_ep.cli.{module} import main; sys.exit(main({words!r}))"


def bare(module: str, *words: str) -> tuple[int, str]:
    code = BARE.format(absent=sorted(NEEDED)) + START.format(module=module, words=list(words))
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("module", "words", "extra"),
    [
        ("atc", ["--model=m.onnx", "--framework=5", "--output=m", "--soc_version=Ascend910B3"], "convert"),
        (
            "atc",
            [f"--model={__file__}", "--framework=3", "--output=m", "--soc_version=Ascend910B3"],
            "tensorflow",
        ),
        ("op", ["explain", "Swish"], "convert"),
        ("op", ["build", "--prompt", "F(x) = 2 * x", "--output", "out"], "convert"),
        ("om", ["diff", "m.om", "m.onnx"], "convert"),
        *(("om", [name, __file__], "convert") for name in ("inspect", "verify", "run", "bench", "trust")),
        ("om", ["quantize", "m.onnx", "--data", "samples"], "convert"),
        ("serve", ["--model-repository=."], "serve"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_the_extra_is_named(
    module: str, words: list[str], extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ASCEND_EP_TENSORFLOW_PYTHON", raising=False)
    status, said = bare(module, *words)
    assert status not in (0, None)
    assert f'pip install "ascend-ep[{extra}]"' in said
    assert "Traceback" not in said
    assert "E19999" not in said


@pytest.mark.parametrize(
    "words", [["doctor"], ["config", "--libs"], ["--version"]], ids=lambda words: words[0]
)
def test_what_needs_none(words: list[str]) -> None:
    status, said = bare("ep", *words)
    assert "Traceback" not in said
    assert status == 0 or "WRONG" in said


def test_every_module_belongs_to_an_extra_that_exists() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for _, what in NEEDED.values():
        named = re.fullmatch(r"ascend-ep\[(\w+)\]", what)
        assert named is None or named[1] in extras


def test_a_module_that_a_users_program_lacks_is_its_own() -> None:
    """ais_bench's programs and pyACL's run in this process."""
    absent = 'raise ModuleNotFoundError("No module named torch", name="torch")'
    here = str(Path(ascend_ep.__file__).with_name("any.py"))
    for file, ours in (("/home/me/program.py", False), (here, True)):
        with pytest.raises(ModuleNotFoundError) as caught:
            exec(compile(absent, file, "exec"))
        assert (lacking(caught.value) is not None) is ours


def test_extras_are_those_of_the_project() -> None:
    """The same packages and least versions, but for those that only some of it needs."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for name, extra in EXTRAS.items():
        asked: dict[str, tuple[int, ...]] = {}
        for line in project[name]:
            found = re.match(r"([\w-]+)(?:\[([\w,]+)\])?(?:>=([\d.]+))?", line)
            assert found is not None, line
            if found[1] == "ascend-ep":
                assert set(found[2].split(",")) < EXTRAS.keys()
            else:
                asked[found[1]] = tuple(map(int, [*found[3].split("."), "0"][:2]))
        missing = asked.keys() - extra.packages.keys()
        assert missing <= {"uvloop", "protobuf", "onnxscript", "tensorflow"}  # or tensorflow-cpu
        assert extra.packages == {n: v for n, v in asked.items() if n in extra.packages}


def test_a_package_behind_a_link_names_the_extra(tmp_path: Path) -> None:
    """As installations that keep one copy of each package link it."""
    assert ascend_ep.__file__ is not None
    (tmp_path / "ascend_ep").symlink_to(Path(ascend_ep.__file__).parent)
    code = f"sys.path.insert(0, {str(tmp_path)!r}); "
    code = BARE.format(absent=sorted(NEEDED)) + code
    code += START.format(module="om", words=["quantize", "m.onnx", "--data", "samples"])
    (tmp_path / "m.onnx").write_bytes(b"")
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False, timeout=60
    )
    assert 'pip install "ascend-ep[convert]"' in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("program", "extra"),
    [
        ("import ascend_ep.backend", "convert"),
        ("import ascend_ep; ascend_ep.convert('m.onnx')", "convert"),
        ("import ascend_ep; ascend_ep.quantize('m.onnx', [])", "convert"),
        ("import ascend_ep.frameworks.torch", "torch"),
        ("import ascend_ep.frameworks.torch.backend", "torch"),
        ("import ascend_ep.serving.ray", "ray"),
        ("import ascend_ep; ascend_ep.InferenceSession('m.onnx')", "onnxruntime"),
        ("import ascend_ep.provider; ascend_ep.provider.session('m.onnx')", "onnxruntime"),
    ],
    ids=lambda value: value,
)
def test_a_program_is_told_the_extra(program: str, extra: str, tmp_path: Path) -> None:
    """By what it ends with."""
    (tmp_path / "m.onnx").write_bytes(b"")
    code = BARE.format(absent=sorted(NEEDED)) + program
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False, timeout=60
    )
    last = done.stderr.rpartition("ascend_ep.errors.AscendError: ")[2]
    assert re.match(r"E400[12]0: ", last), done.stderr
    assert f'pip install "ascend-ep[{extra}]"' in last


@pytest.mark.parametrize("call", ["register('Swish')", "compile(None)"])
def test_pytorch_is_named_when_the_converter_is_there(call: str) -> None:
    absent = ["torch", "onnxscript"]
    code = f"{BARE.format(absent=absent)}import ascend_ep.frameworks.torch as t; t.{call}"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert 'pip install "ascend-ep[torch]"' in done.stderr.strip().splitlines()[-1]
