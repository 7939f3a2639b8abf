"""From an ONNX model to a bundle: load, infer, simplify, partition, lower, write, verify, check.

conversion = convert("m.onnx", ConvertOptions())
conversion.write(Path("m.om"))
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TypeVar

import numpy as np
import onnx
import onnx_ir as ir

from ascend_ep.compiler.aipp.aipp import insert_aipp, insert_stored, metadata
from ascend_ep.compiler.aipp.aipp_config import AippOp
from ascend_ep.compiler.aipp.aipp_image import Preprocessing
from ascend_ep.compiler.device.soc import find_soc
from ascend_ep.compiler.device.soc_limits import Limit, soc_limits
from ascend_ep.compiler.operators.native_op import FormulaCode
from ascend_ep.compiler.precision.implementation_modes import GELU_BOUND, FastOperators
from ascend_ep.compiler.precision.precision import (
    BFLOAT16_PRODUCTS,
    EXACT,
    FLOAT32_PRODUCTS,
    PrecisionLists,
    changes_types,
    check_mode,
)
from ascend_ep.compiler.precision.precision_pass import apply_precision, node_names
from ascend_ep.compiler.rewrites.half_weights import store_halves
from ascend_ep.compiler.rewrites.narrow_products import narrow_products
from ascend_ep.compiler.rewrites.winograd import use_winograd
from ascend_ep.compiler.writing.context_model import context_model
from ascend_ep.compiler.writing.image import Image, Room, make_image
from ascend_ep.compiler.writing.model_def import model_def
from ascend_ep.compiler.writing.origin import origin
from ascend_ep.compiler.writing.weight_files import WeightFiles
from ascend_ep.compiler.writing.writer import write_bytes, write_file
from ascend_ep.errors import AscendError
from ascend_ep.graph.declared import set_input_shapes
from ascend_ep.graph.external_data import MemoryReader
from ascend_ep.graph.facts import Facts
from ascend_ep.graph.fusion.ledger import Ledger, Outcome
from ascend_ep.graph.infer import infer_facts
from ascend_ep.graph.load import load_model
from ascend_ep.graph.partition import Partition, partition
from ascend_ep.graph.passes.known_facts import KnownFacts
from ascend_ep.graph.passes.pipeline import run_passes
from ascend_ep.opdef.registry import Registry
from ascend_ep.runtime import trust
from ascend_ep.runtime.comparison import BOUNDS

from . import samples
from .assembly import Assembly
from .claims import NOT_LOWERED, Claims, check_hosts
from .dump import Dump
from .outputs import cast_outputs, read_half_inputs, select_outputs
from .partition_table import PartitionRow, partition_table
from .plan import Native, NativePartition, Plan, SymbolRange
from .self_check import (
    NoSamples,
    UnfitSizes,
    check_against_reference,
    coarsest_bound,
    digest_of,
    is_small,
    rounding_excuse,
    run_samples,
)
from .semantics import Semantics

T = TypeVar("T")
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
    done, "off" never; ASCEND_EP_CODEGEN=0 is "off".
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


@dataclass(frozen=True)
class Conversion:
    """A converted model, not yet written. Weights are read from their files when it is."""

    plan: Plan
    partition_table: tuple[PartitionRow, ...]
    model: ir.Model
    facts: Facts
    options: ConvertOptions
    where: str
    source: Source
    registry: Registry
    fusions: tuple[Outcome, ...] = ()
    preprocessing: tuple[Preprocessing, ...] = ()
    soc_limits: tuple[Limit, ...] = ()

    @cached_property
    def model_def(self) -> bytes:
        """The MODEL_DEF partition: a ge.proto.ModelDef of the simplified graph."""
        return model_def(self.model, self.facts, self.plan.meta)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes the bundle, having verified and run it. Raises AscendError; then no file is left."""
        self.options.progress("writing")
        self._sampled(lambda: self._write(Path(path)))
        self._trust(_natives(self.plan))

    def _sampled(self, write: Callable[[], T]) -> T:
        """Writes with samples of sizes that the model takes, or with none."""
        try:
            return write()
        except UnfitSizes as error:
            unfit = error
        except NoSamples:
            self.plan.samples.clear()
            return write()
        for size in samples.OTHER_SIZES:
            try:
                if self._reserve(size):
                    return write()
            except NoSamples:
                continue
        text = (
            f"the bundle is written without a sample run, as the model takes none of the sizes tried: {unfit}"
        )
        warnings.warn(f"{text} (--input_hint_shape says which to try)", RuntimeWarning, stacklevel=3)
        self.plan.samples.clear()
        return write()

    def _reserve(self, size: int = samples.FREE_SIZE) -> bool:
        options, images = self.options, [p.name for p in self.preprocessing]
        if options.sample_seed is None:
            return False
        return samples.reserve(self.plan, options.sample_seed, images, options.hint_shapes, size)

    def _write(self, target: Path) -> None:
        where = self.options.external_weight
        outside = WeightFiles(target, combined=where == 2) if where else None
        write_file(self.plan, self.model_def, target, self.options.soc_version, self._check, outside)

    def to_bytes(self) -> bytes:
        """The bundle in memory, verified and run. Of its code, what was generated here becomes trusted."""
        soc = self.options.soc_version
        written = self._sampled(lambda: write_bytes(self.plan, self.model_def, soc, self._check))
        self._trust([n for n in _natives(self.plan) if n.generated])
        return written

    def image(self, room: Room | None = None) -> Image:
        """The bundle in memory for this process alone: no host partition, no samples, nothing checked yet."""
        return make_image(self.plan, room)

    def _trust(self, natives: Sequence[Native]) -> None:
        """Code that this user built or gave to this conversion is trusted here; elsewhere it isn't."""
        if natives:
            try:
                trust.trust([(digest_of(n), n.path) for n in natives])
            except AscendError as error:
                warnings.warn(f"native code won't run by default: {error.text}", RuntimeWarning, stacklevel=3)

    def context_model(self, bundle_name: str) -> bytes:
        """m_ctx.onnx: an ONNX model that runs the bundle of this name, beside it, in stock onnxruntime."""
        return context_model(self.model, self.facts, self.plan, bundle_name)

    def _check(self, written: Path | bytes) -> list[memoryview]:
        """Verifies and runs what was written; the bytes of the sample outputs."""
        self.options.progress("checking")
        results = run_samples(written, self.plan)
        wanted = self.options.self_check
        if results and (wanted or (wanted is None and is_small(self.model))):
            source = onnx.load_from_string(self.source) if isinstance(self.source, bytes) else self.source
            given = source if isinstance(source, onnx.ModelProto) else os.fspath(source)
            bound = coarsest_bound(self.model, self.facts)
            if self.options.precision in BFLOAT16_PRODUCTS:
                bound = max(bound, BOUNDS["bfloat16"])
            if self.options.fast:
                bound = max(
                    bound, GELU_BOUND, BOUNDS["bfloat16"] if self.options.precision in FLOAT32_PRODUCTS else 0
                )
            excuse = rounding_excuse(self.options.precision in EXACT, self.model, self.facts)
            check_against_reference(
                given, self.plan, results, self.registry, bound, excuse, bool(wanted), self.preprocessing
            )
        return [np.ascontiguousarray(r).reshape(-1).view(np.uint8).data for r in results]


