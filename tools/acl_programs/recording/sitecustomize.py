"""First on the path of a Python program: what recorder.c does, around `acl.mdl` of pyACL and sessions of
ais_bench."""

from __future__ import annotations

import importlib.abc
import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

MOST = 64


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self) -> None:
        self.waiting = {"acl": _wrap, "ais_bench.infer.interface": _wrap_sessions}

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        wrap = self.waiting.pop(name, None)  # the search below gets here again, and goes on
        if wrap is None:
            return None
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def load(module: Any) -> None:
            execute(module)
            wrap(sys.modules[name])

        spec.loader.exec_module = load  # type: ignore[method-assign]
        return spec


def _wrap(acl: Any) -> None:
    root, paths, count = Path(os.environ["ACL_RECORD"]), {}, iter(range(MOST))
    mdl = acl.mdl
    real_load, real_run, real_async = mdl.load_from_file, mdl.execute, mdl.execute_async

    def load_from_file(path: str) -> Any:
        model, code = real_load(path)
        paths[model] = os.path.abspath(path)
        return model, code

    chosen: list[str] = []

    def noting(name: str, word: str) -> None:
        real = getattr(mdl, name)

        def call(*arguments: Any) -> Any:
            numbers = arguments[3:]
            if word == "dims":
                numbers = arguments[3]["dims"][: arguments[3]["dimCount"]]
            chosen[:] = [f"{word} " + " ".join(map(str, numbers))]
            return real(*arguments)

        setattr(mdl, name, call)

    noting("set_dynamic_batch_size", "batch")
    noting("set_dynamic_hw_size", "hw")
    noting("set_input_dynamic_dims", "dims")

    def write(folder: Path, side: str, dataset: Any) -> None:
        for i in range(mdl.get_dataset_num_buffers(dataset)):
            buffer = mdl.get_dataset_buffer(dataset, i)
            size, address = acl.get_data_buffer_size_v2(buffer), acl.get_data_buffer_addr(buffer)
            host, _ = acl.rt.malloc_host(max(size, 1))
            if not acl.rt.memcpy(host, size, address, size, 2):
                (folder / f"{side}_{i}.bin").write_bytes(acl.util.ptr_to_bytes(host, size))
            acl.rt.free_host(host)

    def recorded(model: int, inputs: Any, outputs: Any, run: Any) -> Any:
        number = next(count, None)
        if number is None:
            return run()
        folder = root / str(number)
        folder.mkdir(parents=True)
        (folder / "model").write_text(paths.get(model, ""))
        for text in chosen:
            (folder / "chosen").write_text(text)
        write(folder, "in", inputs)
        code = run()
        if code == 0:
            write(folder, "out", outputs)
        return code

    def execute(model: int, inputs: Any, outputs: Any) -> Any:
        return recorded(model, inputs, outputs, lambda: real_run(model, inputs, outputs))

    def execute_async(model: int, inputs: Any, outputs: Any, stream: Any) -> Any:
        def run() -> Any:
            code = real_async(model, inputs, outputs, stream)
            return code or acl.rt.synchronize_stream(stream)

        return recorded(model, inputs, outputs, run)

    mdl.load_from_file, mdl.execute, mdl.execute_async = load_from_file, execute, execute_async


def _wrap_sessions(interface: Any) -> None:
    """`InferSession.infer` of ais_bench: arrays in and out, in the types that the model has."""
    root, session = Path(os.environ["ACL_RECORD"]), interface.InferSession
    real_init, real_infer, count = session.__init__, session.infer, iter(range(MOST))

    def init(self: Any, device_id: int, model_path: str, *arguments: Any, **named: Any) -> None:
        real_init(self, device_id, model_path, *arguments, **named)
        self.recorded_path = os.path.abspath(model_path)

    def infer(self: Any, feeds: Any, *arguments: Any, **named: Any) -> Any:
        made = real_infer(self, feeds, *arguments, **named)
        number = next(count, None)
        arrays = [feeds] if hasattr(feeds, "shape") else list(feeds)
        if number is None or not all(hasattr(x, "tobytes") for x in [*arrays, *made]):
            return made
        folder = root / f"{1000 + number}"
        folder.mkdir(parents=True)
        (folder / "model").write_text(self.recorded_path)
        for side, values in (("in", arrays), ("out", made)):
            for i, x in enumerate(values):
                (folder / f"{side}_{i}.bin").write_bytes(x.tobytes())
        return made

    session.__init__, session.infer = init, infer


if os.environ.get("ACL_RECORD"):
    sys.meta_path.insert(0, _Finder())
