"""One step of a trial, in a process of its own: `python -m model_zoo.trial STEP FOLDER`, the answer as JSON.

The folder holds `trial.json` (the model's name and path) and what earlier steps wrote: `feeds_N.npz` and
`expected_N.npz`, the inputs and what onnxruntime's CPU provider made of them, and where the inputs are small
`others_N.npz`, more of those sizes, [n, *shape].
"""

from __future__ import annotations

import json
import math
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: Bytes that a step may allocate: a guard for the machine, not a goal.
LIMIT = 12 << 30
#: Bytes of inputs that take turns when the speed is measured.
OTHERS = 1 << 20
THREADS = 2
CPU = ["CPUExecutionProvider"]


class Step:
    def __init__(self, folder: Path) -> None:
        said = json.loads((folder / "trial.json").read_text())
        self.folder, self.path, self.name = folder, said["path"], said["name"]

    def reference(self) -> dict[str, Any]:
        """Draws the inputs and runs onnxruntime's CPU provider: files for the other steps."""
        import numpy as np

        from model_zoo.agreement import plain
        from model_zoo.catalogue import MODELS
        from model_zoo.inputs import DRAWS, draw

        model = next(m for m in MODELS if m.name == self.name)
        session = self._onnxruntime(self.path, CPU)
        slots = slots_of(session)
        sizes, peaks = [], []
        for turn in range(DRAWS):
            feeds = draw(slots, model.axes, model.rules, turn)
            outputs = [array for o in session.run(None, feeds) for array in plain(o)]
            np.savez(self.folder / f"feeds_{turn}.npz", **feeds)  # type: ignore[arg-type]
            np.savez(self.folder / f"expected_{turn}.npz", *outputs)
            others = [
                draw(slots, model.axes, model.rules, turn, seed) for seed in range(1, _others(feeds) + 1)
            ]
            if others:
                stacked = {name: np.stack([other[name] for other in others]) for name in feeds}
                np.savez(self.folder / f"others_{turn}.npz", **stacked)  # type: ignore[arg-type]
            sizes.append({name: list(array.shape) for name, array in feeds.items()})
            peaks.append(peak_memory())
        return {"sizes": sizes, "peaks": peaks}

    def spread(self) -> dict[str, Any]:
        """How far onnxruntime is from itself, by draw: without its optimisations, and with inputs and weights
        that differ in their last bit. Where a model amplifies these, nobody can be closer to it than that."""
        import onnxruntime

        off = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        others = [
            self._compare(self._onnxruntime(self.path, CPU, off)),
            self._compare(self._onnxruntime(self.path, CPU), _nudged),
            self._compare(self._onnxruntime(self._nudged_weights(), CPU)),
        ]
        return {
            "errors": [
                max(e for e in found if math.isfinite(e))
                for found in zip(*(o["errors"] for o in others), strict=True)
            ]
        }

    def float64(self) -> dict[str, Any]:
        """How far onnxruntime is from the float64 reference at the smallest draw; a model that the reference
        can't evaluate has no self-check."""
        import numpy as np

        from ascend_ep.graph.reference import Reference
        from ascend_ep.opdef.registry import Registry
        from model_zoo.agreement import error, plain

        with np.load(self.folder / "feeds_0.npz") as given, np.load(self.folder / "expected_0.npz") as true:
            feeds = {name: given[name] for name in given.files}
            expected = [true[name] for name in true.files]
        reference = Reference(self.path, Registry.from_options())
        found = reference.run(feeds)
        arrays = [array for name in reference.output_names for array in plain(found[name])]
        narrow = [
            a.astype(e.dtype) if a.dtype.kind == "f" else a for a, e in zip(arrays, expected, strict=True)
        ]
        return {"errors": [error(expected, narrow)]}

    def convert(self) -> dict[str, Any]:
        """ascend-atc with the model's own types."""
        return self._convert("exact", "--precision_mode_v2=origin")

    def convert_default(self) -> dict[str, Any]:
        """ascend-atc as it comes: float16."""
        return self._convert("default")

    def own(self) -> dict[str, Any]:
        """The bundle in the own runtime."""
        return self._own("exact")

    def own_default(self) -> dict[str, Any]:
        return self._own("default")

    def inside(self) -> dict[str, Any]:
        """The model as it is in onnxruntime, with AscendEP first."""
        import ascend_ep.provider

        session = self._onnxruntime(self.path, ["AscendEP", *CPU])
        found = ascend_ep.provider.report(session)
        left = sorted({f"{p.op_type}: {p.reason}" for p in found.on_cpu})
        return {
            **self._compare(session),
            "nodes": len(found.placements),
            "left": len(found.on_cpu),
            "gave_up": found.error,
            "reasons": left,
        }

    def _nudged_weights(self) -> str:
        """A copy of the model whose weights are nudged."""
        import onnx
        from onnx import numpy_helper

        model = onnx.load(self.path)
        for tensor in model.graph.initializer:
            if tensor.data_type in (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16):
                nudged = _nudged(numpy_helper.to_array(tensor))
                tensor.CopyFrom(numpy_helper.from_array(nudged, tensor.name))
        path = str(self.folder / "nudged.onnx")
        onnx.save(model, path)
        return path

    def _convert(self, label: str, *flags: str) -> dict[str, Any]:
        from ascend_ep.cli.atc import main

        target = self.folder / label
        command = [f"--model={self.path}", "--framework=5", f"--output={target}", "--soc_version=Ascend910B3"]
        began = time.monotonic()
        status = main([*command, *flags])
        if status:
            raise RuntimeError(f"ascend-atc ended with {status}")
        return {"seconds": time.monotonic() - began}

    def _own(self, label: str) -> dict[str, Any]:
        import ascend_ep

        options = ascend_ep.SessionOptions()
        options.intra_op_num_threads = THREADS
        return self._compare(ascend_ep.InferenceSession(str(self.folder / f"{label}.om"), options))

    def _onnxruntime(self, path: str, providers: list[str], level: Any = None) -> Any:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        if level is not None:
            options.graph_optimization_level = level
        options.intra_op_num_threads = THREADS
        options.log_severity_level = 3
        return onnxruntime.InferenceSession(path, options, providers=providers)

    def _compare(self, session: Any, change: Callable[[Any], Any] = lambda array: array) -> dict[str, Any]:
        """The error of each draw."""
        import numpy as np

        from model_zoo.agreement import error, plain

        errors = []
        for feeds in sorted(self.folder.glob("feeds_*.npz")):
            with np.load(feeds) as given, np.load(str(feeds).replace("feeds_", "expected_")) as true:
                expected = [true[name] for name in true.files]
                outputs = session.run(None, {name: change(given[name]) for name in given.files})
            errors.append(error(expected, [array for o in outputs for array in plain(o)]))
        return {"errors": errors}


