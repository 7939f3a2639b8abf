"""The base class of strategies, where programs import it from, too."""

from ascend_ep.accuracy.amct.accuracy_search import AutoCalibrationStrategyBase

__all__ = ["AutoCalibrationStrategyBase"]
