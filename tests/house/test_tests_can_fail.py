"""Every test has something that can fail: C tests end with what they checked, Python's assert, and no
assertion is constant, swallowed, or of nothing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
C_TESTS = sorted((ROOT / "native" / "test").glob("test_*.c"))
#: What catches a failed assertion.
WIDE = {"AssertionError", "Exception", "BaseException"}
Function = ast.FunctionDef | ast.AsyncFunctionDef

# --- C --------------------------------------------------------------------------------------------


def unable(text: str) -> list[str]:
    """Why a C test can't fail, or not by all of its checks."""
    head, _, main = text.partition("\nint main(")
    found = [] if "CHECK(" in text and main else ["it checks nothing"]
    if not main.rstrip().endswith("return check_failures();\n}"):
        found.append("main doesn't end with check_failures()")
    found += [f"main leaves by {r}" for r in re.findall(r"return [^;]+;", main) if r not in LEAVES]
    if re.search(r"\bassert\(", text):
        found.append("NDEBUG leaves assert out")
    children = re.findall(r"\b_?exit\(([^;]*)\);", head)
    if "CHECK(" in text and any(c == "0" or c == "EXIT_SUCCESS" for c in children):
        found.append("a child ends well whatever it found")
    return found


#: 2: not called as a test is.
LEAVES = ("return check_failures();", "return 2;")


@pytest.mark.parametrize("path", C_TESTS, ids=lambda p: p.stem)
def test_a_c_test_returns_what_it_checked(path: Path) -> None:
    assert not unable(path.read_text(encoding="utf-8"))


def test_c_tests_that_cannot_fail_are_found() -> None:
    good = "\nint main(void) {\n    CHECK(f());\n    return check_failures();\n}\n"
    assert not unable(good)
    assert unable(good.replace("check_failures()", "0"))
    assert unable(good.replace("CHECK(f())", "f()"))
    assert unable(good.replace("    CHECK", "    if (g()) return 0;\n    CHECK"))
    assert unable("static void f(void) { assert(g()); }" + good)
    assert unable("static void f(void) { if (!fork()) exit(0); }" + good)


# --- Python ---------------------------------------------------------------------------------------


def named(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


class Modules:
    """The modules of tests and tools by their names, with what each defines and which of them it imports."""

    def __init__(self, texts: dict[str, str]) -> None:
        self.trees = {path: ast.parse(text) for path, text in texts.items()}
        self.defined: dict[str, dict[str, list[ast.AST]]] = {}
        for path, tree in self.trees.items():
            of_module = self.defined.setdefault(Path(path).stem, {})
            for node in ast.walk(tree):
                if isinstance(node, Function | ast.ClassDef):
                    of_module.setdefault(node.name, []).append(node)
        self.imports = {path: set(self._imports(tree)) for path, tree in self.trees.items()}
        self._fails: dict[ast.AST, bool] = {}

    def _imports(self, tree: ast.AST) -> Iterator[str]:
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                yield from {(node.module or "").split(".")[-1], *(a.name for a in node.names)} & set(
                    self.defined
                )
            elif isinstance(node, ast.Import):
                yield from {a.name.split(".")[-1] for a in node.names} & set(self.defined)

    def silent(self) -> list[str]:
        """The tests without an assertion, by themselves or in what they call."""
        return [
            f"{path}:{node.lineno}: {node.name}"
            for path, tree in self.trees.items()
            if Path(path).stem.startswith("test_")
            for node in ast.walk(tree)
            if isinstance(node, Function) and node.name.startswith("test_")
            if not self._can_fail(node, self.imports[path] | {Path(path).stem, "conftest"})
        ]

    def _can_fail(self, node: ast.AST, modules: set[str]) -> bool:
        if node not in self._fails:
            self._fails[node] = False  # while it is looked at: calls may be circular
            names = {named(n) for n in ast.walk(node)}
            names |= {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)}
            called = [d for m in modules for n in names for d in self.defined.get(m, {}).get(n, [])]
            self._fails[node] = asserts(node) or any(self._can_fail(d, modules) for d in called)
        return self._fails[node]


