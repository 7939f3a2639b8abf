"""The base classes of evaluators and of strategies, where programs import them from."""

from ascend_ep.compiler.amct.accuracy_search import AutoCalibrationStrategyBase
from ascend_ep.compiler.amct.evaluator import AutoCalibrationEvaluatorBase

__all__ = ["AutoCalibrationEvaluatorBase", "AutoCalibrationStrategyBase"]