def convert(source: Source, options: ConvertOptions | None = None) -> Conversion:
    """Converts a model, a path or its bytes. Names and dims of its inputs and outputs stay as they are.

    Raises AscendError: E10410, E10041 for the file, E19010 naming all unknown operators, E19014 for
    impossible shapes, E20001 for an operator that nothing can run.
    """
    options = options or ConvertOptions()
    check_mode(options.precision)
    where = str(source) if isinstance(source, str | os.PathLike) else "the given model"
    registry = options.registry or Registry.from_options()
    dump = Dump(options.dump)
    options.progress("loading")
    model = load_model(source, base_dir=options.base_dir, memory=options.memory)
    dump.model("loaded", model)
    names = node_names(model)
    declare(model, options)
    insert_stored(model, options.preprocessing)
    preprocessing = (*options.preprocessing, *insert_aipp(model, options.aipp, options.half_inputs))
    options.progress("inferring shapes")
    if options.output_types:
        cast_outputs(model, infer_facts(model, registry), options.output_types)
    soc = find_soc(options.soc_version) if options.soc_version else None
    limits: list[Limit] = []
    if options.dump or soc:
        first_facts = infer_facts(model, registry)
        dump.facts("shapes", model, first_facts)
        limits = soc_limits(model, first_facts, soc, options.precision) if soc else []
    options.progress("simplifying")
    ledger = Ledger(options.fusions_off, soc.ub if soc else None)
    known = KnownFacts(registry)
    if options.passes:
        model = run_passes(model, registry, ledger=ledger, facts=known)
        dump.model("simplified", model)
    options.precision_lists.check_names(names | node_names(model))
    facts = known.of(model)
    if options.fast:
        options.fast.simplify_gelu(model)
    if changes_types(options.precision, options.precision_lists):
        lists, clip = options.precision_lists, options.clip_weights
        apply_precision(model, facts, registry, options.precision, lists, clip)
        dump.model("retyped", model)
        facts = infer_facts(model, registry, agreements=facts.agreements)
    if options.after_types is not None:
        options.after_types(model, facts)
        facts = infer_facts(model, registry, agreements=facts.agreements)
    semantics = Semantics(model, registry)
    build = partial(_build, model, facts, semantics, options, dump, where, ledger)
    try:
        parts, plan, fusions = build(Claims(semantics, facts, trial=not options.expect_native))
    except NOT_LOWERED:
        if not options.expect_native:
            raise
        parts, plan, fusions = build(Claims(semantics, facts))
    plan.symbols |= {s: SymbolRange(*r) for s, r in options.symbol_ranges.items() if s in plan.symbols}
    plan.profiles = [{s: n for s, n in p.items() if s in plan.symbols} for p in options.profiles]
    if options.precision in BFLOAT16_PRODUCTS:
        lists = options.precision_lists
        narrow_products(plan, lists.products(), lists.names_product)
    elif options.fast and options.precision in FLOAT32_PRODUCTS:
        narrow_products(plan, options.fast.product)
    store_halves(plan)
    use_winograd(plan)
    plan.meta |= origin(model, options, where) | metadata(preprocessing)
    table = partition_table(parts, semantics)
    said = (fusions, preprocessing, tuple(limits))
    conversion = Conversion(plan, table, model, facts, options, where, source, registry, *said)
    conversion._reserve()
    dump.plan("plan", plan)
    return conversion


