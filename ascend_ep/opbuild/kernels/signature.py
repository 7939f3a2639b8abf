"""Kernel functions of an Ascend C source: their names, parameters and template parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ascend_ep.errors import AscendError, did_you_mean
from ascend_ep.opbuild.ascendc.declarations import without_comments

_SPECIFIER = re.compile(
    r"\s*(?:__aicore__|\[\s*aicore\s*\]|__vector__|__cube__|__mix__\s*\([^)]*\)|__simt__|inline|static|void"
    r"|__inline__|__attribute__\s*\(\(.*?\)\)|\[\[.*?\]\]|__global__|__launch_bounds__\s*\([^)]*\))"
)
_NAME = re.compile(r"\s*([A-Za-z_]\w*)\s*\(")
_TEMPLATE = re.compile(r"template\s*<(?P<inner>[^;{}]*)>\s*(?:(?:inline|static|extern\s+\"\s*\")\s*)*\Z")
_MACRO = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(?P<name>\w+)\((?P<parameters>[^)]*)\)(?P<body>(?:.*\\\n)*.*)$", re.MULTILINE
)
_WORKSPACE = re.compile(r"work_?space|^ws$|usr_?work|^usr", re.IGNORECASE)
_TILING = re.compile(r"tiling", re.IGNORECASE)


@dataclass(frozen=True)
class Parameter:
    """type: as it is written, without the memory's qualifiers."""

    name: str
    type: str

    @property
    def is_pointer(self) -> bool:
        return self.type == "GM_ADDR" or self.type.endswith("*")

    @property
    def is_workspace(self) -> bool:
        return self.is_pointer and _WORKSPACE.search(self.name) is not None

    @property
    def is_tiling(self) -> bool:
        return _TILING.search(self.name) is not None or (not self.is_pointer and "Tiling" in self.type)

    @property
    def pointee(self) -> str:
        """What it points to, "" for untyped bytes."""
        inner = self.type.removesuffix("*").strip().removeprefix("const ").strip()
        return "" if self.type == "GM_ADDR" or inner in ("uint8_t", "void") else inner


@dataclass(frozen=True)
class KernelFunction:
    """line: of its name, from 1. template: its template parameters' text, "" without."""

    name: str
    parameters: tuple[Parameter, ...]
    file: Path
    line: int
    template: str = ""

    @property
    def place(self) -> str:
        return f"{self.file.name}:{self.line}"

    def __str__(self) -> str:
        return f"{self.name}({', '.join(p.name for p in self.parameters)})"


def kernels_of(path: Path) -> list[KernelFunction]:
    """The kernel functions that a file defines, in order. Raises AscendError E41010."""
    try:
        text = without_comments(path.read_text(encoding="utf-8", errors="replace"))
    except OSError as error:
        raise AscendError("E41010", path, error.strerror or error) from None
    found, seen = _kernels_of_macros(text, path), 0
    for match in re.finditer(r"\b__global__\b", text):
        if match.start() < seen or _is_directive(text, match.start()):
            continue
        kernel, seen = _kernel_at(text, match.end(), path)
        if kernel is not None:
            before = _TEMPLATE.search(text[max(0, match.start() - 2000) : match.start()])
            template = " ".join(before["inner"].split()) if before else ""
            found.append(KernelFunction(kernel.name, kernel.parameters, path, kernel.line, template))
    return found


def chosen_kernel(paths: list[Path], name: str) -> KernelFunction:
    """The kernel of this name (template arguments may follow), or the only one. Raises AscendError E43202."""
    found = [kernel for path in paths for kernel in kernels_of(path)]
    plain = name.partition("<")[0].strip().rpartition("::")[2]
    fitting = [k for k in found if k.name == plain] if name else found
    if len({k.name for k in fitting}) == 1:
        return fitting[-1]
    names = sorted({k.name for k in found})
    where = ", ".join(map(str, paths))
    if not found:
        fix = "A kernel is a function with __global__ __aicore__."
        raise AscendError("E43202", where, "it has no kernel function", fix=fix)
    if name:
        raise AscendError("E43202", where, f"it has no kernel {plain}.{did_you_mean(plain, names)}")
    raise AscendError(
        "E43202", where, f"it has {len(names)} kernels: {', '.join(names)}", fix="Give --kernel NAME."
    )


