"""From ONNX to a checked, typed, simplified and partitioned graph."""

from ascend_ep.graph.declared import set_input_shapes
from ascend_ep.graph.facts import Fact, Facts
from ascend_ep.graph.load import load_model
from ascend_ep.graph.partition import Partition, connected_groups, partition
from ascend_ep.graph.passes.pipeline import run_passes
from ascend_ep.graph.shape_inference import infer_facts

__all__ = [
    "Fact",
    "Facts",
    "Partition",
    "connected_groups",
    "infer_facts",
    "load_model",
    "partition",
    "run_passes",
    "set_input_shapes",
]
