"""ONNX's Attention and RotaryEmbedding in PyTorch, TensorScatter and ReverseSequence beside them."""

from __future__ import annotations

from typing import Any

from ascend_ep.frameworks.torch.equivalent_arguments import Attributes


def attended(
    q: Any, k: Any, v: Any, mask: Any, past_key: Any, past_value: Any, lengths: Any, *, a: Attributes
) -> Any:
    """Attention: Y."""
    import torch

    flat = q.dim() == 3
    if flat:
        q = q.unflatten(2, (a["q_num_heads"], -1)).transpose(1, 2)
        k, v = (t.unflatten(2, (a["kv_num_heads"], -1)).transpose(1, 2) for t in (k, v))
    offset: Any = 0
    if past_key is not None:
        offset = past_key.shape[2]
        k, v = torch.cat([past_key, k], 2), torch.cat([past_value, v], 2)
    shared = q.shape[1] // k.shape[1]
    k, v = (t.repeat_interleave(shared, 1) for t in (k, v))
    scale = a.get("scale") or q.shape[-1] ** -0.5
    scores = q @ k.transpose(2, 3) * scale
    rows, columns = (torch.arange(n) for n in scores.shape[2:])
    if a.get("softcap", 0.0):
        scores = a["softcap"] * torch.tanh(scores / a["softcap"])
    allowed = torch.ones((), dtype=torch.bool)
    if lengths is not None:
        offset = (lengths - len(rows))[:, None, None, None]
        allowed = columns < lengths[:, None, None, None]
    if a.get("is_causal", 0):
        allowed = allowed & (columns <= rows[:, None] + offset)
    if mask is not None:
        short = scores.shape[3] - mask.shape[3 - 4 + mask.dim()]
        if mask.dtype == torch.bool:
            allowed = allowed & torch.nn.functional.pad(mask, (0, short))
        else:
            scores = scores + torch.nn.functional.pad(mask, (0, short), value=-torch.inf)
    scores = torch.where(allowed, scores, -torch.inf)
    blocked = (scores == -torch.inf).all(-1, keepdim=True)
    shares = torch.where(blocked, 0.0, torch.softmax(torch.where(blocked, 0.0, scores), -1))
    y = shares @ v
    return y.transpose(1, 2).flatten(2) if flat else y


def rotated(x: Any, cos: Any, sin: Any, positions: Any, *, a: Attributes) -> Any:
    """RotaryEmbedding."""
    import torch

    flat = x.dim() == 3
    heads = x.unflatten(2, (a["num_heads"], -1)) if flat else x.transpose(1, 2)
    width = a.get("rotary_embedding_dim", 0) or heads.shape[-1]
    moving, rest = heads[..., :width], heads[..., width:]
    if positions is not None:
        cos, sin = cos[positions.long()], sin[positions.long()]
    cos, sin = cos[..., : width // 2].unsqueeze(2), sin[..., : width // 2].unsqueeze(2)
    interleaved = bool(a.get("interleaved", 0))
    first, second = (moving[..., 0::2], moving[..., 1::2]) if interleaved else moving.chunk(2, -1)
    real, imaginary = cos * first - sin * second, sin * first + cos * second
    made = torch.stack([real, imaginary], -1).flatten(-2) if interleaved else torch.cat([real, imaginary], -1)
    made = torch.cat([made, rest], -1)
    return made.flatten(2) if flat else made.transpose(1, 2)


def written(past: Any, update: Any, places: Any, *, a: Attributes) -> Any:
    """TensorScatter: rows of each batch over those from its place on."""
    import torch

    axis = a.get("axis", -2) % past.dim()
    length, count = past.shape[axis], update.shape[axis]
    first = torch.zeros(past.shape[0], dtype=torch.int64) if places is None else places.long()
    at = first[:, None] + torch.arange(count)
    at = at % length if a.get("mode", "linear") == "circular" else at
    shape = [past.shape[0], *[1] * (past.dim() - 1)]
    shape[axis] = count
    return past.scatter(axis, at.reshape(shape).expand_as(update), update)


def reversed_sequences(x: Any, lengths: Any, *, a: Attributes) -> Any:
    """ReverseSequence: of each batch the first elements from the last to the first."""
    import torch

    time, batch = a.get("time_axis", 0), a.get("batch_axis", 1)
    at, ends = torch.arange(x.shape[time])[:, None], lengths.long()
    index = torch.where(at < ends, ends - 1 - at, at)  # time, batch
    shape = [1] * x.dim()
    shape[time], shape[batch] = x.shape[time], x.shape[batch]
    index = (index if time < batch else index.T).reshape(shape)
    return x.gather(time, index.expand_as(x))
