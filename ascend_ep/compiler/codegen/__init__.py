"""Compiled C from expression programs: graph -> nest -> text -> shared object, and the search for a schedule."""