def _is_directive(text: str, at: int) -> bool:
    """Whether a place is in a line of the preprocessor, or in one that continues it."""
    begin = text.rfind("\n", 0, at) + 1
    while begin > 0 and text[:begin].rstrip("\n").endswith("\\"):
        begin = text.rfind("\n", 0, begin - 1) + 1
    return text[begin:at].lstrip().startswith("#")


def _kernels_of_macros(text: str, path: Path) -> list[KernelFunction]:
    """Kernels whose definitions are macros, `DEFINE(name, type)`, also by way of others: one for each use."""
    definitions = list(_MACRO.finditer(text))
    found = []
    for name in _that_define({m["name"]: m for m in definitions}):
        for use in re.finditer(rf"^[ \t]*{name}\s*(?=\()", text, re.MULTILINE):
            if _is_directive(text, use.start()):
                continue
            macros = {m["name"]: m for m in definitions if m.start() < use.start()}
            line = text.count("\n", 0, use.start()) + 1
            body = _expanded(text[use.start() : _closing(text, use.end()) + 1], macros)
            for match in re.finditer(r"\b__global__\b", body):
                kernel, _ = _kernel_at(body, match.end(), path)
                if kernel is not None:
                    found.append(KernelFunction(kernel.name, kernel.parameters, path, line))
    return found


def _that_define(macros: Mapping[str, re.Match[str]]) -> list[str]:
    """The names of macros that define a kernel, themselves or by others."""
    words = {name: set(re.findall(r"\w+", m["body"])) for name, m in macros.items()}
    known: set[str] = {"__global__"}
    while more := {name for name, used in words.items() if used & known} - known:
        known |= more
    return [name for name in macros if name in known]


def _expanded(text: str, macros: Mapping[str, re.Match[str]], within: frozenset[str] = frozenset()) -> str:
    """A text with what its uses of macros become, and those within that; within: the macros it comes from."""
    parts, at = [], 0
    for use in re.finditer(r"\b(\w+)\s*(?=\()", text):
        macro = macros.get(use[1]) if use[1] not in within else None
        end = _closing(text, use.end())
        if macro is None or end < 0 or use.start() < at:
            continue
        names = [p.strip() for p in macro["parameters"].split(",")]
        given = [a.strip() for a in separated(text[use.end() + 1 : end])]
        if len(names) != len(given):
            continue
        body = macro["body"].replace("\\\n", "\n")
        for name, value in zip(names, given, strict=True):
            body = re.sub(rf"\b{re.escape(name)}\b", lambda _, v=value: v, body)
        body = re.sub(r"\s*##\s*", "", body)
        parts += [text[at : use.start()], _expanded(body, macros, within | {use[1]})]
        at = end + 1
    return "".join((*parts, text[at:]))


def _kernel_at(text: str, at: int, path: Path) -> tuple[KernelFunction | None, int]:
    """The kernel whose specifiers go on at `at`, and where reading goes on; None for a declaration."""
    while specifier := _SPECIFIER.match(text, at):
        at = specifier.end()
    name = _NAME.match(text, at)
    if name is None:
        return None, at
    end = _closing(text, name.end() - 1)
    if end < 0 or not text[end + 1 :].lstrip().startswith("{"):
        return None, name.end()
    inner = text[name.end() : end]
    parameters = tuple(_parameter(p, i) for i, p in enumerate(separated(inner)))
    line = text.count("\n", 0, name.start(1)) + 1
    return KernelFunction(name[1], parameters, path, line), end


def _closing(text: str, at: int) -> int:
    depth = 0
    for i in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return i
    return -1


def separated(text: str) -> list[str]:
    """A list's parts between its outermost commas."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += {"(": 1, "<": 1, "[": 1, "{": 1, ")": -1, ">": -1, "]": -1, "}": -1}.get(c, 0)
        if c == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return [p for p in (*parts, text[start:]) if p.strip() and p.strip() != "void"]


def _parameter(text: str, number: int) -> Parameter:
    plain = re.sub(r"__(?:gm|restrict|ubuf)__|__restrict\b|\brestrict\b", " ", text.partition("=")[0])
    plain = " ".join(plain.replace("*", " * ").split())
    match = re.fullmatch(r"(?P<type>.*?)\s*(?P<name>[A-Za-z_]\w*)", plain)
    if match is None or not match["type"]:
        return Parameter(f"argument{number}", plain.replace(" *", "*"))
    return Parameter(match["name"], match["type"].strip().replace(" *", "*"))
