"""Fusions: what exporters decompose becomes one operator again. A rule a file."""

from ascend_ep.graph.fusion.fuse import FUSIONS, fuse

__all__ = ["FUSIONS", "fuse"]
