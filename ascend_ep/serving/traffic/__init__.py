"""Versions of a model side by side: shares of the requests, and copies of them to compare."""
