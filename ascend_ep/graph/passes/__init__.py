"""Passes over the graph, and the order in which the compiler runs them."""

from ascend_ep.graph.passes.pipeline import run_passes

__all__ = ["run_passes"]
