"""Inputs of other lengths, ranks and values than an operator takes; see __main__."""
