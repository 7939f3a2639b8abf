"""Failure of every allocation and every system call in turn; see __main__."""
