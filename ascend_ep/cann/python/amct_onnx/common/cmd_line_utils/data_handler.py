"""The batches of .bin files, for scripts of --evaluator."""

from ascend_ep.accuracy.amct.evaluator import load_data

__all__ = ["load_data"]
