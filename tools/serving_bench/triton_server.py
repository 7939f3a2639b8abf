"""Triton itself, as far as a package index has it: the wheel of PyTriton holds the server with its Python
backend (its onnxruntime and OpenVINO backends come in container images only), which runs onnxruntime here."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from .cases import Served
from .launch import RIVALS, Launch

CONFIG = """\
name: "{name}"
backend: "python"
max_batch_size: 0
input [ {{ name: "x" data_type: TYPE_FP32 dims: [ {dims} ] }} ]
output [ {{ name: "probabilities" data_type: TYPE_FP32 dims: [ 1, 10 ] }} ]
instance_group [ {{ count: 1 kind: KIND_CPU }} ]
"""
FACTS = """\
import sys, sysconfig
print(sysconfig.get_path("purelib"), "%d.%d" % sys.version_info[:2], sysconfig.get_config_var("LIBDIR"))"""


def triton(python: str, port: int, served: Served, work: Path) -> Launch:
    """The binary in the wheel on a repository of models in Python."""
    told = subprocess.run([python, "-c", FACTS], capture_output=True, text=True, check=True).stdout
    packages, release, libraries = told.split()
    wheel = Path(packages, "pytriton", "tritonserver")
    folder = work.resolve() / "triton"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(wheel / "backends", folder / "backends")
    stub = wheel / "python_backend_stubs" / release / "triton_python_backend_stub"
    shutil.copy(stub, folder / "backends" / "python")
    for name, x in served.inputs.items():
        version = folder / "models" / name / "1"
        version.mkdir(parents=True)
        dims = ", ".join(map(str, x.shape))
        (version.parent / "config.pbtxt").write_text(CONFIG.format(name=name, dims=dims))
        shutil.copy(served.onnx / f"{name}.onnx", version / "model.onnx")
        shutil.copy(RIVALS / "triton_model.py", version / "model.py")
    command = [str(wheel / "bin" / "tritonserver"), f"--model-repository={folder / 'models'}"]
    command += [f"--backend-directory={folder / 'backends'}", "--http-address=127.0.0.1"]
    command += [f"--http-port={port}", "--http-thread-count=2", "--allow-grpc=false", "--allow-metrics=false"]
    shared = os.pathsep.join([f"{packages}/nvidia_pytriton.libs", libraries])
    return Launch(command, folder, {"LD_LIBRARY_PATH": shared, "BENCH_PACKAGES": packages})
