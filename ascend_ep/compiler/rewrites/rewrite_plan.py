"""The rewrites of a whole plan, each in its place: what one leaves is what the next looks for."""

from __future__ import annotations

from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.compiler.plan import Plan
from ascend_ep.compiler.precision.precision import BFLOAT16_PRODUCTS, FLOAT32_PRODUCTS
from ascend_ep.graph.fusion.ledger import Ledger

from .gate_products import gate_products
from .half_weights import store_halves
from .narrow_activations import narrow_activations
from .narrow_products import narrow_products
from .norm_prologue import take_norms
from .winograd import use_winograd


def rewrite_plan(plan: Plan, options: ConvertOptions, ledger: Ledger) -> None:
    """Changes the plan in place; what was fused is entered into the ledger."""
    if options.precision in BFLOAT16_PRODUCTS:
        lists = options.precision_lists
        narrow_products(plan, lists.products(), lists.names_product)
    elif options.fast and options.precision in FLOAT32_PRODUCTS:
        narrow_products(plan, options.fast.product)
    store_halves(plan)
    gate_products(plan, ledger)  # before norms: a gated product takes one, too
    take_norms(plan, ledger)
    narrow_activations(plan)
    use_winograd(plan)
