"""Prose: whether a text is a description in words, which a language model reads, and the type it names.

A text is asked only once it can't be read as a formula. It is prose when a clause of it, not only its
heading or a remark such as `输入 FP16 Tensor`, is in words: then its = and : don't make it a formula.
"""

from __future__ import annotations

import re

from ascend_ep.frontends.functions import LIBRARY
from ascend_ep.frontends.statements import without_statements
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.formula_nodes import FUNCTIONS

HEADING = re.compile(r"\s*(?P<words>[^=\n:：()（）]{1,200})[:：](?!=)\s*(?=\S)")
#: Words of a clause that is a remark on the operator, no part of what it computes.
REMARK = re.compile(
    r"learn|parameter|tensor|input|shape|float|fp16|bf16|scalar|attribute|precision|dtype|"
    r"参数|张量|输入|任意|标量|属性|形状|精度|类型|学习",
    re.IGNORECASE,
)
#: Words that do something with values: a clause that has one isn't only a remark.
OPERATION = re.compile(
    r"\b(?:then|multipl\w*|times|plus|minus|add(?:ed|s|ing)?|subtract\w*|divid\w*|clip\w*|clamp\w*|"
    r"scal(?:e|es|ed|ing)|normali\w*|squar\w*|replac\w*|return\w*|limit\w*|negat\w*|invert\w*|raised|"
    r"(?:sum|mean|maximum|minimum) of|average\w*|largest|smallest|appl(?:y|ied|ies)|take[ns]?|comput\w*|"
    r"output[ts]?|result)\b|"
    r"乘|除以|加上|减去|相加|相减|然后|再|取|截断|归一|平方|求和|返回|输出|结果|限制|缩放|放大|缩小",
    re.IGNORECASE,
)
_FUNCTION_TEXT = """
    the of by its to then that this which into along over each all every than an be is are it from in on at as
    so only when while but how does do your you i we please would like want need should
"""
_FUNCTION_WORDS = frozenset(_FUNCTION_TEXT.split())
#: Words that formulas have.
_VOCABULARY = frozenset(
    {
        *FUNCTIONS,
        *LIBRARY,
        "if",
        "else",
        "otherwise",
        "where",
        "and",
        "or",
        "not",
        "with",
        "for",
        "when",
    }
)
_CHINESE_VOCABULARY = re.compile(r"其中|这里|式中|否则|其他|如果|以及|并且|[令且和而若当]")
_CLAUSE = re.compile(r"[,，;；。\n]|\.(?=\s|$)|\bwhere\b|其中|这里|式中")
_DEFINED = re.compile(
    r"^\s*[^\W\d]\w*\s*(?:[(（][^()（）]*[)）])?\s*(?:(?:[:：]|->|→)[\w ()]{0,40})?"
    r"[=＝](?![=＝]|\s*[-\d.]+\s*$)"
)
_WORD = re.compile(r"[A-Za-z_]\w*(?:'[a-z]+)?|[\u4e00-\u9fff]+|\d[\w.]*|[^\s\w]")
_OPERATORS = re.compile(r"[-−+*/^|√Σ∑∏·×÷²³{⊙‖\\]|[A-Za-zσ]\w*\s*\(")

_TYPES = {
    dtypes.FLOAT16: r"(?:fp|float|f)[ _-]?16|half[ _-]?(?:precision|tensors?)|半精度",
    dtypes.BFLOAT16: r"bf(?:loat)?[ _-]?16|brain[ _-]float",
    dtypes.FLOAT32: r"(?:fp|float|f)[ _-]?32|single[ _-]precision|单精度",
}
_TYPE = re.compile(
    "|".join(rf"(?P<t{n}>(?<![A-Za-z0-9])(?:{p})(?![A-Za-z0-9]))" for n, p in _TYPES.items()), re.IGNORECASE
)
_TYPED = re.compile(
    r"inputs?|tensors?|operands?|data|arguments?|dtype|element|precision|输入|张量|数据|类型|精度|参数",
    re.IGNORECASE,
)
_IN = re.compile(r"(?:\b(?:in|for|using)|[以用])\s*$", re.IGNORECASE)
_INSIDE = re.compile(
    r"outputs?|result|accumul\w*|intermediate|internal\w*|comput\w*|cast|math|输出|结果|累加|中间|内部|计算|转",
    re.IGNORECASE,
)


def reads_as_prose(text: str) -> bool:
    """Whether a text that isn't a formula is a description in words, rather than a formula with a mistake."""
    text = without_statements(text)
    heading = HEADING.match(text[:1000])
    rest = text[heading.end() :] if heading else text
    clauses = [c for c in _CLAUSE.split(rest) if c and c.strip()]
    if not any(_OPERATORS.search(c) or _DEFINED.match(c) for c in clauses):
        return True
    return any(_is_prose(c) for c in clauses if not is_remark(c)) or all(is_remark(c) for c in clauses)


def is_remark(clause: str) -> bool:
    """Whether a clause says something of the operator, and nothing of what it computes."""
    signs = re.search(r"[-+*/^=]", clause)
    return bool(REMARK.search(clause)) and not OPERATION.search(clause) and not signs


def _is_prose(clause: str) -> bool:
    run: list[str] = []
    for word in [*_WORD.findall(clause), "."]:
        if re.match(r"[\u4e00-\u9fff]", word):
            if _CHINESE_VOCABULARY.sub("", word) or OPERATION.search(word):
                return True
            continue
        if re.match(r"[A-Za-z_]", word) and (word.lower() not in _VOCABULARY or word.lower() == "when"):
            run.append(word.lower())
            continue
        if _is_phrase(run):
            return True
        run = []
    return False


def _is_phrase(run: list[str]) -> bool:
    """Words in a row that no formula has: names of parameters are short."""
    long = [w for w in run if len(w) > 2]
    if len(run) >= 2 and any(w in _FUNCTION_WORDS for w in run):
        return True
    return len(long) >= 3 or (len(run) >= 2 and any(OPERATION.search(w) for w in long))


def stated_type(text: str) -> tuple[int | None, list[int]]:
    """The element type that a description gives its inputs, `输入 FP16 Tensor` or `half precision input`:
    one, or None; and every one that it names. Types of outputs and of what lies between don't count."""
    found: dict[int, None] = {}
    for clause in re.split(r"[,，;；。\n]|\.(?=\s|$)", re.sub(r"```.*?```", "", text, flags=re.DOTALL)):
        for match in _TYPE.finditer(clause):
            before, after = clause[: match.start()], clause[match.end() :]
            if not re.match(r"\s*[(（]", after) and _is_of_inputs(before, after):  # float16(x) converts
                found.setdefault(next(n for n in _TYPES if match[f"t{n}"]))
    kinds = list(found)
    return (kinds[0] if len(kinds) == 1 else None), kinds


def _is_of_inputs(before: str, after: str) -> bool:
    """Whether a type stands by a word for inputs: the next word says, else the last one before, else any."""
    following = re.match(r"\s*[-]?\s*([A-Za-z]+|[\u4e00-\u9fff]+)", after)
    if following and _INSIDE.match(following[1]):
        return False
    if following and _TYPED.match(following[1]):
        return True
    inside, typed = (max((m.end() for m in p.finditer(before)), default=-1) for p in (_INSIDE, _TYPED))
    return typed > inside or (inside == -1 and bool(_TYPED.search(after) or _IN.search(before)))
