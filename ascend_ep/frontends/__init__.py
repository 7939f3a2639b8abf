"""Descriptions of operators in their users' words, read into the one expression form of opdef."""
