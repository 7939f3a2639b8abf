"""Programs on AscendCL in a folder: where each is, and what its page says of models and commands."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

SOURCES = {".c", ".cc", ".cpp", ".cxx", ".h", ".hpp"}
#: What a program needs that no simulated device has.
ABSENT = {
    "hi_dvpp.h": "media calls of hi_dvpp.h",
    "peripheral_api.h": "devices of a board",
    "acl/ops/acl_fv.h": "retrieval by a chip",
}
_LINKED = re.compile(r"\bascendcl\b")
_USES_ACL = re.compile(r"^\s*(?:import|from) (?:acl|acllite\w*|aclruntime|ais_bench)\b", re.MULTILINE)
_IMPORTED = re.compile(r"^\s*(?:from|import)\s+(\.*[\w.]+)", re.MULTILINE)
_ATC_LINE = re.compile(r"(?:^|[^\w./-])atc\s+(?=[^\n]*--)(.*)")
_BUNDLE = re.compile(r"[\"']((?:\.\./|\./)?(?:[\w-]+/)*[\w.-]+)\.om[\"']")
_SHELL_NAME = re.compile(r"\\([_${}])")


@dataclass(frozen=True)
class Program:
    """`sources` is the folder with the build file, or of the Python file `script`."""

    root: Path
    sources: Path
    script: Path | None = None
    #: The command lines of atc on its page, options by name.
    conversions: list[dict[str, str]] = field(default_factory=list)

    @property
    def language(self) -> str:
        return "Python" if self.script else "C++"


def find(folder: Path) -> list[Program]:
    """All programs below the folder, by path."""
    found = [_compiled(f.parent) for f in folder.rglob("CMakeLists.txt") if _LINKED.search(_text(f))]
    found += [_compiled(f.parent) for f in folder.rglob("Makefile") if _is_program_makefile(f)]
    for script in folder.rglob("*.py"):
        if "__main__" in _text(script) and _reaches_acl(script, set()):
            root = script.parent.parent if script.parent.name in ("src", "code") else script.parent
            found.append(Program(root, script.parent, script, conversions(root)))
    return sorted(found, key=lambda p: (str(p.root), str(p.script)))


def name_in(folder: Path, program: Program) -> str:
    """Its path below the folder; the folder's name where that is the program, since copies go by names."""
    place = program.script or program.root
    return folder.name if place == folder else str(place.relative_to(folder))


def _reaches_acl(script: Path, seen: set[Path]) -> bool:
    """Whether it imports AscendCL, itself or by modules beside it or in the folder above."""
    seen.add(script)
    text = _text(script)
    if _USES_ACL.search(text):
        return True
    for name in _IMPORTED.findall(text):
        inner = Path(*name.strip(".").split("."))
        for place in (script.parent / inner, script.parent.parent / inner):
            for file in (place.with_suffix(".py"), place / "__init__.py"):
                if file not in seen and file.is_file() and _reaches_acl(file, seen):
                    return True
    return False


def _compiled(sources: Path) -> Program:
    root = sources.parent if sources.name == "src" else sources
    return Program(root, sources, None, conversions(root))


def _is_program_makefile(file: Path) -> bool:
    text = _text(file)
    return (
        bool(_LINKED.search(text)) and "-shared" not in text and not (file.parent / "CMakeLists.txt").exists()
    )


def _text(file: Path) -> str:
    return file.read_text(errors="replace")


def pages(root: Path) -> str:
    """Its pages; those of the folder above where it has none."""
    for folder in (root, root.parent):
        found = sorted(folder.glob("README*"))
        if found:
            return "\n".join(map(_text, found))
    return ""


def conversions(root: Path) -> list[dict[str, str]]:
    """The options of each atc line on the pages, once."""
    found: list[dict[str, str]] = []
    text = re.sub(r"\\[ \t\r]*\n", " ", pages(root))
    for line in _ATC_LINE.findall(text):
        options = _options(_SHELL_NAME.sub(r"\1", line).rstrip("`*"))
        if options and all(options.get("output") != other.get("output") for other in found):
            found.append(options)
    return found or _opened(root)


def _opened(root: Path) -> list[dict[str, str]]:
    """Of a page without such a line: one for each bundle that the sources open by a name of their own."""
    files = [f for f in root.rglob("*") if f.suffix in SOURCES | {".py"} and f.is_file()]
    names = {name for f in files for name in _BUNDLE.findall(_text(f))}
    return [
        {"output": name.removeprefix("../"), "model": f"{Path(name).name}.onnx"} for name in sorted(names)
    ]


def _options(line: str) -> dict[str, str]:
    line = line.replace("*", " ").replace("`", " ").replace("”", '"').replace("“", '"')
    try:
        words = shlex.split(line)
    except ValueError:
        return {}
    return {
        name.lstrip("-"): value.strip()
        for name, _, value in (word.partition("=") for word in words if word.startswith("-"))
    }


def code_of(program: Program) -> str:
    """All its sources as one text."""
    if program.script:
        files = [f for f in program.root.rglob("*.py") if f.is_file()]
    else:
        files = [f for f in program.root.rglob("*") if f.suffix in SOURCES and f.is_file()]
    return "\n".join(map(_text, files))


def run_command(program: Program, binary: str = "main") -> list[str]:
    """How its scripts or pages start it, without the interpreter."""
    if program.script:
        name = re.escape(program.script.name)
        pattern = re.compile(rf"python3?[\d.]*\s+\S*{name}([^\n`*;)]*)")
    else:
        pattern = re.compile(rf"\./{re.escape(binary)}\b([^\n`\"*;)]*)")
    scripts = "\n".join(_text(f) for f in program.root.rglob("*run*.sh"))
    for text in (pages(program.root), scripts):
        found = pattern.search(text)
        if found:
            if not found.group(1).strip() and text is not scripts:
                continue  # its script may give some
            words = re.sub(r"[，。].*", "", found.group(1))
            return [w for w in words.split() if "[" not in w and w != "--"]
    return []
