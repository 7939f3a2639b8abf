"""Results that a description states, `f(1) = 0.731` or `当 x=1 时输出 0.731`: what an operator is held to.

They are no definitions: without_statements leaves blanks for them. One that says about, ≈ or 约 is held to
its digits, as is one with a fraction; a whole number is meant exactly.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ascend_ep.errors import AscendError
from ascend_ep.frontends.functions import LIBRARY
from ascend_ep.opdef.attributes import bind_attributes
from ascend_ep.opdef.definition import AttributeValue, OpDef
from ascend_ep.opdef.formula_nodes import FUNCTIONS
from ascend_ep.opdef.reference import evaluate

_NUMBER = r"[-−+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_VALUE = rf"(?:{_NUMBER}|\[\s*{_NUMBER}(?:\s*[,，]\s*{_NUMBER})*\s*\])"
_EQUALS = (
    r"(?:==|=|＝|≈|≃|~=|→|->|is(?: about| approximately)?|should be|gives|equals|约为|约等于|应为|等于|为|是)"
)
_CALL = rf"(?P<name>[^\W\d]\w*)\s*[(（]\s*(?P<arguments>{_VALUE}(?:\s*[,，]\s*{_VALUE})*)\s*[)）]"
_AT = (
    rf"(?:(?:when|if|for|at)\s+(?:the\s+)?(?:x|input)|[当若]?\s*(?:x|输入))\s*(?:=|为|是|is)?\s*(?P<at>{_VALUE})"
    r"(?P<when>\s*时)?\s*[,，]?\s*(?:then\s+)?(?:the\s+)?(?:output|result|y|f\(x\)|输出|结果|值)"
)
_STATED = re.compile(rf"(?:{_CALL}|{_AT})\s*{_EQUALS}?\s*(?P<result>{_VALUE})(?![\w*/^(]|\s*[*/^+(x·×])")
#: Words that lead to a result, taken away with it.
_LEAD = re.compile(
    r"(?:(?:\be\.g\.|\beg\b|for example|for instance|such that|so that|\bwith\b|\band\b|\bcheck\b|"
    r"例如|比如|譬如|满足|使得|并且|且)\s*[:：,，]?\s*)+\Z"
)
_HEADS = re.compile(r"([^\W\d]\w*)\s*[(（]\s*[^\W\d][^()（）]*[)）]\s*(?:[:：]\s*)?[=＝](?!=)")


@dataclass(frozen=True)
class Statement:
    """`name` of what ("" for the operator), at which arguments, gives what, how exactly; `text` says it."""

    name: str
    arguments: tuple[np.ndarray, ...]
    result: np.ndarray
    tolerance: float
    text: str
    start: int
    end: int


def statements(text: str) -> Iterator[Statement]:
    """The results that a text states, but for those of functions that it defines beside the operator."""
    defined = _HEADS.findall(text)[1:]
    for found in _STATED.finditer(text):
        about = found["name"] or ""
        between = text[found.end("arguments" if about else "at") : found.start("result")]
        if about in defined or (about and not re.search(_EQUALS, between)):
            continue
        if found["at"] is not None and not (found["when"] or re.match(r"(?:when|if|for|at|当|若)", found[0])):
            continue
        given = re.findall(_VALUE, found["arguments"] or found["at"])
        plain = re.findall(_NUMBER, found["result"])
        digits = [len(n.partition(".")[2]) if "e" not in n.casefold() else 6 for n in plain]
        start = found.start() - len(m[0]) if (m := _LEAD.search(text[: found.start()])) else found.start()
        arguments = tuple(_array(g) for g in given)
        exact = max(digits) == 0 and not re.search(r"[≈≃~约]|about|approx", between)
        tolerance = 1e-4 if exact else 0.51 * 10.0 ** -max(digits)
        yield Statement(about, arguments, _array(found["result"]), tolerance, found[0], start, found.end())


def _array(text: str) -> np.ndarray:
    return np.array([float(n.replace("−", "-")) for n in re.findall(_NUMBER, text)])


def without_statements(text: str) -> str:
    """The text with blanks for them: every position stays."""
    for found in statements(text):
        text = text[: found.start] + " " * (found.end - found.start) + text[found.end :]
    return text


def contradictions(opdef: OpDef, text: str) -> list[str]:
    """Sentences about stated results that the operator doesn't give, to the digits that are stated."""
    wrong = []
    for stated in statements(text):
        got = _result(opdef, stated)
        if isinstance(got, str):
            continue
        if got.shape != stated.result.shape and got.size != stated.result.size:
            got = got[:1] if stated.result.size == 1 and np.all(got == got.flat[0]) else got
        same = got.size == stated.result.size and bool(
            np.all(np.abs(got - stated.result) <= stated.tolerance + 1e-6 * np.abs(got))
        )
        if not same:
            shown = ", ".join(f"{v:.6g}" for v in got[:8])
            gives = shown if got.size == 1 else f"[{shown}]"
            wrong.append(f"The description says {' '.join(stated.text.split())}; the function gives {gives}.")
    return wrong


def unchecked(opdef: OpDef, text: str) -> list[str]:
    """Sentences about stated results that couldn't be compared."""
    reasons = ((s, _result(opdef, s)) for s in statements(text))
    return [f"{' '.join(s.text.split())} wasn't checked: {r}" for s, r in reasons if isinstance(r, str)]


def _result(opdef: OpDef, stated: Statement) -> np.ndarray | str:
    """What is computed where a result is stated, or why it can't be."""
    known = stated.name in FUNCTIONS or stated.name.casefold() in (*FUNCTIONS, *LIBRARY)
    if known and stated.name.casefold() != opdef.op.casefold():
        return f"it says something about {stated.name}, not {opdef.op}"
    count = len(opdef.inputs)
    if not count <= len(stated.arguments) <= count + len(opdef.attributes):
        return f"{opdef.op} takes {count} inputs"
    attributes: dict[str, AttributeValue] = {}
    for attribute, value in zip(opdef.attributes, stated.arguments[count:], strict=False):
        number = float(value[0])
        attributes[attribute.name] = int(number) if attribute.type == "int" else number
    try:
        bound = bind_attributes(opdef, attributes)
        results = evaluate(opdef, list(stated.arguments[:count]), bound)
    except (AscendError, ValueError, IndexError) as error:
        return getattr(error, "text", str(error)).rstrip(".")
    return np.ravel(np.asarray(results[0], np.float64))
