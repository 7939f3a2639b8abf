"""Fusions: what exporters decompose becomes one operator again. A rule a file."""

from ascend_ep.graph.fusion.fuse import FUSIONS, Refusal, fuse

__all__ = ["FUSIONS", "Refusal", "fuse"]
