"""convert_qat_model, where programs import it from, too."""

from ascend_ep.accuracy.amct.steps import convert_qat_model

__all__ = ["convert_qat_model"]
