"""Generated Ascend C, compiled for the CPU, as a reader of random operators."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from programs import Operator

from ascend_ep.cann.soc import find_soc
from ascend_ep.codegen.c_source import NotGenerated
from ascend_ep.opbuild.ascendc.cpu import CpuKernel, compile_many_for_cpu
from ascend_ep.opbuild.ascendc.generate import KernelSource, generate_ascend_c
from ascend_ep.opdef.definition import OpDef

#: Kernels of a translation unit: each takes 0.17 s to compile, and a unit 2 s more for what it includes.
TOGETHER = 100


def compile_ascend_c(operators: Sequence[Operator]) -> tuple[dict[str, CpuKernel], dict[str, str]]:
    """By name the kernels, and the reasons of those operators that have none."""
    soc = find_soc("Ascend910B1")
    sources: list[tuple[KernelSource, OpDef, int]] = []
    reasons: dict[str, str] = {}
    for operator in operators:
        opdef = operator.opdef
        try:
            source = generate_ascend_c(opdef, soc, operator.given, given=operator.given_inputs)
            sources.append((source, opdef, 0))
        except NotGenerated as reason:
            reasons[opdef.op] = str(reason)
    parts = [sources[i : i + TOGETHER] for i in range(0, len(sources), TOGETHER)]
    with ThreadPoolExecutor(2) as pool:
        compiled = pool.map(lambda part: compile_many_for_cpu(part, per_unit=TOGETHER), parts)
        kernels = [k for part in compiled for k in part]
    return {k.opdef.op: k for k in kernels}, reasons
