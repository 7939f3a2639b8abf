"""The base class of strategies, where programs import it from, too."""

from ascend_ep.compiler.amct.accuracy_search import AutoCalibrationStrategyBase

__all__ = ["AutoCalibrationStrategyBase"]
