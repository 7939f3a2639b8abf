"""Advice that was tried: changes of a model or of its conversion, each converted, run and measured."""
