"""Writes the Python module `ascend_ep.cann._acl`: what the headers of AscendCL declare, for pyACL.

The module holds cffi's `ffi` without any library; FUNCTIONS, by name the result and the parameters (type and
name) of each function; and CONSTANTS, the numbers and texts that aren't members of enums.
"""

from __future__ import annotations

import pprint
import re
import sys
from pathlib import Path

import cffi

_NUMBER = r"-?(?:0[xX][0-9a-fA-F]+|\d+)"


def ordered(include: Path) -> list[Path]:
    """The headers in acl/, each behind those that it includes."""
    found: list[Path] = []

    def visit(header: Path) -> None:
        if header in found:
            return
        for name in re.findall(r'^#include "([^"]+)"', header.read_text(), flags=re.M):
            visit(next(p for p in (header.parent / name, include / name) if p.exists()).resolve())
        found.append(header)

    for header in sorted((include / "acl").rglob("*.h")):
        visit(header.resolve())
    return found


def without_directives(text: str) -> str:
    """Declarations alone: no comments, no lines for the preprocessor, nothing that is for C++."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text.replace("\\\n", " "), flags=re.S)
    kept: list[str] = []
    inside: list[bool] = []  # of each open condition, whether it is for C++
    for line in text.splitlines():
        word = line.strip()
        if word.startswith("#if"):
            inside.append("__cplusplus" in word and not word.startswith("#ifndef"))
        elif word.startswith("#else") and inside:
            inside[-1] = False
        elif word.startswith("#endif"):
            inside.pop()
        elif not word.startswith("#") and not any(inside):
            kept.append(line)
    text = "\n".join(kept)
    text = re.sub(r"ACL_DEPRECATED_MESSAGE\([^)]*\)|ACL_DEPRECATED|ACL_FUNC_VISIBILITY", "", text)
    return re.sub(r"^\s*static const \w+ \w+ = [^;]+;", "", text, flags=re.M)


def constants(text: str) -> dict[str, int | str]:
    """The numbers and texts that macros and static constants name."""
    found: dict[str, int | str] = {}
    for name, value in re.findall(rf"^#define (\w+) +({_NUMBER})[uUlL]*\s*(?:/\*.*)?$", text, flags=re.M):
        found[name] = int(value, 0)
    for name, value in re.findall(r'^#define (\w+) +"([^"]*)"\s*$', text, flags=re.M):
        found[name] = value
    for name, value in re.findall(rf"^static const \w+ (\w+) = ({_NUMBER})[uUlL]*;", text, flags=re.M):
        found[name] = int(value, 0)
    return found


def functions(declared: str) -> dict[str, tuple[str, tuple[tuple[str, str], ...]]]:
    """By name the result and the parameters of every function; those with `...` aside."""
    found = {}
    bodies = re.sub(r"typedef[^;{]*(\{[^{}]*\})?[^;]*;", "", declared, flags=re.S)
    for result, name, parameters in re.findall(r"([\w ]+[\w*] ?\**)(\bacl\w+)\(([^()]*)\)\s*;", bodies):
        if "..." in parameters:
            continue
        words = [" ".join(p.split()) for p in parameters.split(",")]
        pairs = tuple(parameter(w) for w in words if w not in ("", "void"))
        found[name] = (re.sub(r"\s*\*\s*", "*", " ".join(result.split())), pairs)
    return found


def parameter(text: str) -> tuple[str, str]:
    """`const int64_t *dims` as ("const int64_t *", "dims"); an array is `T *` or, of two dims, `T **`."""
    match = re.fullmatch(r"(.*?[\w*])\s*\b(\w+)((?:\[\w*\])*)", text)
    if match is None:
        raise SystemExit(f"generate_acl: can't read the parameter [{text}]")
    kind, name, dims = match.groups()
    return re.sub(r"\s*\*\s*", "*", kind).replace("*const", "*") + "[]" * dims.count("["), name


def main(include: str, target: str) -> None:
    texts = [header.read_text() for header in ordered(Path(include))]
    named: dict[str, int | str] = {}
    declared = ""
    for text in texts:
        named |= constants(text)
        declared += without_directives(text) + "\n"
    for name, value in named.items():
        if isinstance(value, int):
            declared = re.sub(rf"\[{name}\]", f"[{value}]", declared)
    ffi = cffi.FFI()
    ffi.cdef(re.sub(r"^\s*}\s*$", "", declared, flags=re.M) if 'extern "C"' in declared else declared)
    ffi.set_source("ascend_ep.cann._acl", None)
    ffi.emit_python_code(target)
    with open(target, "a") as file:
        file.write(f"\nFUNCTIONS = {pprint.pformat(functions(declared))}\n")
        file.write(f"\nCONSTANTS = {pprint.pformat(named)}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