def _others(feeds: dict[str, Any]) -> int:
    """How many more inputs are drawn to take turns with these: of small inputs 2047."""
    return int(min(2047, OTHERS // max(1, sum(array.nbytes for array in feeds.values()))))


def _nudged(array: Any) -> Any:
    """Floats a unit in the last place larger or smaller, by chance. Whole numbers stay: an exponent of 2 that
    isn't quite 2 makes NaN of what is negative."""
    import numpy as np

    if array.dtype.kind != "f":
        return array
    up, down = (np.nextafter(array, np.array(end, array.dtype)) for end in (np.inf, -np.inf))
    moved = np.where(np.random.default_rng(0).random(array.shape) < 0.5, up, down)
    return np.where(array == np.rint(array), array, moved).astype(array.dtype)


def slots_of(session: Any) -> list[Any]:
    """The inputs of a session of onnxruntime."""
    from model_zoo.inputs import Slot

    slots = []
    for declared in session.get_inputs():
        dtype = declared.type.removeprefix("tensor(").removesuffix(")")
        shape = tuple(d if isinstance(d, int | str) else "" for d in declared.shape)
        numpys = {"float": "float32", "double": "float64", "string": "str"}
        slots.append(Slot(declared.name, numpys.get(dtype, dtype), shape))
    return slots


def peak_memory() -> int:
    """Bytes of the largest resident set of this process, or of one that it started and waited for."""
    status = Path("/proc/self/status").read_text().splitlines()
    own = next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
    return max(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) * 1024


def main() -> None:
    """What libraries print goes to stderr."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    resource.setrlimit(resource.RLIMIT_DATA, (LIMIT, LIMIT))
    step: Callable[[], dict[str, Any]] = getattr(Step(Path(sys.argv[2])), sys.argv[1])
    try:
        answer = {**step(), "peak": peak_memory()}
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}", "peak": peak_memory()}
    json.dump(answer, answers)
    answers.flush()


if __name__ == "__main__":
    main()
