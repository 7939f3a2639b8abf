"""Tries families of the installed transformers: converted and compared with onnxruntime's CPU provider.

Each is made tiny with random weights, exported by PyTorch (by its older exporter where the newer fails),
and run in the own runtime and inside onnxruntime, in a process that is forked for it.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import sys
import tempfile
import traceback
import warnings
from pathlib import Path
from typing import Any

import onnxruntime
import torch
from case_process import TooLong, forked
from model_zoo.agreement import error
from model_zoo.trial import CPU

import ascend_ep
import ascend_ep.provider
from ascend_ep.cli.atc import main as atc
from model_families.inputs import Tensors
from model_families.tiny import First, LeftOut, ways

#: The largest error of a float32 model, relative to the output's magnitude.
ALLOWED = 1e-4
#: Seconds of processor time for one family.
LIMIT = 120
OPSET = 17


def main() -> int:
    parser = argparse.ArgumentParser(prog="transformers_families", description=__doc__)
    parser.add_argument("--only", nargs="*", default=["*"], help="families by name, e.g. 'qwen*'")
    parser.add_argument(
        "--fused",
        action="store_true",
        help="export with transformers' own exporter: free sizes, fused operators",
    )
    parser.add_argument("--json", type=Path, help="write what was found to this file, after each family")
    given = parser.parse_args()
    from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

    chosen = [n for n in MODEL_MAPPING_NAMES if any(fnmatch.fnmatch(n, wanted) for wanted in given.only)]
    found: dict[str, dict[str, Any]] = {}
    for family in chosen:
        found[family] = _forked(family, given.fused)
        print(f"{family}: {_line(found[family])}", flush=True)
        if given.json:
            given.json.write_text(json.dumps(found, indent=1))
    good, wrong, out = (sum(f["verdict"] == v for f in found.values()) for v in ("good", "wrong", "left out"))
    print(f"{good} families agree, {wrong} don't; {out} couldn't be made or exported")
    return 1 if wrong else 0


def _line(found: dict[str, Any]) -> str:
    if found["verdict"] != "good":
        return f"{found['verdict'].upper()}: {found['why']}"
    here, inside = found["errors"]
    operators = ", ".join(found["operators"])
    left = f", {found['left']} left to the CPU provider ({operators})" if found["left"] else ""
    return f"good: error {here:.0e}, in onnxruntime {inside:.0e}, {found['nodes']} nodes{left}"


def _forked(family: str, fused: bool) -> dict[str, Any]:
    found = forked(lambda: _try(family, fused), LIMIT)
    return {"verdict": "wrong", "why": found} if isinstance(found, str) else found


def _try(family: str, fused: bool) -> dict[str, Any]:
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model.onnx")
            try:
                exported = _exported(family, path, fused)
            except TooLong:
                return {"verdict": "left out", "why": f"making and exporting it takes over {LIMIT} s"}
            return _compared(path, *exported)
    except TooLong:
        return {"verdict": "wrong", "why": f"it takes over {LIMIT} s from its export on"}
    except LeftOut as reason:
        return {"verdict": "left out", "why": str(reason)}
    except Exception as failure:
        place = traceback.extract_tb(failure.__traceback__)[-1]
        where = f"{Path(place.filename).name}:{place.lineno}"
        return {"verdict": "wrong", "why": f"{type(failure).__name__}: {failure} ({where})"[:400]}


def _exported(family: str, path: Path, fused: bool) -> tuple[Tensors, str]:
    """Writes the model by the first exporter that has all of it. Its inputs, and what exported it.

    Raises LeftOut where none has a translation.
    """
    why = ""
    exporters = (_by_transformers,) if fused else (_by_dynamo, _by_transformers, _by_tracing)
    for module, inputs in ways(family):
        for exporter in exporters:
            try:
                exporter(module, inputs, path)
                return inputs | {n: torch.tensor(v) for n, v in module.constants.items()}, exporter.__name__[
                    1:
                ]
            except Exception as failure:
                why = why or f"{exporter.__name__[1:]}: {type(failure).__name__}: {failure}"
    raise LeftOut(f"PyTorch doesn't export it {why}"[:300])


def _by_dynamo(module: First, inputs: Tensors, path: Path) -> None:
    values, names = tuple(inputs.values()), list(inputs)
    torch.onnx.export(
        module, values, path, dynamo=True, external_data=False, input_names=names, output_names=["y"]
    )


def _by_transformers(module: First, inputs: Tensors, path: Path) -> None:
    """By the exporter of transformers: sizes stay free, and operators of onnxruntime come in."""
    import onnx_ir
    from transformers.exporters.exporter_onnx import OnnxConfig, OnnxExporter

    given = inputs | {name: torch.tensor(value) for name, value in module.constants.items()}
    settings = OnnxConfig(dynamic=True, ort_fusions="cpu")
    onnx_ir.save(OnnxExporter().export(module.inner, given, settings).program, path)


def _by_tracing(module: First, inputs: Tensors, path: Path) -> None:
    values, names = tuple(inputs.values()), list(inputs)
    free = {name: {0: "batch"} for name in names}
    torch.onnx.export(
        module,
        values,
        path,
        dynamo=False,
        opset_version=OPSET,
        dynamic_axes=free,
        input_names=names,
        output_names=["y"],
    )


def _compared(path: Path, inputs: Tensors, exporter: str) -> dict[str, Any]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    plain = onnxruntime.InferenceSession(str(path), options, providers=CPU)
    feeds = {i.name: inputs[i.name].numpy() for i in plain.get_inputs()}
    expected = plain.run(None, feeds)
    drawn = error(expected, plain.run(None, feeds)) > 0
    session = onnxruntime.InferenceSession(str(path), options, providers=["AscendEP", *CPU])
    report = ascend_ep.provider.report(session)
    inside = error(expected, session.run(None, feeds))
    target = path.with_suffix("")
    command = [f"--model={path}", "--framework=5", f"--output={target}", "--soc_version=Ascend910B3"]
    if status := atc([*command, "--precision_mode_v2=origin"]):
        return {"verdict": "wrong", "why": f"ascend-atc ended with {status}"}
    here = error(expected, ascend_ep.InferenceSession(f"{target}.om").run(None, feeds))
    found = {"errors": [here, inside], "nodes": len(report.placements), "left": len(report.on_cpu)}
    found |= {"operators": sorted({p.op_type for p in report.on_cpu}), "exporter": exporter}
    if drawn:
        return {"verdict": "left out", "why": "it converts and runs, but draws its results", **found}
    if max(here, inside) > ALLOWED:
        return {"verdict": "wrong", "why": f"errors of {here:.0e}, in onnxruntime {inside:.0e}", **found}
    return {"verdict": "good", **found}


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    sys.exit(main())
