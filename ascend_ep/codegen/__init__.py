"""Compiled C from expression programs: graph, nests, text, shared object; and the search for a schedule."""
