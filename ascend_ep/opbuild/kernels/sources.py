"""The files of a kernel that a user names: the kernel's, and the host's beside it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ascend_ep.cann.soc import Soc
from ascend_ep.errors import AscendError
from ascend_ep.opbuild.ascendc.cpp import missing_includes
from ascend_ep.opbuild.ascendc.declarations import without_comments
from ascend_ep.opbuild.ascendc.naming import snake_case
from ascend_ep.regular_file import is_endless

from .host_code import HostCode, HostOperator, read_host
from .project_files import HEADER_SUFFIXES, LEVELS, SUFFIXES, files_of, project_of, steps_between
from .signature import KernelFunction, chosen_kernel, kernels_of

_MAIN = re.compile(r"\b(?:int|int32_t|auto)\s+main\s*\(")
_REGISTERS = re.compile(r"\bOP_ADD\s*\(\s*(\w+)|\bIMPL_OP\w*\s*\(\s*(\w+)")
#: Headers of the functions that applications call: what includes them is of another library than tiling.
_CALLED = re.compile(
    r'#\s*include\s*["<](?:aclnn/)?'
    r"(?:opdev/(?!op_log\.h)|aclnn_kernels/|aclnnop/|level[02]/|aclnn_base\.h)"
)


@dataclass(frozen=True)
class Sources:
    """kernels: files with kernel functions. host: files of the host side, none for a kernel alone."""

    kernels: tuple[Path, ...]
    host: tuple[Path, ...] = ()
    op_type: str = ""
    included: tuple[Path, ...] = ()

    @property
    def folders(self) -> tuple[Path, ...]:
        """Where includes are looked for beside the including file: `included`, the project's folders, and the
        folders include and common/include of what it lies in."""
        places = dict.fromkeys(p.parent for p in (*self.kernels, *self.host))
        around = [f for p in places for f in (p, p.parent, p.parent / "op_kernel", p.parent / "op_host")]
        above = [
            f
            for p in places
            for a in list(p.parents)[:LEVELS]
            for f in (a / "common" / "include", a / "include")
        ]
        known = tuple(dict.fromkeys(f for f in (*self.included, *around, *above) if f.is_dir()))
        return (*known, *_folders_of_missing((*self.kernels, *self.host), known))


def _folders_of_missing(files: Sequence[Path], known: Sequence[Path]) -> list[Path]:
    """Folders of the project, which its build files name, with headers that nothing else has: of several,
    those of the file's own side, kernel or host, and the nearest of them."""
    found: dict[Path, None] = {}
    for path in files:
        for name in missing_includes(path, (*known, *found)):
            tail = Path(name)
            fitting = [
                p
                for p in files_of(project_of(path), HEADER_SUFFIXES)
                if p.parts[-len(tail.parts) :] == tail.parts
            ]
            if fitting:
                chosen = min(fitting, key=lambda p: _distance(p, path))
                found[chosen.parents[len(tail.parts) - 1]] = None
    return list(found)


def _distance(header: Path, path: Path) -> tuple[bool, int, str]:
    """How far a header is from a file that includes it."""
    side = next((part for part in ("op_kernel", "op_host") if part in path.parts), "")
    return bool(side) and side not in header.parts, steps_between(header, path), str(header)


def is_kernel_source(path: Path) -> bool:
    """Whether a file is Ascend C, or a folder a project of it."""
    if path.is_dir():
        return (path / "op_kernel").is_dir()
    return path.suffix in SUFFIXES


def is_bare_folder(path: Path) -> bool:
    """Whether it is a folder, and no project as msopgen makes it."""
    return path.is_dir() and not (path / "op_kernel").is_dir()


def find_sources(
    paths: Sequence[Path], host: Sequence[Path] = (), op_type: str = "", included: Sequence[Path] = ()
) -> Sources:
    """The sources that files or a project's folder name. Without `host`, the files of ../op_host that
    register the operator of the kernel's file are taken. Raises AscendError E10410, E41010, E43202."""
    for path in (*paths, *host):
        if not path.exists():
            raise AscendError("E10410", path)
        if is_endless(path):
            raise AscendError("E41010", path, "it is no regular file", fix="Name a source, or a project.")
    for path in host:
        if path.is_dir():
            raise AscendError("E41010", path, "it is a folder", where="--host", fix="Name its files.")
    files: list[Path] = []
    for path in paths:
        files += _kernel_files(path) if path.is_dir() else [path.resolve()]
    found = tuple(p.resolve() for p in host) or _host_beside(files, op_type)
    wanted = op_type or _named_like(files, found)
    kernels = _of_operator(files, wanted) if wanted and len(files) > 1 else files
    return Sources(tuple(kernels), found, wanted, tuple(p.resolve() for p in included))


