"""The batches of .bin files, for scripts of --evaluator."""

from ascend_ep.compiler.amct.evaluator import load_data

__all__ = ["load_data"]
