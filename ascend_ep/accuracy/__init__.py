"""What precision costs a model, and what keeps its accuracy: errors by node, float16, quantisation, AMCT."""
