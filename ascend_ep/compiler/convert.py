"""From an ONNX model to a bundle: load, infer, simplify, partition, lower, write, verify, check.

conversion = convert("m.onnx", ConvertOptions())
conversion.write(Path("m.om"))
"""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, replace
from functools import partial

import onnx_ir as ir

from ascend_ep.cann.aipp.inserting import dynamic_metadata, insert_aipp, insert_stored, metadata
from ascend_ep.cann.soc import Soc, find_soc
from ascend_ep.cann.soc_limits import Limit, soc_limits
from ascend_ep.compiler.custom_ops.library_trials import try_libraries
from ascend_ep.compiler.custom_ops.native_op import FormulaCode
from ascend_ep.compiler.custom_ops.notices import say_broken_proofs, say_idle_keys, say_unused
from ascend_ep.compiler.precision.precision import EXACT, check_mode
from ascend_ep.compiler.precision.precision_pass import node_names
from ascend_ep.errors import AscendError
from ascend_ep.graph.apart import has_names, shares_names, without_names
from ascend_ep.graph.declared import set_input_shapes
from ascend_ep.graph.facts import Facts
from ascend_ep.graph.fusion.ledger import Ledger, Outcome
from ascend_ep.graph.load import load_model
from ascend_ep.graph.partition import Partition
from ascend_ep.graph.passes.known_facts import KnownFacts
from ascend_ep.graph.passes.pipeline import run_passes
from ascend_ep.graph.setbacks import Setback, optional, persevere, step
from ascend_ep.graph.shape_inference import infer_believing, infer_facts
from ascend_ep.graph.sizes_from_data import may_believe
from ascend_ep.opdef.registry import Registry
from ascend_ep.plan.dump import MODEL, OFF, Dump, model_text
from ascend_ep.plan.plan import Plan, SymbolRange
from ascend_ep.plan.writing.origin import origin

from .apart import align_boundaries, ranges_apart
from .assembly import Assembly
from .claims import NATIVE, NOT_LOWERED, Claims, check_hosts
from .conversion import Conversion
from .convert_options import ConvertOptions, Source
from .origins import SourceNames, note_origins
from .outputs import cast_outputs, read_half_inputs, select_outputs
from .partition_table import partition_table
from .pipeline import PLAN, TYPES, TypedModel, WholePlan, run_stage
from .samples import bindings
from .semantics import Semantics
from .weighing import worthwhile_partitions


def convert(source: Source, options: ConvertOptions | None = None) -> Conversion:
    """Converts a model, a path or its bytes. Names and dims of its inputs and outputs stay as they are.

    A step that raises what it shouldn't is left out, or its nodes to the host, and said in a warning.
    Raises AscendError: E10410, E10041 for the file, E19010 naming all unknown operators, E19014 for
    impossible shapes, E20001 for an operator that nothing can run.
    """
    options = options or ConvertOptions()
    check_mode(options.precision)
    dump = Dump(options.dump)
    conversion, setbacks = persevere(lambda: _convert(source, options, dump))
    if conversion.facts.constraints.setback:
        setbacks["constraints of sizes"] = conversion.facts.constraints.setback
    for name, reason in setbacks.items():
        text = f"the conversion does without [{name}], which raised {reason}: a mistake of ascend-ep"
        warnings.warn(text, RuntimeWarning, stacklevel=2)
    return conversion


def _convert(source: Source, options: ConvertOptions, dump: Dump) -> Conversion:
    dump.restart()
    where = str(source) if isinstance(source, str | os.PathLike) else "the given model"
    registry = options.registry or Registry.from_options()
    options.progress("loading")
    model = load_model(source, base_dir=options.base_dir, memory=options.memory)
    dump.model("loaded", model)
    registry = registry.beside([(domain, name) for domain, name, _ in model.functions])
    say_unused(registry)
    say_broken_proofs(registry, model)
    names = SourceNames.of(model)
    declare(model, options)
    insert_stored(model, options.preprocessing)
    dynamic = dynamic_metadata(model, options.aipp)
    preprocessing = (*options.preprocessing, *insert_aipp(model, options.aipp, options.half_inputs))
    options.progress("inferring shapes")
    if options.output_types:
        cast_outputs(model, infer_facts(model, registry), options.output_types)
    soc = find_soc(options.soc_version) if options.soc_version else None
    limits = _limits(model, registry, options, soc, dump)
    shared = shares_names(model)
    says_more = has_names(model) or may_believe(model)
    copy = without_names(model) if says_more and not options.profiles else None
    options.progress("simplifying")
    ledger = Ledger(options.fusions_off, soc.ub if soc else None)
    planned = _planned(model, registry, options, names, dump, where, ledger, believe=copy is not None)
    if copy is not None and (shared or planned.facts.constraints.by_declaration):
        fresh = ledger.fresh()
        apart = partial(_plan_apart, copy, planned.plan, registry, options, names, where, fresh)
        planned.plan.apart = optional("plan without names of sizes", apart, otherwise=None)
    plan, model, facts = planned.plan, planned.model, planned.facts
    say_idle_keys(planned.semantics, model, facts)
    plan.meta |= origin(model, options, where) | metadata(preprocessing) | dynamic
    table = partition_table(planned.parts, planned.semantics)
    said = (planned.fusions, preprocessing, tuple(limits))
    conversion = Conversion(plan, table, model, facts, options, where, source, registry, *said)
    optional("samples", conversion.reserve_samples, otherwise=False)
    tried = partial(_tried, conversion, planned.semantics)
    if not optional("trials of libraries", tried, otherwise=True):
        plan.samples.clear()  # they would end this process too
    dump.plan("plan", plan)
    return conversion


