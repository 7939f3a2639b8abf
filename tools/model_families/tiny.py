"""Families of transformers in a size that exports in seconds, with random weights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from model_families.inputs import Tensors, Unknown, candidates, fixed

#: What a configuration has of these becomes this small, at any depth.
WIDTHS = {
    **dict.fromkeys(("hidden_size", "d_model", "n_embd", "dim", "embed_dim", "embedding_size"), 32),
    **dict.fromkeys(("word_embed_proj_dim", "projection_dim", "image_size"), 32),
    **dict.fromkeys(("num_attention_heads", "n_head", "n_heads", "num_heads"), 4),
    **dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), 4),
    "num_key_value_heads": 2,
    **dict.fromkeys(("intermediate_size", "ffn_dim", "encoder_ffn_dim", "decoder_ffn_dim"), 48),
    **dict.fromkeys(("d_ff", "hidden_dim", "n_inner"), 48),
    **dict.fromkeys(("moe_intermediate_size", "shared_expert_intermediate_size"), 24),
    **dict.fromkeys(("q_lora_rank", "kv_lora_rank"), 16),
    "patch_size": 8,
}
HEADS = dict.fromkeys(
    (
        "head_dim",
        "d_kv",
        "qk_rope_head_dim",
        "qk_nope_head_dim",
        "v_head_dim",
        "rotary_dim",
        "attention_head_size",
    ),
    8,
)
COUNTS = {
    **dict.fromkeys(("num_hidden_layers", "n_layer", "n_layers", "num_layers"), 2),
    **dict.fromkeys(("encoder_layers", "decoder_layers", "num_encoder_layers", "num_decoder_layers"), 2),
    **dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts"), 4),
    **dict.fromkeys(("n_group", "topk_group", "bos_token_id"), 1),
    "num_experts_per_tok": 2,
    "vocab_size": 120,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "eos_token_id": 2,
}
#: What the other widths are divided by where a family wants them to fit each other, and how they are called.
DIVISOR = 8
DIVIDED = (
    "size",
    "sizes",
    "dim",
    "dims",
    "width",
    "channels",
    "rank",
    "model",
    "embd",
    "features",
    "filters",
)
KEPT = ("image", "patch", "vocab", "kernel", "window", "mel", "bin", "in_channels", "num_channels", "group")
#: Tried one after the other, until a family can be made and run.
SIZES: tuple[tuple[dict[str, int], int], ...] = (
    (WIDTHS | HEADS | COUNTS, 1),
    (WIDTHS | COUNTS, 1),
    (COUNTS, DIVISOR),
    (COUNTS, 1),
    ({"vocab_size": 120}, DIVISOR),
    ({}, 1),
)
#: Families that stay larger than this are left out.
MOST_WEIGHTS = 60_000_000


class LeftOut(Exception):
    """A family that this doesn't make, and why."""


class First(nn.Module):
    """The first tensor of what a model returns, of inputs by position; shapes of pictures are constants."""

    def __init__(self, inner: nn.Module, names: list[str], constants: dict[str, Any]) -> None:
        super().__init__()
        self.inner, self.names, self.constants = inner, names, constants

    def forward(self, *values: torch.Tensor) -> torch.Tensor:
        constants = {name: torch.tensor(value) for name, value in self.constants.items()}
        found = self.inner(**dict(zip(self.names, values, strict=True)), **constants, return_dict=True)
        first: torch.Tensor = next(_tensors(found))
        return first


def _tensors(found: Any) -> Iterator[torch.Tensor]:
    if isinstance(found, torch.Tensor):
        yield found
    elif isinstance(found, dict | list | tuple):
        for value in found.values() if isinstance(found, dict) else found:
            yield from _tensors(value)


def ways(family: str) -> Iterator[tuple[First, Tensors]]:
    """Modules and inputs that they take, the one that does most first. Raises LeftOut if there are none."""
    why = ""
    for sizes, divisor in SIZES:
        try:
            model = _made(family, sizes, divisor)
        except LeftOut as failure:
            why = why or str(failure)
            continue
        found = False
        try:
            for inputs in candidates(model, model.config):
                module = First(model, [n for n in inputs if n not in fixed(inputs)], fixed(inputs)).eval()
                given = {name: inputs[name] for name in module.names}
                try:
                    with torch.no_grad():
                        module(*given.values())
                except Exception as error:
                    why = why or f"it takes other inputs: {type(error).__name__}: {error}"[:200]
                else:
                    found = True
                    yield module, given
        except Unknown as inputs_of_it:
            raise LeftOut(str(inputs_of_it)) from inputs_of_it
        if found:
            return
    raise LeftOut(why)


def _made(family: str, sizes: dict[str, int], divisor: int) -> Any:
    from transformers import AutoModel
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    torch.manual_seed(0)
    try:
        config = _shrunk(CONFIG_MAPPING[family](), sizes, divisor)
        config.use_cache = False
        with torch.device("meta"):
            model = AutoModel.from_config(config)
        if (weights := sum(p.numel() for p in model.parameters())) > MOST_WEIGHTS:
            raise LeftOut(f"{weights} weights")
        model = AutoModel.from_config(config).eval()
        if getattr(model, "_can_set_experts_implementation", lambda: False)():
            model.set_experts_implementation("batched_mm")  # what PyTorch exports
        return model
    except LeftOut:
        raise
    except Exception as error:  # a family that wants other sizes than these
        raise LeftOut(f"no configuration of this size: {type(error).__name__}: {error}"[:200]) from error


def _shrunk(config: Any, sizes: dict[str, int], divisor: int, depth: int = 0) -> Any:
    for name, value in list(vars(config).items()) + [
        (name, getattr(type(config), name, None)) for name in sizes
    ]:
        size = sizes.get(name)
        if hasattr(value, "to_dict") and depth < 3:
            _shrunk(value, sizes, divisor, depth + 1)
            continue
        if size is None and name.split("_")[-1] in DIVIDED and not any(part in name for part in KEPT):
            size = _divided(value, divisor)
        try:
            known = getattr(config, name, None)
            if size is not None and (type(known) is type(size) or (known is None and name == "head_dim")):
                setattr(config, name, size)
        except Exception:  # one that differs from layer to layer
            continue
    return config


def _divided(value: Any, divisor: int) -> Any:
    if isinstance(value, list | tuple) and all(type(v) is int for v in value):
        return type(value)(_divided(v, divisor) for v in value)
    return value // divisor if type(value) is int and value >= 32 and value % divisor == 0 else value
