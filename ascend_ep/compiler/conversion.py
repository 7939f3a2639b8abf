"""A converted model: written, checked as it is written, or made ready in memory."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import numpy as np
import onnx
import onnx_ir as ir

from ascend_ep.cann.aipp.preprocessing import Preprocessing
from ascend_ep.cann.soc_limits import Limit
from ascend_ep.compiler.precision.implementation_modes import GELU_BOUND
from ascend_ep.compiler.precision.precision import (
    BFLOAT16_PRODUCTS,
    EXACT,
    FLOAT32_PRODUCTS,
)
from ascend_ep.errors import AscendError
from ascend_ep.graph.declared import dropped_shapes
from ascend_ep.graph.facts import Facts
from ascend_ep.graph.fusion.ledger import Outcome
from ascend_ep.graph.naming import label
from ascend_ep.graph.random_nodes import random_nodes
from ascend_ep.opdef.dims import static
from ascend_ep.opdef.dtypes import INTEGERS
from ascend_ep.opdef.registry import Registry
from ascend_ep.plan.plan import Native, NativePartition, Plan
from ascend_ep.plan.writing.context_model import context_model
from ascend_ep.plan.writing.image import Image, Room, make_image
from ascend_ep.plan.writing.model_def import model_def
from ascend_ep.plan.writing.weight_files import WeightFiles
from ascend_ep.plan.writing.writer import write_bytes, write_file
from ascend_ep.runtime import trust
from ascend_ep.runtime.bundle import SIZES
from ascend_ep.runtime.comparison import BOUNDS

from . import samples
from .convert_options import ConvertOptions, Source
from .partition_table import PartitionRow
from .samples import OtherShapes
from .self_check import (
    NoSamples,
    UnfitSizes,
    check_against_reference,
    coarsest_bound,
    digest_of,
    rounding_excuse,
    run_samples,
    say_shortened,
    too_many,
)

T = TypeVar("T")

#: Shapes that a warning names.
SHOWN = 3


@dataclass(frozen=True)
class Conversion:
    """A converted model, not yet written. Weights are read from their files when it is.

    `doubts`: what the self-check, as it was written, found to differ from the reference and excused.
    """

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
    doubts: list[str] = field(default_factory=list)

    @cached_property
    def model_def(self) -> bytes:
        """The MODEL_DEF partition: a ge.proto.ModelDef of the simplified graph."""
        return model_def(self.model, self.facts, self.plan.meta)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes the bundle, having verified and run it. Raises AscendError; then no file is left."""
        self._warn_of_shapes()
        self.options.progress("writing")
        self._sampled(lambda: self._write(Path(path)))
        self._trust(_natives(self.plan))

    @property
    def dropped_shapes(self) -> list[str]:
        """What the model declares of shapes and its nodes contradict; the bundle has what the nodes give."""
        return dropped_shapes(self.model)

    def _warn_of_shapes(self) -> None:
        if said := self.dropped_shapes:
            shown = "; ".join(said[:SHOWN]) + (f"; and {len(said) - SHOWN} more" if len(said) > SHOWN else "")
            text = f"shapes that the model declares and its nodes contradict don't count: {shown}"
            warnings.warn(text, RuntimeWarning, stacklevel=3)

    def _sampled(self, write: Callable[[], T]) -> T:
        """Writes with samples of sizes that the model takes, or with none. Raises AscendError E41021 where a
        check is demanded of results that are drawn."""
        if (drawn := next(random_nodes(self.model), None)) is not None:
            text = f"node [{label(drawn)}] ({drawn.op_type}) draws its results, which differ from run to run"
            if self.options.self_check:
                raise AscendError("E41021", text)
            if self.plan.samples:
                without = f"the bundle is written without a sample run: {text}"
                warnings.warn(without, RuntimeWarning, stacklevel=3)
            self.plan.samples.clear()

        def written() -> T:
            try:
                return write()
            except OtherShapes:
                return write()

        try:
            return written()
        except UnfitSizes as error:
            if error.__cause__ is not None and _is_static(self.plan):
                raise error.__cause__ from None
            unfit = error
        except NoSamples:
            self.plan.samples.clear()
            return write()
        for size in samples.OTHER_SIZES:
            try:
                if self.reserve_samples(size):
                    return written()
            except NoSamples:
                continue
        text = (
            f"the bundle is written without a sample run, as the model takes none of the sizes tried: {unfit}"
        )
        warnings.warn(f"{text} (--input_hint_shape says which to try)", RuntimeWarning, stacklevel=3)
        self.plan.samples.clear()
        self.plan.meta.pop(SIZES, None)
        return write()

    def reserve_samples(self, size: int = samples.FREE_SIZE) -> bool:
        options, images = self.options, [p.name for p in self.preprocessing]
        if options.sample_seed is None:
            return False
        return samples.reserve(self.plan, options.sample_seed, images, options.hint_shapes, size)

    def _write(self, target: Path) -> None:
        where = self.options.external_weight
        if target.is_symlink():  # weights are beside the bundle itself
            target = Path(os.path.realpath(target))
        outside = WeightFiles(target, combined=where == 2) if where else None
        write_file(self.plan, self.model_def, target, self.options.soc_version, self._check, outside)

    def to_bytes(self) -> bytes:
        """The bundle in memory, verified and run. Of its code, what was generated here becomes trusted."""
        self._warn_of_shapes()
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
        samples.check_shapes(self.plan, results)
        wanted = self.options.self_check
        if results and wanted is None and (why := too_many(self.model)):
            say_shortened(why)
        elif results and wanted is not False:
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
            doubt = check_against_reference(
                given, self.plan, results, self.registry, bound, excuse, bool(wanted), self.preprocessing
            )
            self.doubts.extend([doubt] if doubt else [])
        return [np.ascontiguousarray(r).reshape(-1).view(np.uint8).data for r in results]


def _is_static(plan: Plan) -> bool:
    """Whether no size depends on what is fed: then sizes that don't fit are the plan's own."""
    parts = [p for p in plan.partitions if isinstance(p, NativePartition)]
    dims = [d for p in parts for v in p.values for d in v.dims] + [d for e in plan.edges for d in e.dims]
    lists = (e for e in plan.edges if e.is_input and e.dtype in INTEGERS and len(e.dims) == 1)
    return all(static(d) is not None for d in dims) and not any(lists)


def _natives(plan: Plan) -> list[Native]:
    code = (i.native for p in plan.partitions if isinstance(p, NativePartition) for i in p.insns)
    return list(dict.fromkeys(n for n in code if n is not None))
