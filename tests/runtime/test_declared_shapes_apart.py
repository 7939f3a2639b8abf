"""Data that contradict the shapes that a model declares, on every way to run a bundle."""

from __future__ import annotations

import warnings

import numpy as np
import onnx.parser
import pytest

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.errors import AscendError
from ascend_ep.runtime.binding import ffi, lib, new_status, open_model
from ascend_ep.runtime.bundle import Bundle

X = np.arange(12, dtype=np.float32).reshape(3, 4)
FIRST, LAST, BEYOND = (np.array([axis]) for axis in (0, 1, 2))
SAID = "the output's dims are wrong: declared shapes and names of dimensions don't count"


def summed(declared: str = "float[1,4]") -> bytes:
    """The sum over an axis that is fed, of which the model says that it is the first."""
    text = f'<ir_version: 10, opset_import: ["": 21]> g (float[3,4] x, int64[1] a) => ({declared} y) {{'
    model = onnx.parser.parse_model(text + " s = ReduceSum(x, a) y = Neg(s) }")
    return convert(model, ConvertOptions(precision="origin")).to_bytes()


def session() -> ascend_ep.InferenceSession:
    made = ascend_ep.InferenceSession(summed())
    assert [p.is_native for p in made.bundle.partitions] == [True]
    return made


def test_one_plan_where_the_model_declares_nothing_of_it() -> None:
    assert Bundle(open_model(summed("float[K,M]"))).apart is None
    assert Bundle(open_model(summed())).apart is not None


def test_nothing_is_believed_of_a_node_of_the_host() -> None:
    """No kernel takes these axes as it runs."""
    text = '<ir_version: 10, opset_import: ["": 21]> g (float[3,4] x, int64[1] a) => (float[1,4] y) {'
    model = onnx.parser.parse_model(text + " s = ReduceLogSumExp(x, a) y = Neg(s) }")
    own = ascend_ep.InferenceSession(convert(model, ConvertOptions(precision="origin")).to_bytes())
    assert own.bundle.apart is None
    assert own.run(None, {"x": X, "a": LAST})[0].shape == (3, 1)


def test_it_runs_and_is_said_once() -> None:
    own = session()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(2):  # the second time in one call
            np.testing.assert_array_equal(own.run(None, {"x": X, "a": FIRST})[0], -X.sum(0, keepdims=True))
        assert not said
        for axis in (LAST, FIRST, LAST, LAST):
            made = own.run(None, {"x": X, "a": axis})[0]
            np.testing.assert_array_equal(made, -X.sum(int(axis[0]), keepdims=True))
    assert [SAID in str(w.message) for w in said] == [True]


def test_what_both_plans_refuse_is_the_datas_fault() -> None:
    own = session()
    for _ in range(2):
        with pytest.raises(AscendError, match=r"E40011.*axis 2 is outside a rank of 2"):
            own.run(None, {"x": X, "a": BEYOND})
    np.testing.assert_array_equal(own.run(None, {"x": X, "a": FIRST})[0], -X.sum(0, keepdims=True))


@pytest.mark.filterwarnings("ignore:.*don't count:RuntimeWarning")
def test_bound_outputs() -> None:
    own = session()
    binding, target = own.io_binding(), np.zeros((1, 4), np.float32)
    binding.bind_cpu_input("x", X)
    for axis, wanted in ((FIRST, (1, 4)), (FIRST, (1, 4)), (LAST, (3, 1)), (FIRST, (1, 4))):
        binding.bind_cpu_input("a", axis)
        binding.bind_output("y")
        own.run_with_iobinding(binding)
        assert binding.get_outputs()[0].numpy().shape == wanted
    binding.bind_ortvalue_output("y", ascend_ep.OrtValue.ortvalue_from_numpy(target))
    own.run_with_iobinding(binding)
    np.testing.assert_array_equal(binding.get_outputs()[0].numpy(), -X.sum(0, keepdims=True))
    binding.bind_cpu_input("a", LAST)
    with pytest.raises(AscendError, match=r"E40007.*float32\[3, 1\]; the bound buffer is float32\[1, 4\]"):
        own.run_with_iobinding(binding)


@pytest.mark.filterwarnings("ignore:.*don't count:RuntimeWarning")
def test_a_timed_run_needs_more_than_one_call() -> None:
    own = session()
    own.run(None, {"x": X, "a": FIRST})
    ns = ffi.new("uint64_t[]", 64)
    assert own._executor.run_timed({"x": X, "a": FIRST}, ns) is not None
    assert own._executor.run_timed({"x": X, "a": LAST}, ns) is None


def test_a_terminated_run_isnt_run_again() -> None:
    own, options = session(), ascend_ep.RunOptions()
    options.terminate = True
    with pytest.raises(AscendError, match="terminated"):
        own.run(None, {"x": X, "a": LAST}, options)


def test_a_caller_of_c_is_told() -> None:
    model = open_model(summed())
    tensors, status, out = ffi.new("asc_tensor[2]"), new_status(), ffi.new("asc_bound **")
    places = [ffi.from_buffer(X), ffi.from_buffer(LAST)]
    order = [0, 1] if Bundle(model).edges[Bundle(model).partitions[0].inputs[0]].name == "x" else [1, 0]
    for tensor, array in zip(tensors, [(X, LAST)[i] for i in order], strict=True):
        tensor.dtype, tensor.rank = (1, 2) if array is X else (7, 1)
        tensor.dims[0 : array.ndim] = array.shape
        tensor.strides[0 : array.ndim] = [n // array.itemsize for n in array.strides]
    assert lib.asc_bind(model.pointer, 0, tensors, 2, out, status) == lib.ASC_OK
    made = np.zeros((1, 4), np.float32)
    ins, outs = ffi.new("void const *[]", [places[i] for i in order]), ffi.new("void *[1]")
    outs[0] = ffi.from_buffer(made)
    assert lib.asc_execute(out[0], ins, outs, ffi.NULL, status) == lib.ASC_E_DECLARED
    lib.asc_bound_release(out[0])
    assert lib.asc_model_apart(model.pointer) != ffi.NULL
    assert lib.asc_model_stand_in(model.pointer, 0) == lib.ASC_NONE  # onnxruntime has its sum
