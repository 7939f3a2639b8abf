"""PyTorch's own samples of operators on npu:0, beside PyTorch on the CPU: JSON for each name that comes in.

A name is that of an entry of `op_db` and a type: `nn.functional.pad:reflect float32`. Of each the first
samples are run, forwards and, where it has gradients, backwards. torch_npu, models/ and tools/ are on the
path, and the environment is that of a toolkit. --list prints the names of the entries.

The result is the worst of its samples: agrees, differs, fails (the device has an error: this process ends),
refused (an error of torch_npu before anything ran) or other (no such type, or nothing to compare). `on_cpu`
says what torch_npu left to the CPU.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from typing import Any

import torch
import torch_npu  # noqa: F401
from torch_npu_architectures import difference
from torch_samples import ENTRIES, is_chance, mapped, shown, tensors

SAMPLES = int(os.environ.get("SAMPLES", "8"))
#: Of the largest magnitude: by how much results may differ.
CLOSE = {torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 4e-2}
#: Errors of the device, after which torch_npu drops what it is given.
BROKEN = ("Inner error", "ERR00100", "ERR00005", "ACL stream")
RANK = ("other", "agrees", "refused", "differs", "fails")


def there(tensor: torch.Tensor) -> torch.Tensor:
    """On the device, with the strides it has here."""
    moved = tensor.detach().npu()
    if not tensor.is_contiguous() and tensor.numel() and not any(n == 0 for n in tensor.stride()):
        moved = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="npu").copy_(
            moved
        )
    return moved.requires_grad_(tensor.requires_grad)


def gradients(entry: Any, sample: Any, result: list[torch.Tensor]) -> list[torch.Tensor]:
    """Of a weighted sum of all that has a gradient."""
    leaves = [t for t in tensors([sample.input, *sample.args, *sample.kwargs.values()]) if t.requires_grad]
    grown = [t for t in result if t.requires_grad]
    if not leaves or not grown:
        return []
    weights = [(torch.arange(t.numel()) % 7 - 2.5).reshape(t.shape).to(t.dtype).to(t.device) for t in grown]
    found = torch.autograd.grad(grown, leaves, weights, allow_unused=True)
    return [torch.zeros(()) if g is None else g for g in found]


def one(entry: Any, sample: Any) -> list[torch.Tensor]:
    result = tensors(entry.op(sample.input, *sample.args, **sample.kwargs))
    return [*result, *gradients(entry, sample, result)]


class Moved:
    """A sample on the device."""

    def __init__(self, sample: Any) -> None:
        self.input = mapped(sample.input, there)
        self.args = mapped(tuple(sample.args), there)
        self.kwargs = {
            key: "npu" if isinstance(part, torch.device | str) and "cpu" in str(part) else mapped(part, there)
            for key, part in sample.kwargs.items()
        }


def compared(entry: Any, sample: Any, dtype: torch.dtype) -> tuple[str, str]:
    moved = Moved(sample)
    torch.npu.synchronize()
    try:
        expected = one(entry, sample)
    except Exception as error:
        return "other", f"the CPU: {error}"
    try:
        found = one(entry, moved)
    except Exception as error:
        return ("fails" if any(part in str(error) for part in BROKEN) else "refused"), str(error)
    try:
        torch.npu.synchronize()
        found = [t.cpu() for t in found]
    except Exception as error:
        return "fails", str(error)
    if len(found) != len(expected):
        return "differs", f"{len(found)} results, not {len(expected)}"
    for place, (a, b) in enumerate(zip(expected, found, strict=True)):
        if a.dtype != b.dtype and not (a.dtype is torch.float64 and b.dtype is torch.float32):
            return "differs", f"result {place}: {b.dtype}, not {a.dtype}"
        apart = difference(a, b)
        if apart > (CLOSE.get(dtype, 1e-4) if a.is_floating_point() else 0):
            return "differs", f"result {place}: by {apart:.3g}"
    return "agrees", ""


def run(name: str, type_name: str) -> dict[str, Any]:
    entry, dtype = ENTRIES[name], getattr(torch, type_name)
    if dtype not in entry.dtypes or is_chance(name):
        return {"result": "other", "why": "not of that type, or chance", "samples": 0}
    grows = dtype in entry.backward_dtypes and entry.supports_autograd
    torch.manual_seed(0)
    worst, why, count = "other", "", 0
    for sample in entry.sample_inputs("cpu", dtype, requires_grad=grows):
        if count == SAMPLES:
            break
        count += 1
        result, reason = compared(entry, sample, dtype)
        if RANK.index(result) > RANK.index(worst):
            worst, why = result, f"{shown(sample)}: {reason}" if reason else ""
        if result == "fails":
            break
    return {"result": worst, "why": why[:700], "samples": count}


def main() -> None:
    if "--list" in sys.argv:
        print("\n".join(ENTRIES))
        return
    for line in sys.stdin:
        name, type_name = line.split()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = run(name, type_name)
        on_cpu = sorted(
            {
                part
                for w in caught
                if "run on the CPU" in str(w.message)
                for part in str(w.message).split("'")[1:2]
            }
        )
        ends = found["result"] == "fails"  # nothing that follows on this device counts
        print(json.dumps({"name": line.strip(), **found, "on_cpu": on_cpu, "ends": ends}), flush=True)
        if ends:
            os._exit(0)


if __name__ == "__main__":
    main()
