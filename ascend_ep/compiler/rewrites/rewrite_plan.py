"""The rewrites of a whole plan, each in its place: what one leaves is what the next looks for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.compiler.plan import Plan
from ascend_ep.compiler.precision.precision import BFLOAT16_PRODUCTS, FLOAT32_PRODUCTS
from ascend_ep.graph.fusion.ledger import Ledger
from ascend_ep.graph.setbacks import optional

from .gate_products import gate_products
from .half_weights import store_halves
from .join_neighbours import join_neighbours
from .narrow_activations import narrow_activations
from .narrow_products import narrow_products
from .norm_prologue import take_norms
from .product_chains import weigh_product_chains
from .winograd import use_winograd


def rewrite_plan(plan: Plan, options: ConvertOptions, ledger: Ledger) -> None:
    """Changes the plan in place; what was fused is entered into the ledger."""
    lists = options.precision_lists
    steps: list[Callable[[], object]] = []
    if options.precision in BFLOAT16_PRODUCTS:
        steps.append(partial(narrow_products, plan, lists.products(), lists.names_product))
    elif options.fast and options.precision in FLOAT32_PRODUCTS:
        steps.append(partial(narrow_products, plan, options.fast.product))
    steps.append(partial(store_halves, plan))
    steps.append(partial(gate_products, plan, ledger))  # before norms: a gated product takes one, too
    steps.append(partial(take_norms, plan, ledger))
    steps.append(partial(narrow_activations, plan))
    steps.append(partial(use_winograd, plan))
    steps.append(partial(join_neighbours, plan))
    steps.append(partial(weigh_product_chains, plan, ledger))
    run_rewrites(steps)


def run_rewrites(steps: Iterable[Callable[[], object]]) -> None:
    """Runs rewrites, which are partials, in order; each is a step that a conversion can do without."""
    for work in steps:
        optional(f"rewrite {getattr(work, 'func', work).__name__}", work, otherwise=None)
