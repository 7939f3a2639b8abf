"""In a process of its own: the cases of a validation folder (module.py, prepare_inputs.py, test_cases.csv).

A line of the input has the folder, where to write, how many rows, how many elements at most. Modules that are
not installed, as those for the device, are there without content; the reference runs on the CPU.
"""

from __future__ import annotations

import contextlib
import csv
import importlib.abc
import importlib.machinery
import importlib.util
import json
import math
import os
import re
import signal
import sys
import types
from pathlib import Path
from typing import Any

import torch

SECONDS = 60


def main() -> None:
    """Answers each line of the input, a list of arguments, with a line: "" or why there are no cases."""
    sys.meta_path.append(NotInstalled())
    torch.set_num_threads(1)
    for line in sys.stdin:
        where, into, rows, largest = json.loads(line)
        child = os.fork()
        if child == 0:
            os._exit(_answered(Path(where), Path(into), rows, largest))
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        told = Path(into) / "error.txt"
        print(told.read_text() if told.exists() else f"status {status}" if status else "", flush=True)


def _answered(where: Path, into: Path, rows: int, largest: int) -> int:
    signal.alarm(SECONDS)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            cases = _cases(where, into, rows, largest)
        (into / "cases.json").write_text(json.dumps(cases), encoding="utf-8")
    except Exception as error:  # the reference is anybody's code
        text = " ".join(f"{type(error).__name__}: {error}".split())
        (into / "error.txt").write_text(text[:160], encoding="utf-8")
        return 1
    return 0


def _cases(where: Path, into: Path, rows: int, largest: int) -> list[dict[str, Any]]:
    torch.manual_seed(0)
    module = _module(where / "module.py")
    maker = module if hasattr(module, "get_inputs") else _module(where / "prepare_inputs.py")
    cases: list[dict[str, Any]] = []
    with (where / "test_cases.csv").open(encoding="utf-8-sig") as file:
        table = list(csv.DictReader(file, delimiter=";"))
    for row in sorted((_values(r) for r in table), key=_size_said):
        if len(cases) == rows or _size_said(row) > largest:
            break
        inputs = maker.get_inputs(row, "cpu")
        if _elements(inputs) > largest:
            continue
        initial = list(maker.get_init_inputs(row))
        model = module.Model(*initial)
        copied = [x.clone() if isinstance(x, torch.Tensor) else x for x in inputs]
        with torch.no_grad():
            outputs = model(*copied)
        entry = _entry(into, len(cases), row, inputs, outputs)
        entry["initial"] = [v.item() if hasattr(v, "item") else v for v in initial if _is_scalar(v)]
        cases.append(entry)
    return cases


def _is_scalar(value: Any) -> bool:
    return isinstance(value, bool | int | float | str | list) or (hasattr(value, "item") and value.ndim == 0)


def _entry(into: Path, number: int, row: dict[str, Any], inputs: Any, outputs: Any) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": f"row {row.get('case_id', number)}", "inputs": [], "scalars": []}
    for i, value in enumerate(inputs):
        if isinstance(value, torch.Tensor):
            entry["inputs"].append(_written(into, f"{number}_in{i}", value))
        elif isinstance(value, tuple | list) and value and isinstance(value[0], torch.Tensor):
            entry["inputs"].append([_written(into, f"{number}_in{i}_{j}", x) for j, x in enumerate(value)])
        else:
            entry["scalars"].append(value)
    made = outputs if isinstance(outputs, tuple | list) else (outputs,)
    entry["outputs"] = [_written(into, f"{number}_out{i}", x) for i, x in enumerate(made)]
    return entry


class NotInstalled(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds every module, after all others: each name in it is None."""

    def find_spec(self, name: str, path: object, target: object = None) -> importlib.machinery.ModuleSpec:
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def exec_module(self, module: types.ModuleType) -> None:
        module.__dict__["__getattr__"] = lambda name: None


def _module(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _values(row: dict[str, str]) -> dict[str, Any]:
    """Numbers and truth values as themselves, as a table of pandas has them; other cells are text."""
    found: dict[str, Any] = {}
    for key, text in row.items():
        try:
            found[key] = int(text)
        except (TypeError, ValueError):
            try:
                found[key] = float(text)
            except (TypeError, ValueError):
                found[key] = {"True": True, "False": False}.get(text, text)
    return found


def _size_said(row: dict[str, Any]) -> int:
    """Elements of the largest shape among the cells of a row."""
    found = 0
    for text in row.values():
        for inner in re.findall(r"\[([\d, ]+)\]", str(text)):
            found = max(found, math.prod(int(n) for n in inner.split(",") if n.strip()))
    return found


def _elements(value: Any) -> int:
    if isinstance(value, torch.Tensor):
        return value.numel()
    return sum(_elements(x) for x in value) if isinstance(value, tuple | list) else 0


def _written(folder: Path, name: str, value: Any) -> dict[str, Any]:
    value = value.detach().contiguous() if isinstance(value, torch.Tensor) else torch.tensor(value)
    kind = str(value.dtype).removeprefix("torch.")
    plain = value.view(torch.int16) if value.dtype == torch.bfloat16 else value
    plain.numpy().tofile(folder / f"{name}.bin")
    return {"file": f"{name}.bin", "dtype": kind, "shape": list(value.shape)}


main()
