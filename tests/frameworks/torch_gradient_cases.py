"""Arguments of ONNX's operators whose gradients are PyTorch's equivalents': one case for each form."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

#: The operator, what makes its tensors, and its attributes.
Case = tuple[str, Callable[[], tuple[Any, ...]], dict[str, Any]]


def x(*shape: int) -> torch.Tensor:
    """Different numbers, none near 0 and no two near each other: nothing bends there."""
    count = torch.Size(shape).numel()
    values = torch.linspace(0.2, 1.8, max(count, 1))[torch.randperm(max(count, 1))]
    return values.reshape(shape).requires_grad_()


def i(*values: Any) -> torch.Tensor:
    return torch.tensor(values)


def signed(*shape: int) -> torch.Tensor:
    """Of both signs, less than 1."""
    return (x(*shape).detach() - 1.03).requires_grad_()


def f(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float32)


def resize(mode: str, coordinate: str, **more: Any) -> dict[str, Any]:
    return {"mode": mode, "coordinate_transformation_mode": coordinate, **more}


UP, SIZES = f(1, 1, 1.5, 2.6), i(1, 2, 7, 3)
IMAGES: list[Case] = [
    ("Resize", lambda: (x(1, 2, 3, 4), None, UP), {}),
    ("Resize", lambda: (x(1, 2, 4, 5), None, None, SIZES), resize("linear", "half_pixel")),
    ("Resize", lambda: (x(1, 2, 4, 5), None, None, SIZES), resize("linear", "align_corners")),
    ("Resize", lambda: (x(1, 2, 4, 5), None, None, SIZES), resize("cubic", "asymmetric", exclude_outside=1)),
    ("Resize", lambda: (x(1, 1, 6, 5), None, f(1, 1, 0.4, 0.6)), resize("linear", "half_pixel", antialias=1)),
    ("Resize", lambda: (x(1, 1, 6, 5), None, f(1, 1, 0.4, 0.6)), resize("cubic", "half_pixel", antialias=1)),
    ("Resize", lambda: (x(1, 1, 3, 4), None, f(1, 1, 1.3, 1.3)), resize("linear", "half_pixel_symmetric")),
    ("Resize", lambda: (x(1, 1, 3, 4), None, None, i(1, 1, 1, 6)), resize("linear", "pytorch_half_pixel")),
    ("Resize", lambda: (x(1, 1, 4, 4), f(0, 0, 0.2, -0.3, 1, 1, 0.9, 1.2), None, i(1, 1, 3, 5)),
     resize("linear", "tf_crop_and_resize", extrapolation_value=0.5)),
    ("Resize", lambda: (x(4, 5), None, None, i(6, 6)),
     {"mode": "linear", "keep_aspect_ratio_policy": "not_larger"}),
    ("Resize", lambda: (x(1, 2, 4, 5), None, None, i(3, 7)),
     {"axes": [2, 3], "nearest_mode": "ceil", "coordinate_transformation_mode": "asymmetric"}),
    ("Resize", lambda: (x(1, 1, 5, 6), None, f(1, 1, 0.6, 2.3)), resize("nearest", "half_pixel")),
    ("Resize", lambda: (x(1, 1, 5, 6), None, f(1, 1, 1.7, 0.45)), resize("nearest", "half_pixel")),
    ("Upsample", lambda: (x(1, 1, 2, 3), f(1, 1, 2, 1.5)), {"mode": "linear"}),
    ("GridSample", lambda: (x(2, 2, 3, 4), signed(2, 3, 2, 2)), {}),
    ("GridSample", lambda: (x(1, 1, 3, 4), (1.7 * signed(1, 3, 2, 2)).detach().requires_grad_()),
     {"padding_mode": "reflection", "align_corners": 1}),
    ("GridSample", lambda: (x(1, 2, 4, 4), signed(1, 2, 3, 2)), {"mode": "cubic", "padding_mode": "border"}),
    ("GridSample", lambda: (x(1, 1, 2, 3, 3), signed(1, 2, 1, 2, 3)), {"mode": "linear"}),
    ("GridSample", lambda: (x(1, 2, 3, 4), signed(1, 3, 2, 2).detach()), {"mode": "nearest"}),
    ("RoiAlign", lambda: (x(2, 2, 5, 6), f(0.2, 0.3, 3.1, 4.2, 1.1, 0.6, 4.9, 3.3).reshape(2, 4), i(0, 1)),
     {"output_height": 2, "output_width": 3, "sampling_ratio": 2}),
    ("RoiAlign", lambda: (x(1, 2, 5, 6), f(0.4, 0.3, 6.1, 8.2).reshape(1, 4), i(0)),
     {"output_height": 2, "output_width": 2, "spatial_scale": 0.5, "mode": "max",
      "coordinate_transformation_mode": "output_half_pixel"}),
    ("AffineGrid", lambda: (x(1, 2, 3), i(1, 1, 2, 3)), {"align_corners": 1}),
    ("AffineGrid", lambda: (x(1, 3, 4), i(1, 1, 2, 3, 2)), {}),
    ("AffineGrid", lambda: (x(1, 2, 3), i(1, 1, 1, 3)), {"align_corners": 1}),
    ("DeformConv", lambda: (x(1, 4, 4, 4), x(2, 2, 2, 2), (x(1, 16, 3, 3) * 0.3).detach().requires_grad_(),
                            x(2), x(1, 8, 3, 3)), {"group": 2, "offset_group": 2}),
    ("Col2Im", lambda: (x(1, 4, 6), i(3, 4), i(2, 2)), {}),
    ("Col2Im", lambda: (x(1, 6, 3), i(5), i(3)), {"pads": [1, 1], "dilations": [2], "strides": [1]}),
    ("MaxUnpool", lambda: (x(1, 1, 2, 2), torch.tensor([[[[5, 7], [13, 15]]]]), None),
     {"kernel_shape": [2, 2], "strides": [2, 2]}),
    ("MaxUnpool", lambda: (x(1, 1, 2, 2), torch.tensor([[[[6, 8], [16, 18]]]]), i(1, 1, 5, 5)),
     {"kernel_shape": [2, 2], "strides": [2, 2]}),
    ("CenterCropPad", lambda: (x(3, 6), i(6, 3)), {}),
]  # fmt: skip

RECURRENT: list[Case] = [
    ("LSTM", lambda: (x(3, 2, 2), signed(1, 12, 2), signed(1, 12, 3), signed(1, 24)), {"hidden_size": 3}),
    ("LSTM", lambda: (x(3, 2, 2), signed(2, 8, 2), signed(2, 8, 2), signed(2, 16), i(3, 2).int(), x(2, 2, 2),
                      x(2, 2, 2), signed(2, 6)), {"hidden_size": 2, "direction": "bidirectional"}),
    ("GRU", lambda: (x(3, 2, 2), signed(1, 9, 2), signed(1, 9, 3), signed(1, 18)),
     {"hidden_size": 3, "linear_before_reset": 1, "direction": "reverse"}),
    ("GRU", lambda: (x(2, 2, 2), signed(1, 6, 2), signed(1, 6, 2)), {"hidden_size": 2}),
    ("RNN", lambda: (x(2, 3, 2), signed(1, 2, 2), signed(1, 2, 2)),
     {"hidden_size": 2, "layout": 1, "activations": ["Affine"], "activation_alpha": [0.5]}),
]  # fmt: skip

ATTENTION: list[Case] = [
    ("Attention", lambda: (x(1, 2, 3, 4), x(1, 2, 3, 4), x(1, 2, 3, 2)), {"is_causal": 1}),
    ("Attention", lambda: (x(1, 3, 8), x(1, 4, 4), x(1, 4, 4), signed(3, 4)),
     {"q_num_heads": 2, "kv_num_heads": 1, "scale": 0.5}),
    ("Attention", lambda: (x(1, 2, 2, 4), x(1, 2, 1, 4), x(1, 2, 1, 4), torch.tensor([[True, False, True],
                           [True, True, True]]), x(1, 2, 2, 4), x(1, 2, 2, 4)), {"softcap": 2.0}),
    ("RotaryEmbedding", lambda: (x(1, 2, 3, 4), x(5, 2), x(5, 2), i([0, 3, 3])), {}),
    ("RotaryEmbedding", lambda: (x(1, 3, 12), x(1, 3, 2), x(1, 3, 2)),
     {"num_heads": 2, "rotary_embedding_dim": 4, "interleaved": 1}),
    ("TensorScatter", lambda: (x(2, 4, 2), x(2, 2, 2), i(1, 3)), {"mode": "circular"}),
    ("ReverseSequence", lambda: (x(3, 2, 2), i(3, 2)), {}),
    ("ReverseSequence", lambda: (x(2, 3), i(1, 3)), {"batch_axis": 0, "time_axis": 1}),
]  # fmt: skip

OTHERS: list[Case] = [
    ("DFT", lambda: (x(1, 5, 1), None, i(1)[0]), {"onesided": 1}),
    ("DFT", lambda: (x(1, 4, 2), torch.tensor(5)), {"inverse": 1}),
    ("STFT", lambda: (x(1, 8, 1), torch.tensor(2), x(4)), {}),
    ("GlobalAveragePool", lambda: (x(1, 2, 3, 2),), {}),
    ("GlobalMaxPool", lambda: (x(1, 2, 3),), {}),
    ("MatMul", lambda: (x(2, 3), x(3, 2)), {}),
    ("MatMul", lambda: (x(3), x(2, 3, 2)), {}),
    ("MatMul", lambda: (x(2, 1, 3), x(3)), {}),
    ("MatMul", lambda: (x(3), x(3)), {}),
    ("Sum", lambda: ([x(2, 3), x(3), x(2, 1)],), {}),
    ("Mean", lambda: ([x(2, 3), signed(3)],), {}),
    ("Max", lambda: ([x(2, 3), 2 * signed(3)],), {}),
    ("Min", lambda: ([x(2, 3), 2 * signed(3)],), {}),
    ("Concat", lambda: ([x(2, 1), x(2, 3)],), {"axis": -1}),
    ("Einsum", lambda: ([x(2, 3), x(3, 4)],), {"equation": "ij, jk -> ki"}),
    ("Split", lambda: (x(2, 5),), {"axis": 1, "num_outputs": 2}),
    ("Split", lambda: (x(5), i(4, 1)), {}),
    ("Cast", lambda: (x(2, 3),), {"to": 11}),
    ("CastLike", lambda: (x(3), torch.zeros(1, dtype=torch.float64)), {}),
    ("CumProd", lambda: (x(2, 3), torch.tensor(1)), {}),
    ("CumProd", lambda: (x(2, 3), torch.tensor(0)), {"exclusive": 1, "reverse": 1}),
    ("DequantizeLinear", lambda: (torch.tensor([[1, -2, 3]], dtype=torch.int8), x(3)), {}),
    ("Dropout", lambda: (x(2, 3),), {}),
    ("Dropout", lambda: (x(2, 3), torch.tensor(0.5), torch.tensor(False)), {}),
    ("OneHot", lambda: (torch.tensor([0, -1, 7]), torch.tensor(3), x(2)), {"axis": 0}),
    ("Range", lambda: (x(1)[0], torch.tensor(4.05), x(1)[0]), {}),
    ("Scatter", lambda: (x(3, 2), torch.tensor([[2, 1]]), x(1, 2)), {}),
    ("ArrayFeatureExtractor", lambda: (x(2, 4), i(3, 0)), {}),
    ("FeatureVectorizer", lambda: ([x(2, 1), x(2, 3)],), {"inputdimensions": [1, 3]}),
    ("Imputer", lambda: (torch.tensor([[0.5, math.nan, 0.7]], requires_grad=True),),
     {"imputed_value_floats": [1.0, 2.0, 3.0], "replaced_value_float": math.nan}),
    ("LinearClassifier", lambda: (x(2, 3),),
     {"coefficients": [0.1, 0.2, -0.3, 0.4, 0.5, 0.6], "intercepts": [0.1, 0.2], "classlabels_ints": [4, 5],
      "post_transform": "SOFTMAX"}),
    ("LinearRegressor", lambda: (x(2, 3),), {"coefficients": [0.1, 0.2, -0.3], "intercepts": [0.1]}),
    ("Normalizer", lambda: (signed(2, 3),), {"norm": "L2"}),
    ("Normalizer", lambda: (signed(2, 3),), {"norm": "L1"}),
    ("Normalizer", lambda: (x(2, 3),), {"norm": "MAX"}),
    ("SVMRegressor", lambda: (x(2, 2),),
     {"kernel_type": "RBF", "kernel_params": [0.5, 0.0, 3.0], "n_supports": 2, "rho": [0.3],
      "coefficients": [1.0, -2.0], "support_vectors": [0.1, 0.9, 0.7, 0.2]}),
    ("Scaler", lambda: (x(2, 3),), {"offset": [0.1, 0.2, 0.3], "scale": [2.0, 3.0, 4.0]}),
]  # fmt: skip