def is_program(paths: Sequence[Path]) -> bool:
    """Whether one of the files has a main function: they are a program that launches its kernels itself."""
    texts = (p.read_text(encoding="utf-8", errors="replace") for p in paths if p.is_file())
    return any(_MAIN.search(without_comments(text)) for text in texts)


def _kernel_files(project: Path) -> list[Path]:
    folder = (project / "op_kernel").resolve()
    if not folder.is_dir():
        raise AscendError(
            "E43202",
            project,
            "it has neither a folder op_kernel nor a file with a main function",
            fix="Name a project as msopgen makes it, a program's folder, or files.",
        )
    files = [p for p in sorted(folder.rglob("*")) if p.suffix in SUFFIXES and kernels_of(p)]
    if not files:
        raise AscendError("E43202", folder, "it has no kernel function")
    return files


def _host_beside(files: Sequence[Path], op_type: str) -> tuple[Path, ...]:
    """Host files in ../op_host: of the operator named, or all that register anything."""
    folders = dict.fromkeys(f for p in files if (f := _host_folder(p)) is not None)
    found = [p for f in folders for p in sorted(f.glob("*")) if p.suffix in SUFFIXES]
    registering = {p: registered_types(p) for p in found}
    mine = [p for p, types in registering.items() if op_type in types]
    by_name = [
        p for p in found for f in files if p.stem.removesuffix("_tiling").removesuffix("_def") == f.stem
    ]
    chosen = [p for p, types in registering.items() if types]
    if op_type and mine:
        chosen = mine
    elif len(files) == 1 and by_name and any(registering[p] for p in by_name):
        chosen = by_name
    helpers = [p for p in found if not registering[p] and not _is_called(p)]
    return tuple(dict.fromkeys([*chosen, *(p for p in helpers if chosen and p not in chosen)]))


def _is_called(path: Path) -> bool:
    """Whether a file of op_host is of the functions that applications call."""
    return _CALLED.search(path.read_text(encoding="utf-8", errors="replace")) is not None


def _host_folder(kernel: Path) -> Path | None:
    """../op_host of a file in op_kernel; for one in op_kernel/arch35, op_host/arch35 where that is there."""
    for level, folder in enumerate(list(kernel.parents)[:3]):
        if folder.name == "op_kernel":
            names = kernel.parent.parts[len(kernel.parent.parts) - level :] if level else ()
            inner = folder.parent.joinpath("op_host", *names)
            found = inner if inner.is_dir() else folder.parent / "op_host"
            return found if found.is_dir() else None
    return None


def registered_types(path: Path) -> list[str]:
    """The operator types that a host file registers."""
    text = without_comments(path.read_text(encoding="utf-8", errors="replace"))
    return list(dict.fromkeys(a or b for a, b in _REGISTERS.findall(text)))


def defined_types(path: Path) -> list[str]:
    """The operator types that a host file defines, by OP_ADD."""
    text = without_comments(path.read_text(encoding="utf-8", errors="replace"))
    return list(dict.fromkeys(a for a, _ in _REGISTERS.findall(text) if a))


def _named_like(files: Sequence[Path], host: Sequence[Path]) -> str:
    """Of several registered operators, the one that the kernel's file is named after; "" for the only one."""
    types = list(dict.fromkeys(t for p in host for t in registered_types(p)))
    if len(types) < 2 or len(files) != 1:
        return types[0] if len(types) == 1 else ""
    return next((t for t in types if snake_case(t) == files[0].stem), "")


def _of_operator(files: Sequence[Path], op_type: str) -> list[Path]:
    named = [p for p in files if p.stem == snake_case(op_type)]
    return named or list(files)


def read_sources(
    sources: Sources, name: str, soc: Soc
) -> tuple[KernelFunction, HostCode | None, HostOperator | None]:
    """The kernel, and the host's code and operator where there is any."""
    if not sources.host:
        return chosen_kernel(list(sources.kernels), name), None, None
    host = read_host(sources.host, sources.folders, soc)
    operator = host.operator(sources.op_type)
    if not name:
        wanted = operator.kernel_file or snake_case(operator.op)
        names = [k.name for p in sources.kernels for k in kernels_of(p)]
        name = wanted if wanted in names else ""
    return chosen_kernel(list(sources.kernels), name), host, operator
