"""The base class of evaluators, where programs import it from."""

from ascend_ep.compiler.amct.accuracy_search import AutoCalibrationEvaluatorBase

__all__ = ["AutoCalibrationEvaluatorBase"]
