"""Families of transformers in a size that exports in seconds, with random weights, and inputs for them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

#: What a configuration has of these becomes this small, at any depth.
SIZES = {
    **dict.fromkeys(("hidden_size", "d_model", "n_embd", "dim", "embed_dim", "embedding_size"), 32),
    **dict.fromkeys(("word_embed_proj_dim", "projection_dim", "image_size"), 32),
    **dict.fromkeys(("num_hidden_layers", "n_layer", "n_layers", "num_layers"), 2),
    **dict.fromkeys(("encoder_layers", "decoder_layers", "num_encoder_layers", "num_decoder_layers"), 2),
    **dict.fromkeys(("num_attention_heads", "n_head", "n_heads", "num_heads"), 4),
    **dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), 4),
    **dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts"), 4),
    **dict.fromkeys(("num_key_value_heads", "num_experts_per_tok"), 2),
    **dict.fromkeys(
        ("head_dim", "d_kv", "qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim", "patch_size"), 8
    ),
    **dict.fromkeys(("intermediate_size", "ffn_dim", "encoder_ffn_dim", "decoder_ffn_dim"), 48),
    **dict.fromkeys(("d_ff", "hidden_dim", "n_inner"), 48),
    **dict.fromkeys(("moe_intermediate_size", "shared_expert_intermediate_size"), 24),
    **dict.fromkeys(("q_lora_rank", "kv_lora_rank"), 16),
    **dict.fromkeys(("n_group", "topk_group", "bos_token_id"), 1),
    "vocab_size": 120,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "eos_token_id": 2,
}
#: Families that stay larger than this are left out.
MOST_WEIGHTS = 60_000_000
BATCH, TOKENS = 2, 9

Tensors = dict[str, torch.Tensor]


class LeftOut(Exception):
    """A family that this doesn't make, and why."""


class First(nn.Module):
    """The first tensor of what a model returns, of inputs by position."""

    def __init__(self, inner: nn.Module, names: list[str]) -> None:
        super().__init__()
        self.inner, self.names = inner, names

    def forward(self, *values: torch.Tensor) -> torch.Tensor:
        found = self.inner(**dict(zip(self.names, values, strict=True)), return_dict=True)
        first: torch.Tensor = next(v for v in found.values() if isinstance(v, torch.Tensor))
        return first


def make(family: str) -> tuple[nn.Module, Tensors]:
    """A module and inputs that it takes. Raises LeftOut."""
    from transformers import AutoModel
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    torch.manual_seed(0)
    try:
        config = _shrunk(CONFIG_MAPPING[family]())
        config.use_cache = False
        model = AutoModel.from_config(config).eval()
    except Exception as error:  # a family that wants other sizes than these
        raise LeftOut(f"no configuration of this size: {type(error).__name__}") from error
    if (weights := sum(p.numel() for p in model.parameters())) > MOST_WEIGHTS:
        raise LeftOut(f"{weights} weights")
    why = "it has no input that is known here"
    for inputs in _candidates(model, config):
        module = First(model, list(inputs)).eval()
        try:
            with torch.no_grad():
                module(*inputs.values())
        except Exception as error:
            why = f"it takes other inputs: {type(error).__name__}"
        else:
            return module, inputs
    raise LeftOut(why)


def _shrunk(config: Any, depth: int = 0) -> Any:
    for name, size in SIZES.items():
        if type(getattr(config, name, None)) is int:
            setattr(config, name, size)
    for inner in list(vars(config).values()):
        if hasattr(inner, "to_dict") and depth < 3:
            _shrunk(inner, depth + 1)
    return config


def _candidates(model: nn.Module, config: Any) -> Iterator[Tensors]:
    """Tokens, pictures or sound, as the main input is called; then what else the model may want with them."""
    takes = inspect.signature(model.forward).parameters
    tokens = torch.randint(3, 100, (BATCH, TOKENS))
    edge = getattr(getattr(config, "vision_config", config), "image_size", SIZES["image_size"])
    edge = edge[0] if isinstance(edge, list | tuple) else edge
    bands = getattr(config, "num_mel_bins", 80)
    frames = 2 * getattr(config, "max_source_positions", 30)
    words = {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)}
    picture = {"pixel_values": torch.randn(BATCH, getattr(config, "num_channels", 3), edge, edge)}
    waves = {"input_values": torch.randn(BATCH, 8000)}
    answer = {"decoder_input_ids": torch.randint(3, 100, (BATCH, 5))} if config.is_encoder_decoder else {}
    known = {
        "input_ids": [words, words | picture],
        "pixel_values": [picture, picture | words],
        "input_values": [waves],
        "input_features": [
            {"input_features": torch.randn(BATCH, 60, bands)},
            {"input_features": torch.randn(BATCH, bands, frames)},
        ],
    }
    for made in known.get(getattr(model, "main_input_name", ""), []):
        yield {name: value for name, value in (made | answer).items() if name in takes}
