"""Operators in the forms of all their versions beside onnxruntime: `tools/fuzz_opsets [--all] [--chains N]`.

Of each operator of ONNX, for the first and the last operator set of each of its versions, a small model with
the form that it has there, and of the sets before it came, where onnxruntime takes it all the same. What
onnxruntime's CPU provider computes, the converted model must compute, too, without a warning; what it refuses
is left out. --all: in every type, and with constants, free sizes and inputs in turn. --chains: so many random
chains of such nodes, in operator sets that know them all, for the passes that look at neighbours.
Prints each finding once for an operator, and ends with 1. Takes the Python with ascend-ep and onnxruntime
from the path.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache

import ml_dtypes
import numpy as np

from operator_sets.form import NEWEST, OLDEST, VARIANTS, Form, model_of, retyped
from operator_sets.table import FORMS, KNOWN
from operator_sets.trial import REFUSED, UNSTABLE, answer, finding

TYPES = (np.float16, np.float64, ml_dtypes.bfloat16, np.int8, np.uint8, np.int32, np.int64, np.bool_)
#: Nodes of a chain, at most.
LONGEST = 4

Trial = tuple[Sequence[Form], int, str]


def singles(every: bool) -> Iterator[Trial]:
    """Each form by itself."""
    for form in FORMS:
        for opset in (*form.early(), *form.opsets()):
            variants = list(VARIANTS) if every else ["constant"]
            types = (None, *TYPES) if every and any(_is_float(a) for a in form.operands) else (None,)
            for dtype in types:
                for variant in variants[: 1 if dtype else None]:
                    yield [form if dtype is None else retyped(form, dtype)], opset, variant


def _is_float(array: object) -> bool:
    return isinstance(array, np.ndarray) and array.dtype == np.float32


def chains(count: int, seed: int) -> Iterator[Trial]:
    """Random chains of forms, each of which takes what the one before makes, all of it finite: onnxruntime's
    maxima drop some NaN, and its Clip without a bound makes infinities the largest numbers."""
    chance = random.Random(seed)
    taken = [form for form in FORMS if form.operands and _is_float(form.operands[0])]
    for _ in range(count):
        opset, variant = chance.randint(OLDEST, NEWEST), chance.choice(list(VARIANTS))
        known = [form for form in taken if any(first <= opset <= last for first, last in _spans(form))]
        chain = [chance.choice(known)]
        while len(chain) < LONGEST:
            made = _result(chain[-1], opset)
            after = [form for form in known if _takes(form) == made]
            if made is None or not after:
                break
            chain.append(chance.choice(after))
        if len(chain) > 1 and all(_is_finite(chain[:n], opset) for n in range(1, len(chain) + 1)):
            yield chain, opset, variant


def _takes(form: Form) -> tuple[int, ...]:
    first = form.operands[0]
    return () if first is None else first.shape


def _is_finite(chain: Sequence[Form], opset: int) -> bool:
    made = answer(*model_of(chain, opset, "fed"))
    return made is not None and all(a.dtype.kind != "f" or bool(np.isfinite(a).all()) for a in made)


@cache
def _result(form: Form, opset: int) -> tuple[int, ...] | None:
    """The shape of the first result, if it is of floats."""
    made = answer(*model_of([form], opset, "fed"))
    return made[0].shape if made and _is_float(made[0]) else None


def _spans(form: Form) -> Iterator[tuple[int, int]]:
    opsets = form.opsets()
    return zip(opsets[::2], opsets[1::2], strict=False)


def _is_known(form: Form) -> bool:
    """Whether KNOWN says why its numbers are others."""
    first = form.operands[0] if form.operands else None
    return any(
        form.op == op and first is not None and str(first.dtype) in types.split() for op, types, _ in KNOWN
    )


def main() -> int:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="tools/fuzz_opsets", description=__doc__, formatter_class=raw)
    parser.add_argument("--only", default="", help="operators whose name holds this")
    parser.add_argument("--all", action="store_true", help="every type and variant")
    parser.add_argument("--chains", type=int, default=0, metavar="N", help="random chains instead")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    trials = chains(given.chains, given.seed) if given.chains else singles(given.all)
    tried, seen = Counter[bool](), set[tuple[str, str]]()
    for forms, opset, variant in trials:
        if not any(given.only in form.op for form in forms):
            continue
        model, feeds = model_of(forms, opset, variant)
        said = finding(model, feeds)
        tried[said == REFUSED] += 1
        key = (" ".join(form.op for form in forms), said[:60])
        if said not in ("", REFUSED, UNSTABLE) and key not in seen and not any(map(_is_known, forms)):
            seen.add(key)
            print(f"{opset}\t{variant}\t{'; '.join(form.name for form in forms)}\t{said}", flush=True)
    print(f"{tried[False]} models, {tried[True]} refused by onnxruntime, {len(seen)} findings")
    return 1 if seen else 0


if __name__ == "__main__":
    sys.exit(main())
