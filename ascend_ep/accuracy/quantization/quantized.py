"""One call for the command and for Python: a quantised model, with what became of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx

from ascend_ep.accuracy.keep_search import Accuracy
from ascend_ep.accuracy.node_errors import Measure
from ascend_ep.compiler.convert_options import Source
from ascend_ep.opdef.registry import Registry

from .calibration_data import read_samples
from .observe import Sample
from .quantization import Quantization, Row
from .saving import save_onnx
from .settings import Settings


@dataclass(frozen=True)
class Quantized:
    """`model`: with QuantizeLinear and DequantizeLinear. `rows`: its products. `outputs`: how far floating
    outputs are from the float model's, in our runtime. `kept`: products that the accuracy needs in float.
    `samples`: how many calibrated. `sizes`: bytes of the float model and of this one."""

    model: onnx.ModelProto
    rows: list[Row]
    outputs: dict[str, Measure]
    kept: list[str]
    samples: int
    sizes: tuple[int, int]

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the model as ONNX. Raises AscendError E40002."""
        return save_onnx(self.model, path)

    def __str__(self) -> str:
        done = [r for r in self.rows if r.quantised]
        width = max((len(r.name) for r in self.rows), default=0)
        lines = [
            f"{r.name:<{width}}  {r.op_type:<13} " + (_error(r) if r.quantised else f"float: {r.reason}")
            for r in self.rows
        ]
        before, after = self.sizes
        lines.append(f"{len(done)} of {len(self.rows)} products quantised, by {self.samples} samples")
        lines.append(f"bytes of the model: {before} before, {after} now")
        lines += [f"output {name}: {text(m)}" for name, m in self.outputs.items()]
        return "\n".join(lines)


def quantize(
    source: Source,
    data: Any,
    settings: Settings,
    *,
    accuracy: Accuracy | None = None,
    validation: Any = None,
    batch_num: int | None = None,
    data_types: Sequence[str] = (),
    registry: Registry | None = None,
    shapes: dict[str, list[int | str]] | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Quantized:
    """`data`, and `validation`, as `read_samples` takes them; without `validation`, `data` measures, too.
    Raises AscendError; E41024 when `accuracy` isn't reached with all products in float."""
    work = Quantization(source, settings, registry, shapes, progress)
    samples = read_samples(data, work.inputs, batch_num, data_types)
    measuring = samples if validation is None else read_samples(validation, work.inputs, None, data_types)
    work.calibrate(samples)
    kept = [] if accuracy is None else work.search(accuracy, measuring)
    return quantised(work, samples, kept, measuring)


def quantised(
    work: Quantization,
    samples: Sequence[Sample],
    kept: Sequence[str] = (),
    measuring: Sequence[Sample] | None = None,
) -> Quantized:
    """The model of a quantisation that `samples` calibrated, with `kept` in float, measured by `measuring` or
    these samples."""
    shown = samples if measuring is None else measuring
    model = work.model(kept)
    sizes = (work.float_model.ByteSize(), model.ByteSize())
    outputs = work.measures(model, shown)
    return Quantized(model, work.rows(kept, shown), outputs, list(kept), len(samples), sizes)


def text(m: Measure) -> str:
    shown = f"relative {m.relative:.3g}, rms {m.rms:.3g}, cosine {m.cosine:.6f}"
    return f"{shown}, same greatest element in {m.top1:.1%} of rows"


def _error(row: Row) -> str:
    return "int" if row.error is None else f"rms error by itself {row.error:.2g}"
