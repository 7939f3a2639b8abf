"""What a language model answered, as an operator: Python in PyTorch's style, TBE code, or a formula.

Nobody vouches for an answer. Python in PyTorch's style and formulas are only read. TBE code has to run to say
what it computes: it passes a whitelist first (imports of the toolkit, arithmetic, its calls; no name that
Python reserves, no module of its own), and runs as TBE files do, in a process that may only compute.
"""

from __future__ import annotations

import ast
import re
import sys

from ascend_ep.errors import AscendError
from ascend_ep.frontends.interface import Defaults, Described
from ascend_ep.frontends.mathematics import describe_mathematics
from ascend_ep.frontends.pseudo_code import describe_pseudo_code
from ascend_ep.frontends.pseudo_code_text import code_of, contains_definition
from ascend_ep.frontends.tbe.description import Inputs, describe_tbe
from ascend_ep.frontends.tbe.detection import is_tbe

_BLOCK = re.compile(r"^[ \t]*```[\w+-]*[ \t]*\n(.*?)^[ \t]*```", re.DOTALL | re.MULTILINE)
_PACKAGES = ("te", "tbe", "topi", "tvm", "impl", "__future__", "functools", "math", "typing")
_BUILTIN_TEXT = """
    range len int float bool str min max abs sum zip enumerate list tuple dict set isinstance round sorted any
    all reversed map filter print pow divmod ValueError RuntimeError TypeError KeyError IndexError Exception
    NotImplementedError
"""
_BUILTINS = frozenset(_BUILTIN_TEXT.split())
#: Names of Python's modules that the toolkit has, too.
_SHARED_NAMES = ("platform", "select", "operator", "math", "functools", "typing", "numbers", "types")
_STATEMENTS = (ast.Module, ast.Import, ast.ImportFrom, ast.FunctionDef, ast.Return, ast.Assign, ast.AugAssign)
_MORE_STATEMENTS = (
    ast.AnnAssign,
    ast.For,
    ast.If,
    ast.With,
    ast.Raise,
    ast.Expr,
    ast.Pass,
    ast.Assert,
    ast.Break,
)
_PARTS = (
    ast.Continue,
    ast.alias,
    ast.keyword,
    ast.arguments,
    ast.arg,
    ast.withitem,
    ast.comprehension,
    ast.expr,
)
_SIGNS = (ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop)
_NODES = (*_STATEMENTS, *_MORE_STATEMENTS, *_PARTS, *_SIGNS)
_REFUSED = (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)


def describe_answer(
    answer: str, op_type: str | None, attributes: Defaults | None, inputs: Inputs | None
) -> Described:
    """The operator of an answer. Raises AscendError: E42101 where it says nothing or something refused, and
    what its front end raises."""
    if not contains_definition(answer):
        return _formula(answer, op_type, attributes)
    code = code_of(answer)
    if not is_tbe(code):
        return describe_pseudo_code(answer, op_type, attributes, "answer")
    check_tbe(code)
    return describe_tbe(code, "answer.py", op_type, attributes, inputs, confined=True)


def _formula(answer: str, op_type: str | None, attributes: Defaults | None) -> Described:
    """The first block, or the whole answer, that is a formula."""
    for text in [*(m[1] for m in _BLOCK.finditer(answer)), answer]:
        try:
            return describe_mathematics(text.strip(), op_type, attributes, "answer")
        except AscendError:
            continue
    raise AscendError("E42101", "the answer has no def, and no formula", where="answer")


def check_tbe(code: str) -> None:
    """Raises E42101 for what an answer in TBE code may not contain."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = getattr(error, "msg", None) or type(error).__name__
        raise AscendError("E42101", f"the code can't be read: {reason}", where="answer") from None
    bound = _bound_names(tree)
    for node in ast.walk(tree):
        reason = _fault(node, bound)
        if reason:
            line = getattr(node, "lineno", 1)
            raise AscendError("E42101", f"{reason} (line {line})", where="answer")


def _bound_names(tree: ast.Module) -> set[str]:
    """The names that the code itself gives a meaning."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).partition(".")[0])
    return names


def _fault(node: ast.AST, bound: set[str]) -> str:
    """What is wrong with one node, or ""."""
    if not isinstance(node, _NODES) or isinstance(node, _REFUSED):
        return f"{type(node).__name__} isn't allowed in an answer"
    if isinstance(node, ast.Import):
        wrong = [a.name for a in node.names if a.name.partition(".")[0] not in _PACKAGES]
        return f"{wrong[0][:80]} can't be imported" if wrong else ""
    if isinstance(node, ast.ImportFrom):
        module = node.module or ""
        allowed = module.partition(".")[0] in _PACKAGES and not node.level
        hidden = [a.name for a in node.names if _is_hidden(a.name) or a.name == "*"]
        return "" if allowed and not hidden else f"{(hidden or [module])[0][:80]} can't be imported"
    if isinstance(node, ast.Attribute) and _is_hidden(node.attr):
        return f".{node.attr[:80]} isn't allowed in an answer"
    if isinstance(node, ast.Name) and (
        node.id not in bound | _BUILTINS or (_is_hidden(node.id) and node.id != "_")
    ):
        return f"{node.id[:80]} isn't allowed in an answer"
    return ""


def _is_hidden(name: str) -> bool:
    """Names of Python's insides, and of its modules, which modules of the toolkit may have imported."""
    if name.startswith("_") and name != "_":
        return True
    return name in ("np", "numpy", "ascend_ep") or (
        name in sys.stdlib_module_names and name not in _SHARED_NAMES
    )
