"""The base classes of evaluators and of strategies, where programs import them from."""

from ascend_ep.accuracy.amct.accuracy_search import AutoCalibrationStrategyBase
from ascend_ep.accuracy.amct.evaluator import AutoCalibrationEvaluatorBase

__all__ = ["AutoCalibrationEvaluatorBase", "AutoCalibrationStrategyBase"]