def asserts(node: ast.AST) -> bool:
    for part in ast.walk(node):
        if isinstance(part, ast.Assert | ast.Raise):
            return True
        if isinstance(part, ast.Call):
            name = named(part.func)
            checked = any(k.arg == "check" and ast.unparse(k.value) == "True" for k in part.keywords)
            if checked or name in ("raises", "warns", "fail", "check_output") or name.startswith("assert"):
                return True
    return False


def hollow(tree: ast.AST) -> list[int]:
    """Lines of assertions that hold whatever the code does, or whose failure nobody hears of."""
    return [n.lineno for n in ast.walk(tree) if isinstance(n, ast.stmt) and (constant(n) or swallowed(n))]


def constant(node: ast.stmt) -> bool:
    if not isinstance(node, ast.Assert):
        return False
    test = node.test
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        return any(isinstance(v, ast.Constant) and v.value for v in test.values)
    if isinstance(test, ast.Compare) and isinstance(test.left, ast.Call) and named(test.left.func) == "len":
        return isinstance(test.ops[0], ast.GtE) and ast.unparse(test.comparators[0]) == "0"
    always = ast.Tuple | ast.GeneratorExp | ast.Lambda | ast.JoinedStr
    return isinstance(test, always) or (isinstance(test, ast.Constant) and bool(test.value))


def swallowed(node: ast.stmt) -> bool:
    if not isinstance(node, ast.Try | ast.With) or not any(
        isinstance(part, ast.Assert) for line in node.body for part in ast.walk(line)
    ):
        return False
    if isinstance(node, ast.With):
        caught = [i.context_expr for i in node.items]
        return any(
            isinstance(c, ast.Call)
            and named(c.func) in ("suppress", "raises")
            and WIDE & set(map(named, c.args))
            for c in caught
        )
    return any(
        (handler.type is None or WIDE & {named(t) for t in ast.walk(handler.type)})
        and not any(isinstance(p, ast.Assert | ast.Raise) for line in handler.body for p in ast.walk(line))
        for handler in node.handlers
    )


@cache
def all_of_them() -> Modules:
    paths = [path for folder in ("tests", "tools") for path in sorted((ROOT / folder).rglob("*.py"))]
    return Modules({str(p.relative_to(ROOT)): p.read_text(encoding="utf-8") for p in paths})


def test_every_python_test_asserts() -> None:
    assert len(all_of_them().trees) > 500
    assert not all_of_them().silent()


def test_no_assertion_is_hollow() -> None:
    found = {path: lines for path, tree in all_of_them().trees.items() if (lines := hollow(tree))}
    assert not found


def test_silent_tests_are_found() -> None:
    helper = "def holds(x): assert x\ndef starts(x): return x"
    uses = "from helping import holds, starts\ndef test_a(): holds(f())\ndef test_b(): starts(f())"
    assert Modules({"helping.py": helper, "test_x.py": uses}).silent() == ["test_x.py:3: test_b"]


@pytest.mark.parametrize(
    "line",
    [
        "assert True",
        "assert f() or 1",
        "assert (f(), 'said')",
        "assert f'{x}'",
        "assert (x for x in y)",
        "assert len(x) >= 0",
        "with suppress(Exception):\n    assert f()",
        "with pytest.raises(AssertionError):\n    assert f()",
        "try:\n    assert f()\nexcept Exception:\n    pass",
        "try:\n    assert f()\nexcept:\n    print()",
    ],
)
def test_hollow_assertions_are_found(line: str) -> None:
    assert hollow(ast.parse(line))
    assert not hollow(ast.parse("try:\n    assert f()\nexcept OSError:\n    pass\nassert len(x) >= 1"))
