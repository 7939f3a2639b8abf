"""Models of others under torch.compile(backend="ascend"): tools/torch_models."""
