"""The rows of the table of 8-bit models: what onnxruntime's quantiser makes of four models, and ours of two,
each beside the best of onnxruntime and OpenVINO on the same file. models/quantised.py makes them."""

from __future__ import annotations

from .rows import FLOAT32_PEERS, Goal, Model, Row

PEERS = (*FLOAT32_PEERS, "openvino_default")
CONVOLUTIONS = ("qdq", "qdq_int8", "qdq_uint8", "qoperator")
FORMS = {
    "resnet": (*CONVOLUTIONS, "ascend_ep"),
    "mobilenet_v2": CONVOLUTIONS,
    "bert": ("qdq", "qoperator", "dynamic", "ascend_ep"),
    "llama": ("qdq", "dynamic"),
}
TITLES = {
    "resnet": "ResNet-50",
    "mobilenet_v2": "MobileNetV2",
    "bert": "BERT-base 128",
    "llama": "Llama-style prefill 128",
}


def quantised_rows() -> tuple[Row, ...]:
    """A row for each model and form. Peers round where ours does not, so that errors are only stated."""
    return tuple(
        Row(
            f"{name}_{form}",
            f"{TITLES[name]}, {form}",
            Model("quantised", {"of": name, "form": form}, {"of": name}),
            (Goal(1.0, "own", PEERS, approximate=True),),
        )
        for name, forms in FORMS.items()
        for form in forms
    )
