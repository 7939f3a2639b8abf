"""The pipeline: every pass of a conversion, in order. What one leaves is what the next looks for.

The model is loaded, simplified (MODEL_STAGES, in graph/passes/pipeline.py) and given its types. It is then
partitioned; each native partition is lowered to instructions, which are fused among each other; last come
the passes over the whole plan. A pass that raises costs that pass, not the conversion (graph/setbacks.py).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Generic, Protocol, TypeVar

import onnx_ir as ir

from ascend_ep.graph.facts import Facts
from ascend_ep.graph.fusion.ledger import Ledger
from ascend_ep.graph.passes.contract import is_verifying, verify
from ascend_ep.graph.passes.pipeline import MODEL_STAGES
from ascend_ep.graph.passes.stage import Pass, Stage
from ascend_ep.graph.setbacks import optional
from ascend_ep.opdef.registry import Registry
from ascend_ep.plan.dump import MODEL, OFF, Dump, model_text, partition_text, plan_text
from ascend_ep.plan.plan import NativePartition, Plan
from ascend_ep.plan.plan_check import check_partition, check_plan
from ascend_ep.plan.value_uses import needed_symbols

from .convert_options import ConvertOptions
from .precision.precision import BFLOAT16_PRODUCTS, FLOAT32_PRODUCTS
from .precision.precision_pass import apply_precision, is_needed
from .rewrites.byte_binary import combine_bytes, combine_rows
from .rewrites.byte_functions import part_functions
from .rewrites.byte_sums import sum_in_convolutions
from .rewrites.byte_tables import tabulate_bytes
from .rewrites.channels_last import lay_channels_last
from .rewrites.conv_prologue import take_prologues
from .rewrites.forward_copies import forward_copies
from .rewrites.fuse_cache import fuse_caches
from .rewrites.fuse_elementwise import fuse_elementwise
from .rewrites.fuse_epilogue import fuse_epilogues
from .rewrites.fuse_norm import fuse_norms
from .rewrites.gate_products import gate_products
from .rewrites.group_norms import fuse_group_norms
from .rewrites.half_weights import store_fp16_weights
from .rewrites.join_groups import join_groups
from .rewrites.join_neighbours import join_neighbours
from .rewrites.narrow_activations import narrow_activations
from .rewrites.narrow_products import narrow_products
from .rewrites.norm_prologue import take_norms
from .rewrites.product_chains import weigh_product_chains
from .rewrites.quantised_products import quantise_products
from .rewrites.rounding import postpone_rounding, round_in_epilogues
from .rewrites.row_indices import take_rows
from .rewrites.unfused import take_unfused
from .rewrites.winograd import use_winograd

FUSION_SWITCH = "`--fusion_switch_file`, rule {}"


# --- what passes work on ----------------------------------------------------------------------------


@dataclass(frozen=True)
class TypedModel:
    """A simplified model that is to get the types that the options ask for."""

    model: ir.Model
    facts: Facts
    registry: Registry
    options: ConvertOptions

    @cached_property
    def needs_types(self) -> bool:
        """Whether any node may get other types than it has."""
        lists = self.options.precision_lists
        return is_needed(self.model, self.facts, self.registry, self.options.precision, lists)

    @property
    def title(self) -> str:
        return MODEL

    def check(self, when: str) -> None:
        verify(self.model, when)

    def text(self) -> str:
        return model_text(self.model)


@dataclass(frozen=True)
class LoweredPartition:
    """A native partition as it was lowered.

    `elementwise`: outputs of library calls that are functions of each element by itself.
    `variant`: "compiled" when it calls compiled code, beside the plain one.
    """

    part: NativePartition
    ledger: Ledger
    elementwise: Collection[str] = ()
    variant: str = ""

    @property
    def title(self) -> str:
        return "-".join(filter(None, (self.part.name, self.variant)))

    @cached_property
    def symbols(self) -> set[str]:
        """The symbols that it was lowered with: passes bring no others."""
        return needed_symbols(self.part.values, self.part.insns)

    def check(self, when: str) -> None:
        check_partition(self.part, when, self.symbols)

    def text(self) -> str:
        return partition_text(self.part)


@dataclass(frozen=True)
class WholePlan:
    """The plan of all partitions."""

    plan: Plan
    options: ConvertOptions
    ledger: Ledger

    @property
    def title(self) -> str:
        return "plan"

    def check(self, when: str) -> None:
        check_plan(self.plan, when)

    def text(self) -> str:
        return plan_text(self.plan)


class Seen(Protocol):
    """What passes work on, and how it is seen between them: `check` raises E19999 where it is illegal, and
    says `when`; `text` is for a dump, under its title."""

    @property
    def title(self) -> str: ...

    def check(self, when: str) -> None: ...

    def text(self) -> str: ...


Work = TypeVar("Work", bound=Seen)


@dataclass(frozen=True, kw_only=True)
class WorkPass(Pass, Generic[Work]):
    """A pass that changes its work in place."""

    run: Callable[[Work], object]
    applies: Callable[[Work], bool] = lambda _: True


# --- the list ---------------------------------------------------------------------------------------

Types = WorkPass[TypedModel]
TYPES = Stage[Types](
    "Types",
    "model",
    (
        Types(
            "simplify_gelu",
            needs="GELU as one node",
            leaves="its tanh form, of the nodes that are to be fast",
            switch="`--op_select_implmode`, `--optypelist_for_implmode`, `--op_precision_mode`",
            applies=lambda w: bool(w.options.fast),
            run=lambda w: w.options.fast.simplify_gelu(w.model),
        ),
        Types(
            "apply_precision",
            needs="facts of the values",
            leaves="each native node in the types it computes in, casts between them",
            switch="`--precision_mode`, `--precision_mode_v2`, `--modify_mixlist`, `--keep_dtype`",
            applies=lambda w: w.needs_types,
            run=lambda w: apply_precision(
                w.model,
                w.facts,
                w.registry,
                w.options.precision,
                w.options.precision_lists,
                w.options.clip_weights,
            ),
        ),
    ),
)


def _merge_elementwise(work: LoweredPartition) -> None:
    work.part.insns[:] = fuse_elementwise(work.part.insns, work.ledger)


OfPartition = WorkPass[LoweredPartition]
PARTITION = Stage[OfPartition](
    "Rewrites of a partition",
    "native partition",
    (
        OfPartition(
            "quantise_products",
            needs="dequantised constants as lowered",
            leaves="products that read int8 weights, without the floats between",
            run=lambda w: quantise_products(w.part),
        ),
        OfPartition(
            "take_rows",
            needs="repeated indices as copies of views",
            leaves="gathers and scatters of whole slices in the place of those of elements",
            run=lambda w: take_rows(w.part),
        ),
        OfPartition(
            "postpone_rounding",
            needs="roundings as instructions of their own",
            leaves="limits before the rounding that they followed",
            run=lambda w: postpone_rounding(w.part),
        ),
        OfPartition(
            "fuse_epilogues",
            needs="elementwise instructions not merged yet",
            leaves="sums and activations behind a product as its epilogue",
            switch=FUSION_SWITCH.format("ProductEpilogueFusionPass"),
            run=lambda w: fuse_epilogues(w.part, w.ledger),
        ),
        OfPartition(
            "fuse_norms",
            needs="elementwise instructions not merged yet",
            leaves="the sum before an RMSNorm and the GELU behind a LayerNorm in its call",
            switch=FUSION_SWITCH.format("NormResidualFusionPass, NormGeluFusionPass"),
            run=lambda w: fuse_norms(w.part, w.ledger),
        ),
        OfPartition(
            "fuse_group_norms",
            needs="elementwise instructions not merged yet",
            leaves="InstanceNormalization of groups, scale and shift behind as one call on the image",
            switch=FUSION_SWITCH.format("GroupNormFusionPass"),
            run=lambda w: fuse_group_norms(w.part, w.ledger),
        ),
        OfPartition(
            "fuse_caches",
            needs="concatenations of past and new keys and values",
            leaves="attention that appends them itself",
            switch=FUSION_SWITCH.format("CacheAppendFusionPass"),
            run=lambda w: fuse_caches(w.part, w.ledger),
        ),
        OfPartition(
            "round_in_epilogues",
            needs="products with their epilogues",
            leaves="products that round their results themselves",
            run=lambda w: round_in_epilogues(w.part),
        ),
        OfPartition(
            "lay_channels_last",
            needs="convolutions with their epilogues",
            leaves="regions of convolutions with channels last, copies where they begin and end",
            run=lambda w: lay_channels_last(w.part, w.elementwise),
        ),
        OfPartition(
            "forward_copies",
            needs="copies around regions with channels last",
            leaves="what was copied twice read where it lay first",
            run=lambda w: forward_copies(w.part),
        ),
        OfPartition(
            "fuse_elementwise",
            needs="what else takes elementwise instructions has done so",
            leaves="neighbouring elementwise instructions as one",
            switch=FUSION_SWITCH.format("ElementwiseChainFusionPass"),
            run=_merge_elementwise,
        ),
        OfPartition(
            "take_unfused",
            needs="elementwise instructions as merged as they will be",
            leaves="the kernel of just that in the place of what nothing joined",
            run=lambda w: take_unfused(w.part),
        ),
        OfPartition(
            "part_functions",
            needs="elementwise instructions as merged as they will be",
            leaves="functions of one 8-bit image and sums of two, within others, as their own instructions",
            run=lambda w: part_functions(w.part),
        ),
        OfPartition(
            "combine_rows",
            needs="elementwise instructions as merged as they will be",
            leaves="sums and products of an 8-bit image and a row as one kernel",
            run=lambda w: combine_rows(w.part),
        ),
        OfPartition(
            "tabulate_bytes",
            needs="elementwise instructions as merged as they will be",
            leaves="functions of one 8-bit image as tables of their 256 results",
            run=lambda w: tabulate_bytes(w.part),
        ),
        OfPartition(
            "combine_bytes",
            needs="elementwise instructions as merged as they will be",
            leaves="sums and products of two 8-bit images as one kernel",
            run=lambda w: combine_bytes(w.part),
        ),
        OfPartition(
            "sum_in_convolutions",
            needs="sums of two 8-bit images as one kernel, convolutions with channels last",
            leaves="sums in the convolution that makes one of the two",
            run=lambda w: sum_in_convolutions(w.part),
        ),
    ),
)


def _narrows(work: WholePlan) -> bool:
    precision = work.options.precision
    return precision in BFLOAT16_PRODUCTS or bool(work.options.fast and precision in FLOAT32_PRODUCTS)


def _narrow(work: WholePlan) -> None:
    lists = work.options.precision_lists
    if work.options.precision in BFLOAT16_PRODUCTS:
        narrow_products(work.plan, lists.products(), lists.names_product)
    else:
        narrow_products(work.plan, work.options.fast.product)


OfPlan = WorkPass[WholePlan]
PLAN = Stage[OfPlan](
    "Rewrites of the plan",
    "whole plan",
    (
        OfPlan(
            "join_groups",
            needs="convolutions with channels last",
            leaves="those of many small groups with several at a time",
            run=lambda w: join_groups(w.plan),
        ),
        OfPlan(
            "narrow_products",
            needs="weights in panels of float32",
            leaves="products, convolutions and attention in bfloat16",
            switch="`--precision_mode_v2=mixed_bfloat16` and the like; `--op_select_implmode`",
            applies=_narrows,
            run=_narrow,
        ),
        OfPlan(
            "store_fp16_weights",
            needs="weights that stay float32",
            leaves="those that float16 holds exactly as float16",
            run=lambda w: store_fp16_weights(w.plan),
        ),
        OfPlan(
            "gate_products",
            needs="SwiGLU of two products",
            leaves="both as one gated product, which takes a norm, too",
            switch=FUSION_SWITCH.format("GatedProductsFusionPass"),
            run=lambda w: gate_products(w.plan, w.ledger),
        ),
        OfPlan(
            "take_norms",
            needs="gated products as one",
            leaves="RMSNorms in the products that alone read them",
            switch=FUSION_SWITCH.format("NormPrologueFusionPass"),
            run=lambda w: take_norms(w.plan, w.ledger),
        ),
        OfPlan(
            "narrow_activations",
            needs="products in bfloat16, with their norms",
            leaves="what they alone read stored in bfloat16",
            run=lambda w: narrow_activations(w.plan),
        ),
        OfPlan(
            "use_winograd",
            needs="convolutions of 3 x 3 that stay float32, channels last",
            leaves="their transformed form",
            run=lambda w: use_winograd(w.plan),
        ),
        OfPlan(
            "join_neighbours",
            needs="convolutions of few outputs, channels last",
            leaves="several neighbours of a line made at once",
            run=lambda w: join_neighbours(w.plan),
        ),
        OfPlan(
            "take_prologues",
            needs="convolutions as they will run",
            leaves="what one alone reads, put together, scaled, shifted and limited, in its reading",
            switch=FUSION_SWITCH.format("ConvPrologueFusionPass"),
            run=lambda w: take_prologues(w.plan, w.ledger),
        ),
        OfPlan(
            "weigh_product_chains",
            needs="products as they will run",
            leaves="the plan as it is; the ledger with what fusing them would save",
            switch=FUSION_SWITCH.format("ProductChainFusionPass"),
            run=lambda w: weigh_product_chains(w.plan, w.ledger),
        ),
    ),
)

#: Every pass of a conversion, in order.
PIPELINE: tuple[Stage[Pass], ...] = (*MODEL_STAGES, TYPES, PARTITION, PLAN)


# --- running it -------------------------------------------------------------------------------------


def run_stage(stage: Stage[WorkPass[Work]], work: Work, dump: Dump = OFF) -> None:
    """Runs the passes of a stage that apply, in order; each is a step that a conversion can do without.

    `dump` gets what each changed. With ASCEND_EP_VERIFY=1 the work is checked before the first and after
    every one.
    """
    if work.title != MODEL:  # of which the dump has all that came before
        dump.state(work.title, "before", work.text)
    if is_verifying():
        work.check(f"before {stage.title.lower()}")
    for each in stage.passes:
        if each.applies(work):
            optional(f"pass {each.name}", partial(_run, each, work, dump), otherwise=None)


def _run(each: WorkPass[Work], work: Work, dump: Dump) -> None:
    each.run(work)
    dump.change(work.title, each.name, work.text)
    if is_verifying():
        work.check(f"after pass {each.name}")
