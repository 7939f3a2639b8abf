"""The documents' PyTorch extensions, beside the unmodified torch_npu: operators built here, found by
EXEC_NPU_CMD, and a bundle that an extension loads by AscendCL."""

from __future__ import annotations

import json
import shutil
import subprocess
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from ascend_ep.cli.op import main
from ascend_ep.codegen.header_text import HEADERS
from ascend_ep.opbuild.ascendc.cpp import LIBRARIES, find_cpp
from ascend_ep.opbuild.kernels.aclnn_sources import header_name, header_text, source_text
from ascend_ep.opdef.loader import load_definitions

from .test_torch_npu import run, torch_npu  # noqa: F401

PRINTED = Path(__file__).parent / "programs" / "printed" / "torch"
INNER = "t = tanh(0.7978845608*(x + 0.044715*x*x*x))"
GELU = {
    "GeluCustom": f"def GeluCustom(x):\n    {INNER}\n    return 0.5*x*(1 + t)\n",
    "GeluCustomBackward": f"def GeluCustomBackward(dy, x):\n    {INNER}\n"
    "    return dy*(0.5*(1 + t) + 0.5*x*(1 - t*t)*0.7978845608*(1 + 0.134145*x*x))\n",
}
ADD = "m (float[1024] x, float[1024] y) => (float[1024] z) { z = Add(x, y) }"


@pytest.fixture(scope="module")
def operators(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vendor's folder with the two operators, as custom_opp_*.run makes it."""
    folder = tmp_path_factory.mktemp("gelu")
    sources = []
    for name, text in GELU.items():
        shapes = ";".join(["[4,256]"] * (1 + text.startswith("def GeluCustomBackward")))
        built = ["build", "--prompt", text, "--input_shape", shapes, "--dtype", "float16", "--search", "0"]
        assert main([*built, "--output", str(folder), "--output_name", name]) == 0
        made = folder / f"{name}.json"  # of a package: it names its library in the place of the formula
        definition = json.loads(made.read_text())
        definition["library"] = f"{name}.so"
        del definition["formula"]
        made.write_text(json.dumps(definition))
        opdef = load_definitions(made)[0]
        (folder / header_name(opdef.op)).write_text(header_text(opdef))
        source = folder / f"aclnn_{name}.cpp"
        source.write_text(source_text(opdef, made, folder / f"{name}.so"))
        sources.append(str(source))
    library = folder / "op_api" / "lib" / "libcust_opapi.so"
    library.parent.mkdir(parents=True)
    words = ["-std=c++11", "-fPIC", "-shared", "-fvisibility=hidden", f"-I{HEADERS}", f"-I{folder}"]
    linked = [f"-L{LIBRARIES}", f"-Wl,-rpath,{LIBRARIES}", "-lascendcl", "-o", str(library)]
    subprocess.run([*find_cpp(), *words, *sources, *linked], check=True, timeout=120)
    return folder


@pytest.fixture
def extension(toolkit: Path, torch_npu: Path, tmp_path: Path) -> Callable[[str], str]:  # noqa: F811
    """Builds a source beside the programs of the documents; what the compiler says."""
    if not find_cpp() or shutil.which(find_cpp()[0]) is None:
        pytest.skip("no C++ compiler is installed")
    from torch.utils.cpp_extension import include_paths, library_paths

    def built(name: str) -> str:
        # torch_npu brings AscendCL's headers along
        of_npu = [torch_npu / "torch_npu" / "include"] if "gelu" in name else []
        include = [*of_npu, toolkit / "include", sysconfig.get_path("include")]
        words = [*find_cpp(), "-std=c++20", "-O0", "-fPIC", "-shared", f"-DTORCH_EXTENSION_NAME={name}"]
        words += [f"-I{p}" for p in [*include, *include_paths()]]
        words += [f"-L{p}" for p in (torch_npu / "torch_npu" / "lib", toolkit / "lib64", *library_paths())]
        libraries = [f"-l{n}" for n in ("torch_python", "torch", "torch_cpu", "c10", "torch_npu", "ascendcl")]
        command = [*words, str(PRINTED / f"{name}.cpp"), "-o", str(tmp_path / f"{name}.so"), *libraries]
        done = subprocess.run(command, capture_output=True, text=True, timeout=900)
        assert done.returncode == 0, done.stderr[-4000:]
        for program in PRINTED.glob("*.py"):
            shutil.copy(program, tmp_path)
        return done.stderr

    return built


@pytest.mark.slow
def test_operators_of_ones_own(
    toolkit: Path,
    torch_npu: Path,  # noqa: F811
    operators: Path,
    extension: Callable[[str], str],
    tmp_path: Path,
) -> None:
    said = extension("gelu_extension")
    assert "at::Tensor has no is_npu(); write is_privateuseone()" in said
    assert "c10::DispatchKey has no NPU; write PrivateUse1" in said
    opp = {"ASCEND_CUSTOM_OPP_PATH": str(operators)}
    printed = run(toolkit, torch_npu, "python", str(tmp_path / "gelu.py"), **opp)
    errors = [float(line.split()[-1]) for line in printed.splitlines() if " error: " in line]
    assert len(errors) == 3
    assert max(errors) < 2e-3  # of tanh's form, in float16
    assert float(run(toolkit, torch_npu, "python", str(tmp_path / "gradients.py"), **opp)) < 2e-3


@pytest.mark.slow
def test_a_bundle_that_an_extension_loads(
    toolkit: Path,
    torch_npu: Path,  # noqa: F811
    convert: Callable[..., Path],
    extension: Callable[..., str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = extension("torch_ascend_ops")
    assert "write aclrtMalloc(&address, size, policy)" in said
    shutil.copy(convert(ADD), tmp_path / "custom_add.om")
    monkeypatch.chdir(tmp_path)
    device, apart = run(toolkit, torch_npu, "python", str(tmp_path / "add.py")).split()
    assert (device, float(apart)) == ("npu:0", 0)
