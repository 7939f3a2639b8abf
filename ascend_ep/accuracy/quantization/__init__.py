"""Post-training quantisation: a float model and samples become a model with QuantizeLinear."""
