"""`ascend_ep.quantize`: post-training quantisation in one call, as `ascend-om quantize` does it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ascend_ep.converting import Shapes, registry_of, shapes_of, source_of
from ascend_ep.extras import named

if TYPE_CHECKING:
    from ascend_ep.accuracy.quantization.quantized import Quantized
    from ascend_ep.opdef.definition import OpDef


def quantize(
    model: Any,
    data: Any,
    *,
    accuracy: str | None = None,
    validation: Any = None,
    batch_num: int | None = None,
    custom_ops: Iterable[str | os.PathLike[str] | OpDef] | str | os.PathLike[str] = (),
    input_shape: Shapes | str | None = None,
    **settings: Any,
) -> Quantized:
    """A model in integers of 8 bits, or its weights in 4: `.model`, `.save(path)`, `print(it)`.

    `model`: whatever `ascend_ep.convert` takes. `data`: samples, as a folder of .npy, .npz or .bin files, an
    iterable of arrays, or of mappings from input to array. `accuracy`: "cosine=0.999", "top1=0.99" or
    "rms=0.01", which `validation` (or `data`) must reach; products that stand in its way stay float.
    `settings`: those of accuracy/quantization/settings.py: method, weight_bits, gptq, skip_layers and others.
    Raises AscendError.
    """
    with named():
        from ascend_ep.accuracy.keep_search import Accuracy
        from ascend_ep.accuracy.quantization.quantized import quantize as run
        from ascend_ep.accuracy.quantization.settings import Settings
    return run(
        source_of(model),
        data,
        Settings(**settings),
        accuracy=None if accuracy is None else Accuracy.parse(accuracy),
        validation=validation,
        batch_num=batch_num,
        registry=registry_of(custom_ops),
        shapes=shapes_of(input_shape)[0],
    )
