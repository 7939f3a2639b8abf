"""What ONNX's operators without a formula are in PyTorch's own functions: their gradients are those of these.

One row for each operator: from its inputs, None where one is absent, and its attributes by name, a dict in
which those without a value are missing. The operator itself is computed by the runtime.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from ascend_ep.element_types import numpy_dtype
from ascend_ep.frameworks.torch import (
    equivalent_attention,
    equivalent_images,
    equivalent_lists,
    equivalent_resize,
    equivalent_signals,
    equivalent_tables,
    equivalent_windows,
)
from ascend_ep.frameworks.torch.equivalent_arguments import Attributes, Equivalent, whole_numbers, wrapped
from ascend_ep.frameworks.torch.equivalent_recurrent import recurrent
from ascend_ep.frameworks.torch.equivalent_reductions import extreme, multiplied, norm, reduced


def _power_norm(x: Any, *, a: Attributes) -> Any:
    """A row of zeros gives zeros, without slopes."""
    import torch

    length = norm(a.get("p", 2), x, [a.get("axis", -1)], True)
    return torch.where(length == 0, 0.0, x / torch.where(length == 0, 1.0, length))


def _per_channel(t: Any, rank: int) -> Any:
    return t.reshape(1, -1, *[1] * (rank - 2))


def _batch_normalization(x: Any, scale: Any, b: Any, mean: Any, var: Any, *, a: Attributes) -> Any:
    if a.get("training_mode", 0):
        axes = [0, *range(2, x.dim())]
        mean, var = x.mean(axes), x.var(axes, correction=0)
    scale, b, mean, var = (_per_channel(t, x.dim()) for t in (scale, b, mean, var))
    return (x - mean) * scale / (var + a.get("epsilon", 1e-5)).sqrt() + b


def _instance_normalization(x: Any, scale: Any, b: Any, *, a: Attributes) -> Any:
    axes = tuple(range(2, x.dim()))
    centred = x - x.mean(axes, keepdim=True)
    variance = (centred * centred).mean(axes, keepdim=True)
    normal = centred / (variance + a.get("epsilon", 1e-5)).sqrt()
    return normal * _per_channel(scale, x.dim()) + _per_channel(b, x.dim())


def _group_normalization(x: Any, scale: Any, b: Any, *, a: Attributes) -> Any:
    import torch

    return torch.nn.functional.group_norm(x, a["num_groups"], scale, b, a.get("epsilon", 1e-5))


def _local_response(x: Any, *, a: Attributes) -> Any:
    import torch

    size = a["size"]
    squares = torch.nn.functional.pad((x * x).movedim(1, -1), ((size - 1) // 2, size // 2))
    total = squares.unfold(-1, size, 1).sum(-1).movedim(-1, 1)
    return x / (a.get("bias", 1.0) + a.get("alpha", 1e-4) / size * total) ** a.get("beta", 0.75)


def _transposed(x: Any, *, a: Attributes) -> Any:
    return x.permute(tuple(a.get("perm") or reversed(range(x.dim()))))


def _reshaped(x: Any, shape: Any, *, a: Attributes) -> Any:
    keep = not a.get("allowzero", 0)
    return x.reshape([x.shape[i] if d == 0 and keep else d for i, d in enumerate(whole_numbers(shape))])


def _flattened(x: Any, *, a: Attributes) -> Any:
    first = a.get("axis", 1)
    first += x.dim() * (first < 0)
    return x.reshape(math.prod(x.shape[:first]), math.prod(x.shape[first:]))


def _squeezed(x: Any, axes: Any, *, a: Attributes) -> Any:
    return x.squeeze() if axes is None else x.squeeze(tuple(whole_numbers(axes)))


def _unsqueezed(x: Any, axes: Any, *, a: Attributes) -> Any:
    where = whole_numbers(axes)
    for axis in sorted(w % (x.dim() + len(where)) for w in where):
        x = x.unsqueeze(axis)
    return x


def _expanded(x: Any, shape: Any, *, a: Attributes) -> Any:
    import torch

    sizes = torch.broadcast_shapes(x.shape, whole_numbers(shape))  # type: ignore[no-untyped-call]
    return x.broadcast_to(sizes)


def _sliced(x: Any, starts: Any, ends: Any, axes: Any, steps: Any, *, a: Attributes) -> Any:
    import torch

    first, last = whole_numbers(starts), whole_numbers(ends)
    where = list(range(len(first))) if axes is None else whole_numbers(axes)
    for axis, start, stop, step in zip(
        where, first, last, whole_numbers(steps) if steps is not None else [1] * len(first), strict=True
    ):
        length = x.shape[axis]
        begin = start + length * (start < 0)
        end = stop + length * (stop < 0)
        low, high = (0, length) if step > 0 else (-1, length - 1)
        begin, end = min(max(begin, max(low, 0)), high), min(max(end, low), length)
        x = x.index_select(axis, torch.arange(length)[[*range(begin, end, step)]])
    return x


def _padded(x: Any, pads: Any, value: Any, axes: Any, *, a: Attributes) -> Any:
    import torch

    mode, rank = a.get("mode", "constant"), x.dim()
    where = list(range(rank)) if axes is None else [w % rank for w in whole_numbers(axes)]
    sizes = whole_numbers(pads)
    for i, axis in enumerate(where):
        before, after, length = sizes[i], sizes[len(where) + i], x.shape[axis]
        if mode in ("wrap", "reflect"):  # of what is left
            first, length = max(-before, 0), length + min(before, 0) + min(after, 0)
            x, before, after = x.narrow(axis, first, length), max(before, 0), max(after, 0)
        places = torch.arange(-before, length + after)
        inside = (places >= 0) & (places < length)
        if mode == "edge":
            found = places.clamp(0, length - 1)
        elif mode == "wrap":
            found = places % length
        elif mode == "reflect":
            period = max(2 * (length - 1), 1)
            found = (length - 1 - (places % period - (length - 1)).abs()) if length > 1 else places * 0
        else:
            found = places.clamp(0, length - 1)
        x = x.index_select(axis, found)
        if mode == "constant":
            shape = [-1 if d == axis else 1 for d in range(rank)]
            fill = torch.zeros((), dtype=x.dtype) if value is None else value.reshape(())
            x = torch.where(inside.reshape(shape), x, fill)
    return x


def _gathered(x: Any, indices: Any, *, a: Attributes) -> Any:
    axis = a.get("axis", 0) % x.dim()
    return x[(*[slice(None)] * axis, indices.long())]


def _gathered_elements(x: Any, indices: Any, *, a: Attributes) -> Any:
    axis = a.get("axis", 0)
    return x.gather(axis, wrapped(indices, x.shape[axis]))


def _gathered_nd(x: Any, indices: Any, *, a: Attributes) -> Any:
    import torch

    batches = a.get("batch_dims", 0)
    ahead = [
        torch.arange(x.shape[i]).reshape(*[1] * i, -1, *[1] * (indices.dim() - 2 - i)) for i in range(batches)
    ]
    return x[(*ahead, *indices.long().unbind(-1))]


def _scattered_elements(x: Any, indices: Any, updates: Any, *, a: Attributes) -> Any:
    axis, places = a.get("axis", 0), wrapped(indices, x.shape[a.get("axis", 0)])
    names = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}
    kind = a.get("reduction", "none")
    return (
        x.scatter(axis, places, updates)
        if kind == "none"
        else x.scatter_reduce(axis, places, updates, names[kind])
    )


def _places(x: Any) -> tuple[int, ...]:
    """The axes behind batches and channels. Of no axes PyTorch would reduce them all."""
    if x.dim() < 3:
        raise RuntimeError(f"{list(x.shape)} has no axes behind its channels")
    return tuple(range(2, x.dim()))


def _scattered_nd(x: Any, indices: Any, updates: Any, *, a: Attributes) -> Any:
    places, kind = tuple(indices.long().unbind(-1)), a.get("reduction", "none")
    at: Any = 0
    for place, length in zip(places, x.shape, strict=False):
        at = at * length + wrapped(place, length)
    rows = x.flatten(0, len(places) - 1).flatten(1) if len(places) < x.dim() else x.flatten()[:, None]
    new = updates.reshape(at.numel(), rows.shape[1])
    at = at.reshape(-1, 1).expand_as(new)
    if kind == "none":  # index_put has no slopes in a vmap
        return rows.scatter(0, at, new).reshape(x.shape)
    names = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}
    return rows.scatter_reduce(0, at, new, names[kind]).reshape(x.shape)


def _summed_up(x: Any, axis: Any, *, a: Attributes) -> Any:
    where = int(axis)
    backwards = bool(a.get("reverse", 0))
    total = (x.flip(where) if backwards else x).cumsum(where)
    if a.get("exclusive", 0):
        total = total - (x.flip(where) if backwards else x)
    return total.flip(where) if backwards else total


def _depth_to_space(x: Any, *, a: Attributes) -> Any:
    n, c, h, w = x.shape
    b = a["blocksize"]
    if a.get("mode", "DCR") == "DCR":
        return (
            x.reshape(n, b, b, c // b**2, h, w).permute(0, 3, 4, 1, 5, 2).reshape(n, c // b**2, h * b, w * b)
        )
    return x.reshape(n, c // b**2, b, b, h, w).permute(0, 1, 4, 2, 5, 3).reshape(n, c // b**2, h * b, w * b)


def _space_to_depth(x: Any, *, a: Attributes) -> Any:
    n, c, h, w = x.shape
    b = a["blocksize"]
    return (
        x.reshape(n, c, h // b, b, w // b, b).permute(0, 3, 5, 1, 2, 4).reshape(n, c * b**2, h // b, w // b)
    )


def _triangle(x: Any, k: Any, *, a: Attributes) -> Any:
    return getattr(x, "triu" if a.get("upper", 1) else "tril")(0 if k is None else int(k))


def _largest(x: Any, k: Any, *, a: Attributes) -> Any:
    return x.topk(int(k), a.get("axis", -1), bool(a.get("largest", 1)), bool(a.get("sorted", 1)))


def _cast(x: Any, *, a: Attributes) -> Any:
    import torch

    kind = numpy_dtype(a["to"])
    return x.to(torch.bfloat16 if kind.name == "bfloat16" else getattr(torch, kind.name))


def _kept(x: Any, ratio: Any, training: Any, *, a: Attributes) -> Any:
    if training is not None and bool(training):
        raise NotImplementedError("training mode, which draws at random")
    return x * 1


def _rest(x: Any, y: Any, *, a: Attributes) -> Any:
    if not a.get("fmod", 0):
        raise NotImplementedError("floats without fmod")
    return x.fmod(y)


def _one_hot(indices: Any, depth: Any, values: Any, *, a: Attributes) -> Any:
    import torch

    count, axis = int(depth), a.get("axis", -1)
    shape = [1] * (indices.dim() + 1)
    shape[axis] = count
    at = wrapped(indices, count).unsqueeze(axis if axis >= 0 else axis + indices.dim() + 1)
    return torch.where(torch.arange(count).reshape(shape) == at, values[1], values[0])


def _range(start: Any, limit: Any, step: Any, *, a: Attributes) -> Any:
    import torch

    count = max(math.ceil(float((limit - start).detach() / step.detach())), 0)
    return start + torch.arange(count, dtype=start.dtype) * step


def _multiplied_up(x: Any, axis: Any, *, a: Attributes) -> Any:
    import torch

    where, backwards = int(axis), bool(a.get("reverse", 0))
    total = x.flip(where) if backwards else x
    if a.get("exclusive", 0):
        total = total.roll(1, where)
        total = total.index_fill(where, torch.tensor([0]), 1.0)
    total = total.cumprod(where)
    return total.flip(where) if backwards else total


def _dequantized(x: Any, scale: Any, zero: Any, *, a: Attributes) -> Any:
    axis, block = a.get("axis", 1) % max(x.dim(), 1), a.get("block_size", 0)

    def spread(t: Any) -> Any:
        if block:
            return t.repeat_interleave(block, axis).narrow(axis, 0, x.shape[axis])
        return t.reshape([-1 if i == axis else 1 for i in range(x.dim())]) if t.dim() else t

    whole = x.to(scale.dtype)
    return (whole if zero is None else whole - spread(zero.to(scale.dtype))) * spread(scale)


#: Every operator that has one.
EQUIVALENTS: dict[str, Equivalent] = {
    "AffineGrid": equivalent_images.grid_of,
    "ArrayFeatureExtractor": equivalent_tables.extracted,
    "Attention": equivalent_attention.attended,
    "AveragePool": equivalent_windows.averaged,
    "BatchNormalization": _batch_normalization,
    "Cast": _cast,
    "CastLike": lambda x, like, *, a: x.to(like.dtype),
    "CenterCropPad": equivalent_images.centred,
    "Col2Im": equivalent_images.blocks_joined,
    "Concat": equivalent_lists.joined,
    "Conv": equivalent_windows.convolved,
    "ConvTranspose": equivalent_windows.convolved_back,
    "CumProd": _multiplied_up,
    "CumSum": _summed_up,
    "DFT": equivalent_signals.transformed,
    "DeformConv": equivalent_images.deformed,
    "DepthToSpace": _depth_to_space,
    "DequantizeLinear": _dequantized,
    "Det": lambda x, *, a: x.det(),
    "Dropout": _kept,
    "Einsum": equivalent_lists.contracted,
    "Expand": _expanded,
    "FeatureVectorizer": equivalent_lists.features,
    "Flatten": _flattened,
    "GRU": recurrent("GRU"),
    "Gather": _gathered,
    "GatherElements": _gathered_elements,
    "GatherND": _gathered_nd,
    "GlobalAveragePool": lambda x, *, a: x.mean(_places(x), keepdim=True),
    "GlobalLpPool": lambda x, *, a: (
        norm(a.get("p", 2), x, range(2, x.dim()), True) if x.dim() > 2 else x.abs()
    ),
    "GlobalMaxPool": lambda x, *, a: x.amax(_places(x), keepdim=True),
    "GridSample": equivalent_images.sampled,
    "GroupNormalization": _group_normalization,
    "Imputer": equivalent_tables.imputed,
    "InstanceNormalization": _instance_normalization,
    "LRN": _local_response,
    "LSTM": recurrent("LSTM"),
    "LinearClassifier": equivalent_tables.classified,
    "LinearRegressor": equivalent_tables.regressed,
    "LpNormalization": _power_norm,
    "LpPool": equivalent_windows.powers_added,
    "MatMul": lambda x, y, *, a: x @ y,
    "Max": equivalent_lists.largest,
    "MaxPool": equivalent_windows.greatest,
    "MaxUnpool": equivalent_images.unpooled,
    "Mean": equivalent_lists.averaged,
    "Min": equivalent_lists.least,
    "Mod": _rest,
    "Normalizer": equivalent_tables.normalized,
    "OneHot": _one_hot,
    "Pad": _padded,
    "RNN": recurrent("RNN"),
    "Range": _range,
    "ReduceL1": reduced(lambda x, axes, keep: x.abs().sum(axes, keep)),
    "ReduceL2": reduced(partial(norm, 2)),
    "ReduceLogSum": reduced(lambda x, axes, keep: x.sum(axes, keep).log()),
    "ReduceLogSumExp": reduced(lambda x, axes, keep: x.logsumexp(axes, keep)),
    "ReduceMax": extreme("amax", -math.inf),
    "ReduceMean": reduced(lambda x, axes, keep: x.mean(axes, keep)),
    "ReduceMin": extreme("amin", math.inf),
    "ReduceProd": reduced(multiplied),
    "ReduceSum": reduced(lambda x, axes, keep: x.sum(axes, keep)),
    "ReduceSumSquare": reduced(lambda x, axes, keep: (x * x).sum(axes, keep)),
    "Reshape": _reshaped,
    "Resize": equivalent_resize.resized,
    "ReverseSequence": equivalent_attention.reversed_sequences,
    "RoiAlign": equivalent_images.regions_aligned,
    "RotaryEmbedding": equivalent_attention.rotated,
    "STFT": equivalent_signals.frames_transformed,
    "SVMRegressor": equivalent_tables.by_support_vectors,
    "Scaler": equivalent_tables.scaled,
    "Scatter": _scattered_elements,
    "ScatterElements": _scattered_elements,
    "ScatterND": _scattered_nd,
    "Slice": _sliced,
    "SpaceToDepth": _space_to_depth,
    "Split": equivalent_lists.parts,
    "Squeeze": _squeezed,
    "Sum": equivalent_lists.added,
    "TensorScatter": equivalent_attention.written,
    "Tile": lambda x, repeats, *, a: x.repeat(whole_numbers(repeats)),
    "TopK": _largest,
    "Transpose": _transposed,
    "Trilu": _triangle,
    "Unsqueeze": _unsqueezed,
    "Upsample": equivalent_resize.upsampled,
}
