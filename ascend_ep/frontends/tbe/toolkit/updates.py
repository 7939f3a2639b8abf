"""Operators that update variables in place: impl.util.util_apply_op_schedule, fusion_util, and their like."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from ascend_ep.frontends.tbe.toolkit import building
from ascend_ep.frontends.tbe.toolkit.checks import check_dtype, check_kernel_name, check_shape
from ascend_ep.frontends.tbe.toolkit.failure import DSL, DslError
from ascend_ep.frontends.tbe.toolkit.tensors import SESSION, Tensor, placeholder, plain

_FLOATS = ("float16", "float32")


class TensorArgs(NamedTuple):
    """The inputs' and outputs' descriptions, and the function that computes."""

    input_vars: Sequence[Any]
    compute: Callable[..., Any]
    output: Any
    width: Any = None


class TensorName(NamedTuple):
    """Names of all inputs, of those of one element, and of those that outputs overwrite."""

    all: Sequence[str]
    scalar: Sequence[str] = ()
    reuse: Sequence[str] = ()


class TensorOptions(NamedTuple):
    """What the function takes besides tensors; the element types."""

    attrs: Any = None
    build: Any = None
    dtype: Sequence[str] = _FLOATS


class ApplyOpConfig:
    """What common_apply_op_process computes."""

    TensorArgs, TensorName, TensorOptions = TensorArgs, TensorName, TensorOptions

    def __init__(self, args: Any, name: Any, options: Any = None) -> None:
        self.args, self.name, self.options = args, name, options or TensorOptions()


def common_apply_op_process(config: ApplyOpConfig, kernel_name: str, same_flag: bool = True) -> None:
    """Computes on all inputs and builds. The results that overwrite inputs come before the outputs."""
    check_kernel_name(kernel_name)
    inputs = [
        _placeholder(d, name, config)
        for d, name in zip(config.args.input_vars, config.name.all, strict=False)
    ]
    if same_flag and len({t.dtype for t in inputs}) > 1:
        raise DslError(DSL, "all inputs must have one element type")
    described = config.args.output if isinstance(config.args.output, list) else [config.args.output]
    attrs = config.options.attrs
    listed = list(attrs) if isinstance(attrs, Iterable) and not isinstance(attrs, str) else [attrs]
    made = config.args.compute(*inputs, *described, *listed)
    results = list(made) if isinstance(made, list | tuple) else [made]
    SESSION.builds.append((str(kernel_name)[:128], [*inputs, *results[-len(described) :]]))


def _placeholder(described: Any, name: str, config: ApplyOpConfig) -> Tensor:
    shape = described["shape"] if len(described["shape"]) else (1,)
    check_shape(shape, param_name=name)
    dtype = str(described["dtype"]).lower()
    check_dtype(dtype, config.options.dtype, name)
    if name in config.name.scalar and plain(shape) != (1,):
        raise DslError(DSL, f"{name} must have one element, not the shape {list(plain(shape))}")
    return placeholder(shape, dtype, name)


def reuse_input_as_output(output_buffer: Any, input_buffer: Any, kernel_name: str = "") -> None:
    """The output has the input's memory: of no meaning for what is computed."""


def reduction_schedule(outs: Any) -> tuple[building.Schedule, list[Tensor]]:
    """bn_training_reduce_schedule_nd: the schedule of some sums, and the tensors of the build."""
    outputs = list(outs) if isinstance(outs, list | tuple) else [outs]
    return building.auto_schedule(outputs), [*SESSION.placeholders, *outputs]
