"""What the architectures of wide.py are called, how they are configured, and what they take."""

from __future__ import annotations

Shape = tuple[int, ...]

IMAGE = (3, 224, 224)
TOKENS = 128
SECONDS = 3
CLASSIFIERS = [
    "alexnet",
    "convnext_tiny",
    "densenet121",
    "efficientnet_b0",
    "efficientnet_v2_s",
    "googlenet",
    "inception_v3",
    "maxvit_t",
    "mnasnet1_0",
    "mobilenet_v2",
    "mobilenet_v3_large",
    "mobilenet_v3_small",
    "regnet_x_400mf",
    "regnet_y_400mf",
    "resnet18",
    "resnext50_32x4d",
    "shufflenet_v2_x1_0",
    "squeezenet1_1",
    "swin_t",
    "swin_v2_t",
    "vgg11",
    "vit_b_32",
    "wide_resnet50_2",
]
SEGMENTERS = [
    "deeplabv3_mobilenet_v3_large",
    "deeplabv3_resnet50",
    "fcn_resnet50",
    "lraspp_mobilenet_v3_large",
]
#: By transformers' name of the class, its configuration beyond the defaults, and the input.
TRANSFORMERS: dict[str, tuple[str, dict[str, object], str]] = {
    "albert": (
        "AlbertModel",
        {"hidden_size": 768, "intermediate_size": 3072, "num_attention_heads": 12},
        "tokens",
    ),
    "bert": ("BertModel", {}, "tokens"),
    "deberta": (
        "DebertaV2Model",
        {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072},
        "tokens",
    ),
    "distilbert": ("DistilBertModel", {}, "tokens"),
    "electra": ("ElectraModel", {}, "tokens"),
    "mpnet": ("MPNetModel", {}, "tokens"),
    "roberta": ("RobertaModel", {}, "tokens"),
    "t5_encoder": ("T5EncoderModel", {}, "tokens"),
    "bloom": ("BloomModel", {"hidden_size": 1024, "n_layer": 8, "n_head": 16, "vocab_size": 32000}, "tokens"),
    "gpt2": ("GPT2Model", {}, "tokens"),
    "gpt_neox": (
        "GPTNeoXModel",
        {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072},
        "tokens",
    ),
    "llama": (
        "LlamaModel",
        {
            "hidden_size": 1024,
            "num_hidden_layers": 8,
            "num_attention_heads": 16,
            "num_key_value_heads": 4,
            "intermediate_size": 2816,
        },
        "tokens",
    ),
    "opt": ("OPTModel", {}, "tokens"),
    "qwen2": (
        "Qwen2Model",
        {
            "hidden_size": 896,
            "num_hidden_layers": 8,
            "num_attention_heads": 14,
            "num_key_value_heads": 2,
            "intermediate_size": 4864,
            "vocab_size": 32000,
        },
        "tokens",
    ),
    "beit": ("BeitModel", {}, "image"),
    "clip_vision": ("CLIPVisionModel", {}, "image"),
    "mobilevit": ("MobileViTModel", {"image_size": 224}, "image"),
    "poolformer": ("PoolFormerModel", {}, "image"),
    "segformer": ("SegformerModel", {}, "image"),
    "hubert": ("HubertModel", {}, "sound"),
    "wav2vec2": ("Wav2Vec2Model", {}, "sound"),
    "whisper_encoder": (
        "WhisperEncoder",
        {"d_model": 384, "encoder_layers": 4, "encoder_attention_heads": 6, "encoder_ffn_dim": 1536},
        "mel",
    ),
}
#: Of one row of a batch.
SHAPES: dict[str, Shape] = {
    "tokens": (TOKENS,),
    "image": IMAGE,
    "sound": (16000 * SECONDS,),
    "mel": (80, 3000),
}
#: Of the networks in wide_modules.py.
MODULE_SHAPES: dict[str, Shape] = {
    "lstm": (100, 128),
    "gru": (100, 128),
    "unet": (3, 128, 128),
    "detector": (3, 320, 320),
    "super_resolution": (3, 64, 64),
    "diffusion_unet": (4, 32, 32),
    "tcn": (32, 512),
    "table": (64,),
}
NAMES = (*CLASSIFIERS, *SEGMENTERS, *TRANSFORMERS, *MODULE_SHAPES)