def declare(model: ir.Model, options: ConvertOptions) -> None:
    """Gives a loaded model the input types and shapes and the outputs that the options ask for."""
    if options.half_inputs:
        read_half_inputs(model, options.half_inputs)
    if options.input_shapes:
        set_input_shapes(model, options.input_shapes)
    if options.out_nodes:
        select_outputs(model, options.out_nodes)


def _build(
    model: ir.Model,
    facts: Facts,
    semantics: Semantics,
    options: ConvertOptions,
    dump: Dump,
    where: str,
    ledger: Ledger,
    claims: Claims,
) -> tuple[list[Partition], Plan, tuple[Outcome, ...]]:
    """The partitions of a simplified model, the plan that they lower to, and what became of fusions."""
    options.progress("partitioning")
    parts = partition(model, claims)
    dump.partitions("partitions", parts)
    check_hosts({n: why for p in parts for n, why in p.reasons.items()}, semantics, where)
    options.progress("lowering")
    code = FormulaCode(options.codegen)
    assembly = Assembly(model, facts, semantics, claims, code, options.fallback, ledger)
    plan = assembly.build(parts)
    return parts, plan, (*ledger.outcomes, *assembly.fusions)


def _natives(plan: Plan) -> list[Native]:
    code = (i.native for p in plan.partitions if isinstance(p, NativePartition) for i in p.insns)
    return list(dict.fromkeys(n for n in code if n is not None))
