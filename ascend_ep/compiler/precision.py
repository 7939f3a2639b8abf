"""What atc's precision modes mean on the CPU."""

from __future__ import annotations

#: Everything in its own type; float32 exactly.
EXACT = frozenset({"must_keep_origin_dtype", "force_fp32", "origin"})

#: Products and convolutions of constant weights, and attention's own products for more than a few queries, in
#: bfloat16 with float32 sums, and the images between such convolutions; all else, inputs and outputs too, as
#: it is.
BFLOAT16_PRODUCTS = frozenset({"allow_mix_precision_bf16", "mixed_bfloat16"})


def shortfall(mode: str) -> str:
    """What a mode asks for and doesn't get, in a sentence; "" when it gets what it asks for."""
    if mode in EXACT or mode in BFLOAT16_PRODUCTS:
        return ""
    return (
        f"precision {mode}: there are no float16 kernels, everything is computed in float32. Say"
        " --precision_mode=must_keep_origin_dtype to ask for exactly that, or allow_mix_precision_bf16"
        " for products and convolutions in bfloat16."
    )
