"""A run is one call into C, whatever the order and number of its operands."""

from __future__ import annotations

import numpy as np
import onnx.parser
import pytest
from small_models import rows

import ascend_ep
from ascend_ep.compiler.convert import convert


def test_inputs_that_are_used_in_another_order_take_one_call_too() -> None:
    text = """<ir_version: 10, opset_import: ["": 21]>
      g (float[N] a, float[M,1] b, float[N] c) => (float[M,N] y)
      { d = Exp(c)  e = Sub(b, d)  y = Mul(e, a) }"""
    session = ascend_ep.InferenceSession(convert(onnx.parser.parse_model(text)).to_bytes())
    (partition,) = session._executor.bundle.partitions
    assert [e.index for e in session._executor.inputs] != list(partition.inputs)
    for n, m in ((3, 2), (4, 1), (3, 2)):
        a, b, c = np.arange(n, dtype=np.float32), np.ones((m, 1), np.float32), np.full(n, -1, np.float32)
        expected = (b - np.exp(c)) * a
        for _ in range(2):
            (y,) = session.run(None, {"c": c, "a": a, "b": b})
            np.testing.assert_allclose(y, expected, rtol=1e-6)
            assert session._executor._call is not None
        binding, target = session.io_binding(), np.zeros((m, n), np.float32)
        for name, array in (("b", b), ("a", a), ("c", c)):
            binding.bind_cpu_input(name, array)
        binding.bind_ortvalue_output("y", ascend_ep.OrtValue.ortvalue_from_numpy(target))
        session.run_with_iobinding(binding)
        np.testing.assert_allclose(binding.get_outputs()[0].numpy(), expected, rtol=1e-6)


def test_as_many_operands_as_a_decoder_has_take_one_call_too() -> None:
    """Keys and values of 40 layers: 80 inputs, 80 outputs."""
    names = [f"{kind}{layer}" for layer in range(40) for kind in "kv"]
    declared = ", ".join(f"float[1,N] {n}" for n in names)
    made = ", ".join(f"float[1,M] {n}_next" for n in names)
    body = " ".join(f"{n}_next = Concat<axis=1>({n}, x)" for n in names)
    text = (
        f"""<ir_version: 10, opset_import: ["": 21]> g (float[1,1] x, {declared}) => ({made}) {{ {body} }}"""
    )
    session = ascend_ep.InferenceSession(convert(onnx.parser.parse_model(text)).to_bytes())
    for length in (3, 4, 3):
        feeds = {n: np.full((1, length), i, np.float32) for i, n in enumerate(names)}
        feeds["x"] = np.full((1, 1), -1, np.float32)
        for _ in range(2):
            for i, y in enumerate(session.run(None, feeds)):
                np.testing.assert_array_equal(y, [[i] * length + [-1]])
            assert session._executor._call is not None


def test_a_call_takes_only_what_it_was_made_for(bundle: bytes) -> None:
    from ascend_ep.runtime._call import Call
    from ascend_ep.runtime.binding import fail, ffi

    session = ascend_ep.InferenceSession(bundle)
    x = rows(4)
    session.run(None, {"x": x})
    call = session._executor._call
    assert isinstance(call, Call)
    with pytest.raises(TypeError):
        call.run({"x": x}, None, "no address")
    bound = session._executor._whole.bind(((4, 16),))
    unaligned = np.zeros(8 * 4 * 4 + 1, np.uint8)[1:].view(np.float32).reshape(8, 4)
    outputs = ((lambda: unaligned, np.dtype(np.float32), (8, 4)),)
    inputs = (("x", np.dtype(np.float32), (4, 16)),)
    address = int(ffi.cast("uintptr_t", bound.pointer))
    made = Call(address, bound, inputs, outputs, lambda at: fail(ffi.cast("asc_status *", at), "here"))
    for _ in range(3):
        assert made.run({"x": x}) is None  # numpy says that it isn't aligned
        assert made.run({"x": x}, [np.empty((8, 4), np.float32)]) is not None
    with pytest.raises(ZeroDivisionError):
        Call(address, bound, inputs, ((lambda: 1 / 0, *outputs[0][1:]),), fail).run({"x": x})
