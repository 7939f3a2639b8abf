"""No circles: not in what Python modules import, in functions and for type checkers too; not in what C
files include; not in which file of a part of `native/` calls which other. Planted circles are caught."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent

Graph = dict[str, set[str]]

#: Circles that lie in the matter. A function body's nodes are lowered as the model's are, so the lowering of
#: such nodes asks for lowerings; those are loaded by name.
INHERENT = [
    {
        "ascend_ep.compiler.lower",
        "ascend_ep.compiler.lower.function_body",
        "ascend_ep.compiler.lower.function_body_written",
        "ascend_ep.compiler.semantics",
    }
]

#: Parts of native/ whose files call one another.
PARTS = ("acl", "aclnn", "core", "hccl", "kernels", "media", "onnxruntime")


def circles(graph: Mapping[str, set[str]]) -> list[set[str]]:
    """Sets of nodes, two or more, that reach one another (Tarjan)."""
    found: list[set[str]] = []
    number: dict[str, int] = {}
    least: dict[str, int] = {}
    open_nodes: list[str] = []

    def visit(node: str) -> None:
        number[node] = least[node] = len(number)
        open_nodes.append(node)
        for other in sorted(graph[node] & graph.keys()):
            if other not in number:
                visit(other)
                least[node] = min(least[node], least[other])
            elif other in open_nodes:
                least[node] = min(least[node], number[other])
        if least[node] == number[node]:
            at = open_nodes.index(node)
            if len(open_nodes) - at > 1:
                found.append(set(open_nodes[at:]))
            del open_nodes[at:]

    for node in sorted(graph):
        if node not in number:
            visit(node)
    return found


# ---- Python ----------------------------------------------------------------------------------------------


def python_graph(root: Path) -> Graph:
    """Which module of the package imports which, at whatever depth, and for type checkers alone."""
    files = {".".join(p.relative_to(root).with_suffix("").parts): p for p in root.glob("ascend_ep/**/*.py")}
    modules = {name.removesuffix(".__init__"): file for name, file in files.items()}
    imports = {name: set(_imported(name, file, modules)) for name, file in modules.items()}
    return {name: _with_packages(name, named) & modules.keys() - {name} for name, named in imports.items()}


def _with_packages(name: str, imported: Iterable[str]) -> set[str]:
    """With the packages of what is imported, whose `__init__` runs first, unless `name` is inside them."""
    every = {m.rsplit(".", up)[0] for m in imported for up in range(m.count("."))}
    return {m for m in every if not name.startswith(f"{m}.")} | set(imported)


def _imported(name: str, file: Path, modules: Mapping[str, Path]) -> Iterator[str]:
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(file.read_text())):
        match node:
            case ast.Import(names=names):
                yield from (a.name for a in names if a.name in modules)
            case ast.ImportFrom(module=module, names=names, level=level):
                above = package.split(".")[: len(package.split(".")) - level + 1] if level else []
                base = ".".join([*above, module] if module else above)
                for alias in names:
                    full = f"{base}.{alias.name}"
                    yield full if full in modules else base
            case ast.Attribute(attr="iter_modules"):  # it loads the modules of its package
                yield from (m for m in modules if m.rpartition(".")[0] == package)


# ---- C ---------------------------------------------------------------------------------------------------


def include_graph(files: Iterable[Path]) -> Graph:
    """Which file includes which, by their names."""
    texts = {file.name: file.read_text() for file in files}
    included = {name: re.findall(r'#\s*include\s+"(?:.*/)?([^"/]+)"', text) for name, text in texts.items()}
    return {name: set(others) & texts.keys() - {name} for name, others in included.items()}


def call_graph(files: Iterable[Path]) -> Graph:
    """Which file names functions that another one defines."""
    texts = {file.name: plain(file.read_text()) for file in files}
    names = {file: _defined(text) for file, text in texts.items()}
    owners = {name: file for file, (shared, _) in names.items() for name in shared}
    graph: Graph = {}
    for file, text in texts.items():
        used = set(re.findall(r"\b[A-Za-z_]\w*\b", text)) & owners.keys() - names[file][1]
        graph[file] = {owners[name] for name in used} - {file}
    return graph


def plain(text: str) -> str:
    """C without comments, strings and directives; ASC_FN(name) and the like as the name."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.DOTALL)
    text = re.sub(r"""'(\\.|[^'\\\n])*'|"(\\.|[^"\\\n])*\"""", "0", text)
    text = re.sub(r"^[ \t]*#(.*\\\n)*.*", "", text, flags=re.MULTILINE)
    return re.sub(r"\bASC_FN\((\w+)\)", r"\1", text)


