"""AIPP: images as bytes, preprocessed in front of a model."""
