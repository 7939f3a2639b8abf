"""The operator's generated Ascend C on this CPU: the rules of the device, and numbers within its own bound.

A compilation of about a second, so a caller may start kernel_of beside other compilations.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from ascend_ep.cann.soc import Soc
from ascend_ep.codegen.graph import NotGenerated
from ascend_ep.errors import AscendError
from ascend_ep.opbuild.ascendc.cpu import CpuKernel, compile_for_cpu
from ascend_ep.opbuild.ascendc.generate import generate_ascend_c
from ascend_ep.opbuild.proof.arithmetic import ASCEND_C
from ascend_ep.opbuild.proof.error_bound import NoBound
from ascend_ep.opbuild.proof.harness import Case
from ascend_ep.opbuild.proof.numerical import Tally, compare, expected
from ascend_ep.opbuild.proof.subject import Subject
from ascend_ep.opdef.proof_report import Check

NAME = "Ascend C"


def kernel_of(subject: Subject, soc: Soc) -> CpuKernel:
    """The subject's kernel for its element types and a chip, compiled for this CPU. Raises NotGenerated with
    the reason, and AscendError E43001 or E43002."""
    source = generate_ascend_c(subject.opdef, soc, subject.attributes, given=subject.given)
    wanted = {n: t.dtype for n, t in subject.given.items()}
    outputs = [s.name for s in subject.opdef.outputs]
    wanted |= dict(zip(outputs, subject.output_types, strict=True))
    for number, column in enumerate(source.columns):
        if all(column[n] == t for n, t in wanted.items()):
            return compile_for_cpu(source, subject.opdef, number)
    raise NotGenerated("its element types are no column of the kernel's")


def check_ascend_c(
    subject: Subject, soc: Soc, cases: Sequence[Case], kernel: CpuKernel | None = None
) -> Check:
    """Every case on the chip's tiles and cores, with npuchk's rules checked, against the float64 reference.
    `kernel`: kernel_of(subject, soc), when there is one already."""
    start = time.perf_counter()
    tally = Tally()
    try:
        made = kernel or kernel_of(subject, soc)
        for case in cases:
            wanted = expected(subject, case, ASCEND_C)
            if wanted is None:
                continue
            results = made(*case.inputs, attributes=dict(subject.attributes))
            compare(subject, case, wanted, results, tally)
            if tally.failure:
                return Check("execution", NAME, False, tally.failure)
    except (NotGenerated, NoBound) as reason:
        return Check("execution", NAME, None, str(reason))
    except AscendError as error:
        return Check("execution", NAME, None if error.code == "E43001" else False, error.text)
    seconds = time.perf_counter() - start
    return Check("execution", NAME, True, f"{len(cases)} cases for {soc.name} in {seconds:.1f} s, {tally}")
