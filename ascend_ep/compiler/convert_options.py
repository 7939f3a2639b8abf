"""What a conversion may be told."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import onnx
import onnx_ir as ir

from ascend_ep.cann.aipp.config import AippOp
from ascend_ep.cann.aipp.preprocessing import Preprocessing
from ascend_ep.compiler.precision.implementation_modes import FastOperators
from ascend_ep.compiler.precision.precision import PrecisionLists
from ascend_ep.graph.external_data import MemoryReader
from ascend_ep.graph.facts import Facts
from ascend_ep.opdef.registry import Registry

Source = str | os.PathLike[str] | bytes | onnx.ModelProto


@dataclass(frozen=True)
class ConvertOptions:
    """What a conversion may be told.

    `registry` None: the built-in operators and $ASCEND_CUSTOM_OPS. `input_shapes`: sizes, names or -1.
    `symbol_ranges`: least and greatest size (None: unbounded) of free dimensions that have a name.
    `profiles`: the only sizes of named free dimensions at which the model runs, each with the same names.
    `out_nodes`: "node:index" or tensor names that become the outputs. `output_types`: atc's type names by
    output, "" for all. `sample_seed` None stores no sample. `progress` is told what begins.
    `precision`: a value of --precision_mode or --precision_mode_v2; `precision_lists`: its exceptions.
    `half_inputs`: names of inputs that become float16. `clip_weights`: constants beyond float16 become its
    largest number instead of infinity. `after_types` may change the graph when all of its types are settled.
    `fast`: operators with high-performance implementations.
    `self_check`: compare the sample run with the float64 reference; None does so for small models.
    `codegen`: "auto" compiles formulas where that pays and a C compiler is there, "always" wherever it can be
    done, "off" never; ASCEND_EP_CODEGEN=0 is "off". `search_seconds`: how long schedules of each operator's
    code are tried; None: $ASCEND_EP_SEARCH.
    `expect_native`: likely no node needs the host, so that it isn't tried beforehand which do.
    `fallback`: keep, for where libraries may not run, an interpreted partition beside one that calls them.
    `fusions_off`: names of fusion rules that aren't applied (opdef/fusion_rules.py); what is fused depends
    on the on-chip buffer of `soc_version`, when one is given.
    `aipp`: what comes before the model's inputs (--insert_op_conf); `preprocessing`: the same, as a bundle
    tells it (aipp.stored).
    `hint_shapes`: by position of the input, the sizes that samples have where a dimension is free.
    `external_weight`: where `Conversion.write` puts weights: 0 in the bundle, 1 each in a file of its own in
    the folder `weight` beside it, 2 in one file there. Bundles in memory hold their weights.
    `meta`: more entries for the bundle's META section. `dump`: folder for every step as text.
    """

    registry: Registry | None = None
    input_shapes: Mapping[str, Sequence[int | str]] = field(default_factory=dict)
    symbol_ranges: Mapping[str, tuple[int, int | None]] = field(default_factory=dict)
    profiles: Sequence[Mapping[str, int]] = ()
    out_nodes: Sequence[str] = ()
    output_types: Mapping[str, str] = field(default_factory=dict)
    precision: str = "origin"
    precision_lists: PrecisionLists = field(default_factory=PrecisionLists)
    clip_weights: bool = True
    half_inputs: Sequence[str] = ()
    after_types: Callable[[ir.Model, Facts], None] | None = None
    fast: FastOperators = field(default_factory=FastOperators)
    soc_version: str = ""
    command_line: str = ""
    passes: bool = True
    sample_seed: int | None = 0
    self_check: bool | None = None
    codegen: str = "auto"
    search_seconds: float | None = None
    expect_native: bool = False
    fallback: bool = True
    fusions_off: Collection[str] = ()
    aipp: Sequence[AippOp] = ()
    preprocessing: Sequence[Preprocessing] = ()
    hint_shapes: Mapping[int, Sequence[int]] = field(default_factory=dict)
    external_weight: int = 0
    meta: Mapping[str, str] = field(default_factory=dict)
    dump: Path | None = None
    base_dir: str | os.PathLike[str] | None = None
    memory: MemoryReader | None = None
    progress: Callable[[str], None] = lambda _: None
