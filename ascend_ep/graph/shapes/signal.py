"""Shapes of spectra and windows."""

from __future__ import annotations

from ascend_ep.graph.facts import Fact
from ascend_ep.graph.shapes.rule import Call, infers
from ascend_ep.opdef.dims import floordiv


@infers("STFT")
def infer_stft(call: Call) -> Fact:
    batch, samples = (call.dims(0) if call.fact(0).dims else call.dims(0, 3))[:2]
    step = (call.fact(1).shape_value or (None,))[0]
    window = call.fact(2).dims if call.has(2) else None
    length = (call.fact(3).shape_value or (None,))[0] if call.has(3) else window[0] if window else None
    if length is None:
        return Fact(dims=[batch, *call.fresh_dims(0, 3)[1:], 2])
    frames = call.fresh(0, 1) if step is None else floordiv(samples - length, step) + 1
    bins = floordiv(length, 2) + 1 if call.attr("onesided", 1) else length
    return Fact(dims=[batch, frames, bins, 2])


@infers("MelWeightMatrix")
def infer_mel_weights(call: Call) -> Fact:
    """A row for each bin of a spectrum, a column for each mel band."""
    bands, points = ((call.fact(i).shape_value or (None,))[0] for i in (0, 1))
    rows = call.fresh(0, 0) if points is None else floordiv(points, 2) + 1
    return Fact(int(call.attr("output_datatype", 1)), [rows, call.fresh(0, 1) if bands is None else bands])


@infers("BlackmanWindow", "HannWindow", "HammingWindow")
def infer_window(call: Call) -> Fact:
    values = call.fact(0).shape_value
    return Fact(int(call.attr("output_datatype", 1)), [values[0] if values else call.fresh(0, 0)])
