"""TBE DSL files, run unmodified, read as expressions.

A TBE file is Python code and is *run*, as the real toolchain runs it: `sandbox` starts a process of its
own with limits of time and memory, in which `toolkit` stands in for the packages te, tbe, tvm, topi,
impl.util and mindspore.ops; nothing of that is importable outside. The process hands back what the operator
computes as data, the text of a formula and shapes, which `recording` checks as a stranger's.
`description` decides what was a property of the operator and what only of the shapes it was built for.
"""