@dataclass(frozen=True)
class _Planned:
    """A plan, and what it was made of."""

    plan: Plan
    model: ir.Model
    facts: Facts
    semantics: Semantics
    parts: list[Partition]
    fusions: tuple[Outcome, ...]


def _planned(
    model: ir.Model,
    registry: Registry,
    options: ConvertOptions,
    names: SourceNames,
    dump: Dump,
    where: str,
    ledger: Ledger,
    believe: bool = False,
) -> _Planned:
    """The plan of a loaded model, which had these `names` as it was given. `believe` as in `infer_facts`."""
    known = KnownFacts(registry)
    if options.passes:
        changed = partial(_dump_model, dump) if dump.is_on else None
        model = run_passes(model, registry, ledger=ledger, facts=known, watch=changed)
        dump.model("simplified", model)
    options.precision_lists.check_names({*names.nodes, *node_names(model)})
    facts = _typed(model, known.of(model), registry, options, dump)
    if believe and may_believe(model):
        facts = infer_believing(model, registry, facts.constraints)
    semantics = Semantics(model, registry)
    with step(NATIVE):
        parts, plan, fusions = _lowered(model, facts, semantics, options, dump, where, ledger)
    plan.symbols |= {s: SymbolRange(*r) for s, r in options.symbol_ranges.items() if s in plan.symbols}
    plan.profiles = [{s: n for s, n in p.items() if s in plan.symbols} for p in options.profiles]
    of_calls = ledger.fresh()
    run_stage(PLAN, WholePlan(plan, options, of_calls), dump)
    optional("origins of values", partial(note_origins, plan, model, facts, names), otherwise=None)
    return _Planned(plan, model, facts, semantics, parts, (*fusions, *of_calls.outcomes))


def _dump_model(dump: Dump, step: str, model: ir.Model) -> None:
    dump.change(MODEL, step, partial(model_text, model))


def _plan_apart(
    model: ir.Model,
    plan: Plan,
    registry: Registry,
    options: ConvertOptions,
    names: SourceNames,
    where: str,
    ledger: Ledger,
) -> Plan | None:
    """The plan of the same model without the names of its sizes, in the partitions of `plan` where it can be;
    None for a model that says nothing without them."""
    ranges = ranges_apart(plan.edges, options.symbol_ranges)
    quiet = replace(options, codegen="off", symbol_ranges=ranges, dump=None, progress=lambda _: None)
    try:
        apart = _planned(model, registry, quiet, names, OFF, where, ledger).plan
    except (AscendError, Setback):
        return None
    align_boundaries(plan, apart)
    return apart


def _tried(conversion: Conversion, semantics: Semantics) -> bool:
    """Whether users' libraries survive samples, where a bundle is to be written."""
    options = conversion.options
    if options.sample_seed is None:
        return True
    sizes = bindings(conversion.plan, hints=options.hint_shapes)
    return try_libraries(semantics, conversion.model, conversion.facts, sizes, options.progress)


def declare(model: ir.Model, options: ConvertOptions) -> None:
    """Gives a loaded model the input types and shapes and the outputs that the options ask for."""
    if options.half_inputs:
        read_half_inputs(model, options.half_inputs)
    if options.input_shapes:
        set_input_shapes(model, options.input_shapes)
    if options.out_nodes:
        select_outputs(model, options.out_nodes)


def _limits(
    model: ir.Model, registry: Registry, options: ConvertOptions, soc: Soc | None, dump: Dump
) -> list[Limit]:
    """What the chip doesn't have, of the model as it was given."""
    if not (options.dump or soc):
        return []
    facts = infer_facts(model, registry)
    dump.facts("shapes", model, facts)
    exact = options.precision in EXACT
    return soc_limits(model, facts, soc, options.precision, exact=exact) if soc else []


def _typed(model: ir.Model, facts: Facts, registry: Registry, options: ConvertOptions, dump: Dump) -> Facts:
    """Gives a simplified model the types that the precision asks for; the facts of what it is then."""
    work = TypedModel(model, facts, registry, options)
    run_stage(TYPES, work, dump)
    if work.needs_types:
        facts = infer_facts(model, registry, constraints=facts.constraints)
    if options.after_types is not None:
        options.after_types(model, facts)
        facts = infer_facts(model, registry, constraints=facts.constraints)
    return facts


def _lowered(
    model: ir.Model,
    facts: Facts,
    semantics: Semantics,
    options: ConvertOptions,
    dump: Dump,
    where: str,
    ledger: Ledger,
) -> tuple[list[Partition], Plan, tuple[Outcome, ...]]:
    """As `_build`, without a trial of each node where all are expected to be native, as long as they are."""
    build = partial(_build, model, facts, semantics, options, dump, where, ledger)
    try:
        return build(Claims(semantics, facts, trial=not options.expect_native))
    except (*NOT_LOWERED, Setback):
        if not options.expect_native:
            raise
        return build(Claims(semantics, facts))


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
    parts = worthwhile_partitions(model, claims, facts, semantics)
    dump.partitions("partitions", parts)
    check_hosts({n: why for p in parts for n, why in p.reasons.items()}, semantics, where)
    options.progress("lowering")
    code = FormulaCode(options.codegen, options.search_seconds)
    assembly = Assembly(model, facts, semantics, claims, code, options.fallback, ledger, dump)
    plan = assembly.build(parts)
    return parts, plan, (*ledger.outcomes, *assembly.fusions)
