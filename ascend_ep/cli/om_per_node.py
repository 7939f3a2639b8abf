"""ascend-om diff --per-node and --propose_keep_dtype: where error enters, and what to keep against it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ascend_ep import atomic_file
from ascend_ep.errors import AscendError

if TYPE_CHECKING:
    import onnx
    from numpy.typing import NDArray

    from ascend_ep.accuracy.keep_search import Accuracy
    from ascend_ep.accuracy.node_errors import Measure, NodeError
    from ascend_ep.compiler.convert_options import ConvertOptions
    from ascend_ep.opdef.registry import Registry
    from ascend_ep.runtime.session import InferenceSession

Found = dict[str, Any]
Arrays = Mapping[str, "NDArray[Any]"]

#: What the table can't show of bfloat16 convolutions, which need neighbours to be laid out for.
LONE = "(a convolution by itself computes in float32: errors of bfloat16 ones show in the outputs alone)"
SHOWN = 40  #: rows of the table that text shows; --json has all


def per_node(
    given: argparse.Namespace,
    session: InferenceSession,
    feeds: Arrays,
    source_feeds: Arrays,
    expected: Arrays,
    registry: Registry,
) -> tuple[Found, str, bool]:
    """The table of nodes, and the proposal if asked for; not good when an output misses --accuracy.

    `source_feeds`: what the model is given where the bundle is given `feeds`."""
    import onnx

    from ascend_ep.accuracy.keep_search import Accuracy, measure_outputs
    from ascend_ep.accuracy.node_errors import NodeErrors
    from ascend_ep.compiler.precision.precision import BFLOAT16_PRODUCTS
    from ascend_ep.runtime.session_apart import SessionApart

    accuracy = Accuracy.parse(given.accuracy)
    model = onnx.load(given.model)
    options = options_of(given.bundle, session, model, registry)
    outputs = measure_outputs(SessionApart(given.bundle), feeds, expected)
    errors = NodeErrors(model, options, feeds, registry, source_feeds).found()
    ok = all(accuracy.holds(m) for m in outputs.values())
    found: Found = {
        "precision": options.precision,
        "accuracy": str(accuracy),
        "outputs": {name: _numbers(m) for name, m in outputs.items()},
        "nodes": [_node(e) for e in errors],
    }
    notes = [LONE] if options.precision in BFLOAT16_PRODUCTS else []
    text = [table(errors), *notes, *(f"output {name}: {_text(m)}" for name, m in outputs.items())]
    if given.propose_keep_dtype is not None:
        proposal, lines, ok = propose(given, model, options, feeds, expected, accuracy, errors)
        found |= proposal
        text += lines
    return found, "\n".join([*text, f"{'PASS' if ok else 'FAIL'}: {accuracy}"]), ok


def options_of(
    path: str, session: InferenceSession, model: onnx.ModelProto, registry: Registry
) -> ConvertOptions:
    """The conversion that made a bundle, as its metadata tell."""
    from ascend_ep.cann.aipp.inserting import stored
    from ascend_ep.compiler.convert_options import ConvertOptions
    from ascend_ep.compiler.precision.implementation_modes import FastOperators
    from ascend_ep.compiler.precision.precision import PrecisionLists
    from ascend_ep.runtime.binding import lib, open_model
    from ascend_ep.runtime.bundle import Bundle

    meta = Bundle(open_model(path, flags=lib.ASC_OPEN_NO_NATIVE)).meta
    inputs = {i.name for i in model.graph.input}
    if strange := [a.name for a in session.get_inputs() if a.name not in inputs]:
        reason = (
            f"[{strange[0]}] is an input of the bundle, not of the model: what preprocesses it isn't compared"
        )
        raise AscendError("E40001", reason)
    own = [o.name for o in model.graph.output]
    names = [a.name for a in session.get_outputs()]
    return ConvertOptions(
        registry=registry,
        precision=meta.get("precision", "origin"),
        precision_lists=PrecisionLists.from_text(meta.get("precision_lists", "")),
        clip_weights=meta.get("weight_clip") != "0",
        fusions_off=[name for name in meta.get("fusions_off", "").split(",") if name],
        fast=FastOperators(
            [name for name in meta.get("fast_types", "").split(",") if name],
            [name for name in meta.get("fast_names", "").split("\n") if name],
        ),
        half_inputs=_half_inputs(session, model),
        preprocessing=stored(
            session.get_modelmeta().custom_metadata_map, {a.name: a.shape for a in session.get_inputs()}
        ),
        out_nodes=() if names == own else names,
        soc_version=meta.get("soc_version", ""),
        codegen="off",
    )


def _half_inputs(session: InferenceSession, model: onnx.ModelProto) -> list[str]:
    """Inputs that --input_fp16_nodes made float16."""
    from ascend_ep.opdef.dtypes import FLOAT16

    wide = {i.name for i in model.graph.input if i.type.tensor_type.elem_type != FLOAT16}
    return [a.name for a in session.get_inputs() if a.type == "tensor(float16)" and a.name in wide]


# ---- the proposal ------------------------------------------------------------------------------------


def propose(
    given: argparse.Namespace,
    model: onnx.ModelProto,
    options: ConvertOptions,
    feeds: Arrays,
    expected: Arrays,
    accuracy: Accuracy,
    errors: Sequence[NodeError],
) -> tuple[Found, list[str], bool]:
    """Searches the list, writes it, converts with it and measures the bundle that came of it."""
    from ascend_ep.accuracy.keep_search import Trials, measure_outputs, shortest_list
    from ascend_ep.compiler.convert import convert
    from ascend_ep.runtime.session_apart import SessionApart

    trials = Trials(model, options, feeds, expected, accuracy)
    names = list(dict.fromkeys(e.name for e in errors if e.changed))
    kept = shortest_list(names, trials.hold, lambda text: print(f"search: {text}", file=sys.stderr))
    bundle = Path(given.bundle)
    listed = Path(given.propose_keep_dtype or bundle.with_name(f"{bundle.stem}_keep_dtype.txt"))
    made = bundle.with_name(f"{bundle.stem}_keep_dtype.om")
    already = options.precision_lists.keep
    try:
        atomic_file.write(listed, "".join(f"{name}\n" for name in (*sorted(already), *kept)))
    except OSError as error:
        raise AscendError("E40002", f"can't write [{listed}]: {error.strerror}") from error
    lists = replace(options.precision_lists, keep=frozenset(already) | frozenset(kept))
    convert(model, replace(options, precision_lists=lists, self_check=False)).write(made)
    outputs = measure_outputs(SessionApart(made), feeds, expected)
    ok = all(accuracy.holds(m) for m in outputs.values())
    found: Found = {
        "keep_dtype": kept,
        "file": str(listed),
        "bundle": str(made),
        "conversions": len(trials.measured),
        "kept_outputs": {name: _numbers(m) for name, m in outputs.items()},
    }
    lines = [
        "",
        f"{len(kept)} of {len(names)} nodes kept restore it ({len(trials.measured)} conversions tried):",
        *(f"  {name}" for name in kept),
        f"written to {listed}: give it to ascend-atc as --keep_dtype={listed}",
        f"converted with it to {made}:",
        *(f"output {name}: {_text(m)}" for name, m in outputs.items()),
    ]
    return found, lines, ok


# ---- showing -------------------------------------------------------------------------------------------


def table(errors: Sequence[NodeError]) -> str:
    """A row for each result, the largest error of the node's own first."""
    from ascend_ep.opdef import dtypes

    head = f"{'node':<32} {'operator':<18} {'type':<8} {'own':>9} {'ulp':>9} | {'total':>9}"
    head += f" {'rms':>9} {'cosine':>10}"
    rows = [
        f"{_short(e.name, 32):<32} {_short(e.op_type, 18):<18} {dtypes.name(e.dtype):<8}"
        f" {e.own.relative:>9.2e} {e.own.ulp:>9.3g} | {e.total.relative:>9.2e} {e.total.rms:>9.2e}"
        f" {e.total.cosine:>10.7f}"
        for e in errors[:SHOWN]
    ]
    more = [f"... and {len(errors) - SHOWN} more with less"] if len(errors) > SHOWN else []
    return "\n".join([head, *rows, *more])


def _short(text: str, width: int) -> str:
    return text if len(text) <= width else f"..{text[-(width - 2) :]}"


def _text(m: Measure) -> str:
    return f"relative {m.relative:.3g}, rms {m.rms:.3g}, cosine {m.cosine:.7f}"


def _numbers(m: Measure) -> Found:
    from ascend_ep.accuracy.keep_search import finite

    return {
        "cosine": m.cosine,
        "relative": finite(m.relative),
        "rms": finite(m.rms),
        "ulp": finite(m.ulp),
    }


def _node(e: NodeError) -> Found:
    from ascend_ep.opdef import dtypes

    found: Found = {"name": e.name, "op_type": e.op_type, "value": e.value, "type": dtypes.name(e.dtype)}
    return found | {"changed": e.changed, "own": _numbers(e.own), "total": _numbers(e.total)}
