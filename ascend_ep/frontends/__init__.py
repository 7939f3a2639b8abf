"""Descriptions of operators in their users' words, read into the one expression form of opdef.

`description.describe` takes any of them: mathematics, pseudo-code, prose for a language model, or a file.
"""
