"""Inputs for the models of families, by the names of their parameters."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import torch

BATCH, TOKENS = 2, 9
#: What a vision tower is told of its pictures: frames, and patches down and across. Exported as constants.
FIXED = ("grid_thw", "image_grid_thw", "spatial_shapes", "image_sizes", "target_sizes", "merge_sizes")
GRID = [[1, 4, 4], [1, 4, 4]]

Tensors = dict[str, torch.Tensor]


class Unknown(Exception):
    """A model that must have an input that isn't known here."""


def fixed(inputs: Tensors) -> dict[str, Any]:
    return {name: inputs[name].tolist() for name in FIXED if name in inputs}


def candidates(model: Any, config: Any) -> Iterator[Tensors]:
    """What the model must have, in several sizes; then that and one more input that it may want, then all."""
    parameters = inspect.signature(model.forward).parameters
    takes = {name: p for name, p in parameters.items() if p.kind != p.VAR_KEYWORD}
    main = getattr(model, "main_input_name", "")
    must = {main} if isinstance(main, str) else set(main)
    must |= {name for name, p in takes.items() if p.default is p.empty and p.kind != p.VAR_POSITIONAL}
    must |= {"attention_mask"} if "input_ids" in must else set()
    must |= {"decoder_input_ids"} if getattr(config, "is_encoder_decoder", False) else set()
    must &= takes.keys()
    for known in _sizes(config):
        if lacking := must - known.keys():
            raise Unknown(f"it takes {', '.join(sorted(lacking))}")
        plain = {name: value for name, value in known.items() if name in must}
        if "input_ids" in must and "pixel_values" in takes:
            yield from _illustrated(model, config, plain, known, takes)
        yield plain
        more = {name: value for name, value in known.items() if name in takes and name not in must}
        for name, value in more.items():
            yield plain | {name: value}
        if len(more) > 1:
            yield plain | more


def _illustrated(model: Any, config: Any, plain: Tensors, known: Tensors, takes: Any) -> Iterator[Tensors]:
    """Tokens that stand for what the vision tower makes of each picture, before the words."""
    mark = getattr(config, "image_token_id", getattr(config, "image_token_index", None))
    towers = inspect.signature(getattr(model, "get_image_features", lambda: 0)).parameters
    if not isinstance(mark, int) or mark >= 120 or "pixel_values" not in towers:
        return
    given = {name: known[name] for name in ("pixel_values", *FIXED) if name in towers and name in known}
    try:
        with torch.no_grad():
            found = model.get_image_features(**given)
    except Exception:
        return
    found = getattr(found, "pooler_output", found)
    rows = sum(v.numel() // v.shape[-1] for v in (found if isinstance(found, list | tuple) else [found]))
    marks = torch.full((BATCH, rows // BATCH), mark)
    tokens = torch.cat([marks, plain["input_ids"].masked_fill(plain["input_ids"] == mark, 3)], 1)
    extra = {name: value for name, value in known.items() if name in given}
    if "mm_token_type_ids" in takes:
        extra["mm_token_type_ids"] = (tokens == mark).to(torch.int64)
    yield plain | {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)} | extra


def _sizes(config: Any) -> Iterator[Tensors]:
    """All inputs that are known, of pictures and sounds of one size after the other."""
    edge = _said(config, ("image_size",), 32)
    edge = edge[0] if isinstance(edge, list | tuple) else edge
    bands = _said(
        config, ("num_mel_bins", "n_mels", "mel_bins", "feature_size", "input_feat_per_channel"), 80
    )
    frames = 2 * _said(config, ("max_source_positions",), 30)
    sounds = [(60, bands), (bands, frames), (bands, 60), (bands, 100)]
    for size, sound in zip((edge, 2 * edge, 64, 224), sounds, strict=True):
        yield _words(config) | _pictures(config, int(size)) | _sounds(config, sound) | _series(config)


def _said(config: Any, names: tuple[str, ...], otherwise: Any, depth: int = 0) -> Any:
    """What the configuration, or one inside it, has by the first of these names."""
    for name in names:
        if isinstance(value := getattr(config, name, None), int | list | tuple) and value:
            return value
    for inner in vars(config).values():
        if hasattr(inner, "to_dict") and depth < 3:
            value = _said(inner, names, None, depth + 1)
            if value is not None:
                return value
    return otherwise


def _words(config: Any) -> Tensors:
    tokens = torch.randint(3, 100, (BATCH, TOKENS))
    boxes = torch.tensor([1, 2, 20, 30]).repeat(BATCH, TOKENS, 1)
    return {
        "input_ids": tokens,
        "attention_mask": torch.ones_like(tokens),
        "decoder_input_ids": torch.randint(3, 100, (BATCH, 5)),
        "bbox": boxes,
        "token_type_ids": torch.zeros_like(tokens),
        "position_ids": torch.arange(TOKENS).repeat(BATCH, 1),
    }


def _pictures(config: Any, edge: int) -> Tensors:
    channels = _said(config, ("num_channels", "in_channels", "in_chans"), 3)
    patch = _said(config, ("patch_size",), 8)
    patch = patch[0] if isinstance(patch, list | tuple) else patch
    depth = _said(config, ("temporal_patch_size",), 1)
    patches = torch.randn(BATCH * 16, channels * depth * patch * patch)
    grid = torch.tensor(GRID)
    return {
        "pixel_values": torch.randn(BATCH, channels, edge, edge),
        "pixel_values_videos": torch.randn(BATCH, _said(config, ("num_frames",), 4), channels, edge, edge),
        "pixel_mask": torch.ones(BATCH, edge, edge, dtype=torch.int64),
        "image": torch.randn(BATCH, channels, edge, edge),
        "hidden_states": patches,
        "grid_thw": grid,
        "image_grid_thw": grid,
        "image_sizes": torch.full((BATCH, 2), edge),
    }


def _sounds(config: Any, size: tuple[int, int]) -> Tensors:
    features = torch.randn(BATCH, *size)
    return {
        "input_values": torch.randn(BATCH, 8000),
        "input_features": features,
        "input_features_mask": torch.ones(BATCH, max(size), dtype=torch.int64),
        "audio_mel": features,
        "audio_mel_mask": torch.zeros(BATCH, size[0], dtype=torch.bool),
    }


def _series(config: Any) -> Tensors:
    past = _said(config, ("context_length",), 32) + max(_said(config, ("lags_sequence",), [0]))
    channels = _said(config, ("num_input_channels",), 1)
    values = torch.randn(BATCH, past, channels) if channels > 1 else torch.randn(BATCH, past)
    later = _said(config, ("prediction_length",), 1)
    calendar = _said(config, ("num_time_features",), 1)
    return {
        "past_values": values,
        "past_observed_mask": torch.ones_like(values),
        "past_time_features": torch.randn(BATCH, past, calendar),
        "future_values": torch.randn(BATCH, later),
        "future_time_features": torch.randn(BATCH, later, calendar),
    }
