"""shape_util: shapes of operators that broadcast and reduce. Dimensions keep where they come from, and none
is merged with another: merging serves the hardware only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ascend_ep.frontends.tbe.toolkit.failure import BROADCAST, DSL, DslError, Inexpressible
from ascend_ep.frontends.tbe.toolkit.tensors import Tensor, broadcast_dims


def shape_to_list(shape: Any) -> list[int]:
    """A tensor's shape as a list."""
    return list(shape)


def broadcast_shapes(
    shape1: Sequence[int],
    shape2: Sequence[int],
    op_name: str = "",
    param_name_input1: str = "",
    param_name_input2: str = "",
    **_named: object,
) -> tuple[list[int], list[int], list[int]]:
    """Both shapes with the same number of dimensions, and the shape of their broadcast. Raises E80013."""
    rank = max(len(shape1), len(shape2))
    first, second = ([1] * (rank - len(s)) + list(s) for s in (shape1, shape2))
    try:
        return first, second, broadcast_dims(first, second)
    except DslError:
        names = " and ".join(filter(None, (param_name_input1, param_name_input2))) or "the inputs"
        texts = f"{[int(d) for d in shape1]} and {[int(d) for d in shape2]}"
        raise DslError(BROADCAST, f"the shapes {texts} of {names} can't be broadcast") from None


def unify_broadcast_shapes(
    shapes: Sequence[Sequence[int]], *_arguments: object, **_named: object
) -> tuple[list[int], ...]:
    """broadcast_shapes of any number."""
    rank = max(map(len, shapes))
    padded = [[1] * (rank - len(s)) + list(s) for s in shapes]
    return (*padded, broadcast_dims(*padded))


def scalar2tensor_one(shape: Any) -> Any:
    """A scalar's shape as a tensor of one element's."""
    return shape if isinstance(shape, list | tuple) and len(shape) else [1]


def axis_check(shape_len: int, axis: Any) -> Any:
    """Axes from the front, sorted. Raises E90001."""
    if isinstance(axis, int):
        if not -shape_len <= axis < shape_len:
            raise DslError(DSL, f"there is no axis {int(axis)} of {shape_len}")
        return axis if axis >= 0 else axis + shape_len
    return sorted({axis_check(shape_len, a) for a in axis})


def refine_shape_axes(shape: Sequence[int], axes: Any) -> tuple[list[int], list[int]]:
    """As they are."""
    return list(shape), [axes] if isinstance(axes, int) else list(axes)


def refine_shapes_for_broadcast(shape1: Sequence[int], shape2: Sequence[int]) -> tuple[list[int], list[int]]:
    """As they are, in the same number of dimensions."""
    first, second, _ = broadcast_shapes(shape1, shape2)
    return first, second


def shape_refine(shape: Sequence[int], reduce_axis: Any = None, keep_dims: Any = True) -> Any:
    """As it is; with axes, both."""
    return list(shape) if reduce_axis is None else (list(shape), reduce_axis)


def variable_shape(inputs: Sequence[Any], op_mode: str = "elewise", **_named: object) -> Any:
    """The shapes of the inputs of a case of classify; known ones. That of axes is how many there are."""
    given = [i for i in inputs if isinstance(i, dict)]
    counts = [len(i.get("value") or ()) if i.get("rel_pos_to_reduce") == "axis" else 0 for i in given]
    return [[count] if count else list(i["shape"]) for i, count in zip(given, counts, strict=True)]


def classify(ins: Sequence[Any], mode: Any = None, extra_params: Any = None) -> list[list[Any]]:
    """The cases of an operator with run-time shapes: the one case of the shapes it is recorded with.

    The axes of a reduction may be left out when extra_params says that it is over all.
    """
    tensors = [i for i in ins if isinstance(i, dict) and i.get("rel_pos_to_reduce") != "axis"]
    for i in ins:
        if not isinstance(i, dict) or i.get("rel_pos_to_reduce") != "axis" or i.get("value"):
            continue
        if "all" in str(extra_params).lower():
            i["value"] = list(range(len(tensors[0]["shape"])))
        elif list(i.get("shape", ())) != [0]:
            name = i.get("param_name", "axes")
            raise Inexpressible(
                f"the axes of the reduction are known at run time only: give them, --attr {name}=[...]"
            )
    return [list(ins)]


def get_shape_size(shape: Sequence[int]) -> int:
    """The number of elements."""
    total: int = 1
    for d in shape:
        total = total * d
    return total


def compare_tensor_dict_key(dict1: Any, dict2: Any, dict_key: str) -> None:
    """Raises E90001 when two descriptions differ in a key."""
    if list(dict1.get(dict_key) or ()) != list(dict2.get(dict_key) or ()):
        raise DslError(
            DSL, f"the {dict_key} of two tensors differ: {dict1.get(dict_key)} and {dict2.get(dict_key)}"
        )


def simplify_axis_shape(shape: Any, axis: Any) -> Any:
    """As they are."""
    return shape, axis


def axis_transform_5d(axis: int, data_format: str) -> int:
    """An axis of NCHW or NHWC as the one of NC1HWC0 with the same letter."""
    place = "NCHW_".index(data_format[axis])
    return place if axis >= 0 else place - 5


def shape_of(tensor: Tensor) -> list[int]:
    """A tensor's shape."""
    return list(tensor.shape)


NAMES: dict[str, Any] = {
    "shape_to_list": shape_to_list,
    "broadcast_shapes": broadcast_shapes,
    "produce_shapes": broadcast_shapes,
    "unify_broadcast_shapes": unify_broadcast_shapes,
    "scalar2tensor_one": scalar2tensor_one,
    "axis_check": axis_check,
    "wrap_axes_to_positive": lambda axes, rank: axis_check(rank, axes),
    "refine_shape_axes": refine_shape_axes,
    "refine_shapes_for_broadcast": refine_shapes_for_broadcast,
    "simplify_axis_shape": simplify_axis_shape,
    "shape_refine": shape_refine,
    "variable_shape": variable_shape,
    "get_shape_size": get_shape_size,
    "compare_tensor_dict_key": compare_tensor_dict_key,
    "axis_transform_5d": axis_transform_5d,
    "cast": lambda x, dtype: x,
}
