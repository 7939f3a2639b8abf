"""Well-known models of torchvision, transformers and timm, and layers that torch itself has."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch

from compiled_models.model import Family, Hidden, Model

VISION = (
    *("resnet18", "mobilenet_v2", "mobilenet_v3_small", "squeezenet1_1", "shufflenet_v2_x0_5"),
    *("efficientnet_b0", "densenet121", "vit_b_16", "convnext_tiny", "swin_t", "regnet_y_400mf", "alexnet"),
)
TIMM = ("resnet10t", "mobilenetv4_conv_small", "levit_128s", "mixer_s32_224", "edgenext_xx_small")
SIZES = {
    **dict.fromkeys(("hidden_size", "dim", "d_model", "n_embd", "embedding_size", "embed_dim"), 64),
    **dict.fromkeys(("intermediate_size", "hidden_dim", "d_ff", "n_inner", "ffn_dim"), 128),
    **dict.fromkeys(("num_hidden_layers", "n_layers", "n_layer", "num_layers"), 2),
    **dict.fromkeys(("num_attention_heads", "n_heads", "n_head", "num_heads"), 4),
    **dict.fromkeys(("d_kv", "head_dim"), 16),
    **dict.fromkeys(("num_key_value_heads",), 2),
    **dict.fromkeys(("vocab_size",), 200),
}
WORDS = (
    "bert",
    "distilbert",
    "roberta",
    "albert",
    "electra",
    "gpt2",
    "llama",
    "qwen2",
    "mistral",
    "opt",
    "gemma",
)
PICTURES = ("vit", "deit")


def layers() -> Family:
    """What torch itself has: for where nothing else is installed."""
    yield "convolutions", _convolutions
    yield "encoder", _encoder


def _convolutions() -> Model:
    module = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(8, 16, 3, stride=2, groups=2), torch.nn.Hardswish(), torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(), torch.nn.Linear(16, 10),
    )  # fmt: skip
    return Model(module, lambda n: {"input": torch.randn(n, 3, 32, 32)})


def _encoder() -> Model:
    module = torch.nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
    return Model(module, lambda n: {"src": torch.randn(n, 9, 32)})


def torchvision() -> Family:
    without_its_library()
    import torchvision

    for name in VISION:
        edge = 224 if name in ("vit_b_16", "alexnet") else 64
        yield (
            name,
            lambda name=name, edge=edge: _of_pictures(torchvision.models.get_model(name, weights=None), edge),
        )


def timm() -> Family:
    without_its_library()
    import timm

    for name in TIMM:
        yield name, lambda name=name: _of_timm(timm.create_model(name, pretrained=False))


def _of_timm(model: Any) -> Model:
    return _of_pictures(model, model.default_cfg["input_size"][-1])


def _of_pictures(model: torch.nn.Module, edge: int) -> Model:
    return Model(model, lambda n: {"x": torch.randn(n, 3, edge, edge)})


def transformers() -> Family:
    without_its_library()  # transformers imports it where it is
    for family in (*WORDS, *PICTURES):
        yield family, lambda family=family: _of_transformers(family)


def _of_transformers(family: str) -> Model:
    from transformers import AutoModel
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    config = CONFIG_MAPPING[family]()
    for key, size in SIZES.items():
        if isinstance(getattr(config, key, None), int):
            setattr(config, key, size)
    config.use_cache, config.pad_token_id = False, 0
    config.word_embed_proj_dim = SIZES["hidden_size"]
    config.layer_types = getattr(config, "layer_types", None) and config.layer_types[:2]
    module = Hidden(AutoModel.from_config(config))
    if family in PICTURES:
        return Model(module, lambda n: {"pixel_values": torch.randn(n, 3, 224, 224)})

    def words(n: int) -> dict[str, torch.Tensor]:
        return {
            "input_ids": torch.randint(3, 100, (n, 17)),
            "attention_mask": torch.ones(n, 17, dtype=torch.int64),
        }

    return Model(module, words)


#: Kept while the process lives: the operators of a torchvision without its library.
_LIBRARIES: list[Any] = []


def without_its_library() -> None:
    """Builds of torchvision for another build of torch have no library of operators; models need none."""
    try:
        import torchvision
    except ModuleNotFoundError:
        return
    except RuntimeError:
        for name in [n for n in sys.modules if n.split(".")[0] == "torchvision"]:
            del sys.modules[name]
        _LIBRARIES.append(torch.library.Library("torchvision", "FRAGMENT"))
        for name in ("nms", "qnms"):
            _LIBRARIES[0].define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    else:
        assert torchvision


PICKED: dict[str, Callable[[], Family]] = {
    "layers": layers,
    "torchvision": torchvision,
    "transformers": transformers,
    "timm": timm,
}