def _defined(text: str) -> tuple[set[str], set[str]]:
    """The functions that a file defines: those that others may call, and its own."""
    while "{" in (flat := re.sub(r"\{[^{}]*\}", "\0", text)):
        text = flat
    shared: set[str] = set()
    own: set[str] = set()
    for head, name in re.findall(r"([^;\0]*?)\b(\w+)\s*\([^;\0]*\)\s*\0", flat):
        (own if re.search(r"\bstatic\b|\bALWAYS\b", head) else shared).add(name)
    return shared, own


# ---- the tests -------------------------------------------------------------------------------------------


def test_no_python_module_imports_itself_through_others() -> None:
    found = circles(python_graph(ROOT))
    assert [sorted(c) for c in found if c not in INHERENT] == []
    assert all(c in found for c in INHERENT), "no longer there"


@pytest.mark.parametrize("part", PARTS)
def test_no_c_file_calls_itself_through_others(part: str) -> None:
    assert circles(call_graph((ROOT / "native" / part).rglob("*.c"))) == []


def test_no_c_file_includes_itself() -> None:
    files = [p for p in (ROOT / "native").rglob("*.[ch]") if p.relative_to(ROOT).parts[1] != "test"]
    assert circles(include_graph(files)) == []


def test_core_is_seen() -> None:
    """The reader of C finds the calls that are known to be there."""
    graph = call_graph((ROOT / "native" / "core").glob("*.c"))
    assert {"plan.c", "weights.c", "bound.c", "library.c"} <= graph["open.c"]
    assert "cpu.c" in graph["pool.c"]
    assert {"resolve.c", "place.c", "prepare.c"} <= graph["bound.c"]


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"a.py": "from ascend_ep import b", "b.py": "def f():\n    from .a import x"}, {"a", "b"}),
        (
            {"a.py": "import ascend_ep.b", "b.py": "from ascend_ep.c import x", "c.py": "from . import a"},
            {*"abc"},
        ),
        ({"a.py": "from .b import x", "b.py": "if TYPE_CHECKING:\n    from .a import y"}, {"a", "b"}),
        (
            {"p/__init__.py": "import pkgutil\npkgutil.iter_modules(x)", "p/a.py": "from . import f"},
            {"p", "p.a"},
        ),
        ({"a.py": "from .b import x", "b.py": "from .c import x", "c.py": ""}, set()),
        (
            {
                "p/__init__.py": "from .a import x",
                "p/a.py": "from ..b import x",
                "p/c.py": "",
                "b.py": "from .p.c import x",
            },
            {"p", "p.a", "b"},
        ),
    ],
)
def test_planted_imports(tmp_path: Path, files: dict[str, str], found: set[str]) -> None:
    for name, text in {"__init__.py": "", **files}.items():
        (tmp_path / "ascend_ep" / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / "ascend_ep" / name).write_text(text)
    assert circles(python_graph(tmp_path)) == ([{f"ascend_ep.{m}" for m in found}] if found else [])


A_B = {"a.c", "b.c"}


@pytest.mark.parametrize(
    ("a", "b", "found"),
    [
        ("int f(void) {\n return g(); }", "int g(void) { return f(); }", A_B),
        ("int f(void) { return g(); }", "int g(void) { return 0; } /* f() */", set()),
        (
            "int f(void) { return g(); }",
            "static int f(void) { return 0; }\nint g(void) { return f(); }",
            set(),
        ),
        ("int ASC_FN(f)(int x) { return g(x); }", "int g(int x) { return ASC_FN(f)(x); }", A_B),
        ("int f(void) { return 0; } row r = {g};", "void g(fn h) { h = f; if (h) { } }", A_B),
    ],
)
def test_planted_calls(tmp_path: Path, a: str, b: str, found: set[str]) -> None:
    (tmp_path / "a.c").write_text(a)
    (tmp_path / "b.c").write_text(b)
    assert circles(call_graph(tmp_path.glob("*.c"))) == ([found] if found else [])
