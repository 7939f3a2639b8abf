"""The kinds of core that a unit is compiled for, and one object of its two.

The device's compiler reads a source once for the cube core and once for the vector core. Here one program has both
kinds, and what it is running on is known at run time. That is enough for most sources, which are compiled once. One
that asks the compiler (`#ifdef __DAV_C220_VEC__`, `if constexpr (g_coreType == AIV)`) is compiled for each kind of
core that it has code for. Where these are two, the object has both: kernels keep their names, which belong to entries
that jump to the code for the core whose turn it is (`asc_on_cube_core` of cpu/core.h). What else the cube's code
defines is its own, but for the simulated device. The host's code is that of the vector core's compilation: what runs
before main (registrations, say) runs once.
"""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Literal

from ascend_ep.errors import AscendError

from .declarations import argument_lists, constants_of, without_comments

CoreType = Literal["cube", "vector"]
#: What only a compiler for one kind of core can answer, beside g_coreType in a constant.
_ASKS = re.compile(r"\b__DAV_(?:C220_)?(?:VEC|CUBE)__|\bconstexpr\s*\(?\s*ASCEND_IS_")
_TASK = re.compile(r"\bKERNEL_TYPE_(\w+)")
_OF_TASK: dict[str, set[CoreType]] = {
    "AIV_ONLY": {"vector"},
    "MIX_AIV_1_0": {"vector"},
    "AIC_ONLY": {"cube"},
    "MIX_AIC_1_0": {"cube"},
    "MIX_AIC_1_1": {"cube", "vector"},
    "MIX_AIC_1_2": {"cube", "vector"},
}
_OF_CUBE = re.compile(
    r"\b(?:__DAV_(?:C220_)?CUBE__|ASCEND_IS_AIC|ASCEND_IS_NOT_AIV|g_coreType|AIC"
    r"|Mmad|Fixpipe|LoadData\w*|Matmul(?:Impl)?|REGIST_MATMUL_OBJ|mad|load_cbuf_to_c[ab]|copy_matrix_cc_to_\w+)\b"
)
_OF_VECTOR = re.compile(
    r"\b(?:__DAV_(?:C220_)?VEC__|ASCEND_IS_AIV|ASCEND_IS_NOT_AIC|g_coreType|AIV|VECIN|VECOUT|VECCALC)\b"
)
#: A line of objdump -t.
_ROW = re.compile(
    r"^(?P<value>[0-9a-f]+) (?P<flags>.{7}) (?P<section>\S+)\s+[0-9a-f]+ "
    r"(?:\.(?P<visibility>protected|hidden|internal) )?(?P<name>\S+)$"
)
#: The entry of a kernel, by machine: to the code for the vector core, or for the cube core.
_ENTRIES = {
    "x86_64": """\
    movq asc_on_cube_core@GOTPCREL(%rip), %r11
    cmpb $0, (%r11)
    jne 1f
    {vector}
1:  {cube}
""",
    "aarch64": """\
    adrp x16, :got:asc_on_cube_core
    ldr x16, [x16, :got_lo12:asc_on_cube_core]
    ldrb w16, [x16]
    cbnz w16, 1f
    {vector}
1:  {cube}
""",
}
_JUMPS = {"x86_64": "jmp {}@PLT", "aarch64": "b {}"}
#: Of cpu/task_type.h: what a core does with a kernel that it has no code for.
_NO_CODE = "asc_no_code_for_core"
#: What runs before main, or at its end.
_STARTS = tuple(f"--remove-section=.{name}*" for name in ("init_array", "ctors", "fini_array", "dtors"))
#: Variables of our headers that say what code the cube's compilation has, and the functions that say it.
_MARKS = {
    re.compile(r"_ZN7asc_cpu8CubeCodeI\w+E5foundE"): "asc_mark_cube_code",
    re.compile(r"_ZN7asc_cpu10JoinedCodeI\w+E5foundE"): "asc_mark_joined_code",
    re.compile(r"_ZN7asc_cpu15cube_only_notedE"): "asc_mark_cube_only",
}
Run = Callable[[Sequence[str], Path, tuple[str, ...]], object]


def core_types(texts: Iterable[str]) -> tuple[CoreType, ...]:
    """The kinds of core that a unit of these texts is compiled for; none where one compilation does for all."""
    text = "\n".join(map(without_comments, texts))
    if not (_ASKS.search(text) or constants_of(text, "g_coreType")):
        return ()
    named = [_OF_TASK[kind] for kind in _TASK.findall(text) if kind in _OF_TASK]
    kinds = set[CoreType]().union(*named)
    if not named:
        kinds |= {"cube"} if _OF_CUBE.search(text) else set()
        kinds |= {"vector"} if _OF_VECTOR.search(text) or not kinds else set()
    return tuple(kind for kind in ("cube", "vector") if kind in kinds)


def flags_of(kind: CoreType, is_joined: bool) -> list[str]:
    """What a compilation for a kind of core is told. is_joined: it is one of two."""
    macros = {"cube": ("__DAV_C220_CUBE__", "__DAV_CUBE__"), "vector": ("__DAV_C220_VEC__", "__DAV_VEC__")}
    flags = [f"-D{name}=1" for name in macros[kind]] + [f"-DASC_CORE_TYPE={1 if kind == 'cube' else 2}"]
    if (
        is_joined
    ):  # the device's state comes first, and is the same in both; code can be joined, and no trees for later
        flags += ["-DASC_CORES_JOINED", "-include", "kernel_operator.h", "-fno-lto"]
    return [*flags, "-fvisibility=hidden"] if is_joined and kind == "cube" else flags


def join(cube: Path, vector: Path, target: Path, compiler: Sequence[str], run: Run, text: str) -> None:
    """One object of those of the two kinds of core. run: executes a command that makes a file; text: of the unit and
    what it includes.

    Raises AscendError E43001 without binutils, or on a machine for which there are no entries; E43002 where these
    fail.
    """
    machine = platform.machine()
    if machine not in _ENTRIES:
        raise AscendError("E43001", machine, "kernels for two kinds of core can't be joined on this machine")
    ld, objcopy = tool("ld"), tool("objcopy")
    work = target.parent
    flat = {}
    for name, made in (("cube", cube), ("vector", vector)):
        flat[name] = work / f"{name}.flat.o"
        run([ld, "-r", "--force-group-allocation", str(made)], flat[name], ("-o",))
    of_cube, of_vector = _kernels(flat["cube"]), _kernels(flat["vector"])
    missing = [*_not_for(1, flat["cube"], text), *_not_for(2, flat["vector"], text)]
    renamed = [f"--redefine-sym={name}={name}.cube" for name in of_cube]
    local, weak, own = work / "cube.local.o", work / "cube.weak.o", work / "vector.own.o"
    run([objcopy, "--localize-hidden", *_STARTS, *renamed, str(flat["cube"])], local, ())
    # what another unit defines stays as it is, so that libraries are searched for it
    own_names = [row["name"] for row in _symbols(local) if "g" in row["flags"] and row["section"] != "*UND*"]
    (work / "own_names").write_text("\n".join(own_names), encoding="utf-8")
    run([objcopy, f"--weaken-symbols={work / 'own_names'}", str(local)], weak, ())
    moved = [f"--weaken-symbol={name}" for name in of_vector]
    moved += [f"--add-symbol={n}.vector={k.section}:{k.value},function,global" for n, k in of_vector.items()]
    run([objcopy, *moved, str(flat["vector"])], own, ())
    entries = work / "entries.s"
    lines = [*_entries(machine, of_cube, of_vector, missing), *_marks(flat["cube"])]
    entries.write_text("".join(lines), encoding="utf-8")
    run([*compiler, "-c", str(entries)], work / "entries.o", ("-o",))
    run([ld, "-r", str(work / "entries.o"), str(own), str(weak)], target, ("-o",))


def tool(name: str) -> str:
    """A tool of binutils. Raises AscendError E43001."""
    if shutil.which(name) is None:
        raise AscendError("E43001", name, fix=f"Install {name} of GNU binutils.")
    return name


class _Kernel:
    """Where an object has a kernel's code."""

    def __init__(self, value: str, section: str, is_weak: bool) -> None:
        self.value, self.section, self.is_weak = f"0x{value}", section, is_weak


def _kernels(made: Path) -> dict[str, _Kernel]:
    """The kernels that an object defines, by symbol: what is protected."""
    return {
        row["name"]: _Kernel(row["value"], row["section"], "w" in row["flags"])
        for row in _symbols(made)
        if row["visibility"] == "protected" and row["section"] != "*UND*"
    }


def _not_for(kind: int, made: Path, text: str) -> list[str]:
    """Functions that an object calls and nothing defines: instances of a template for its kind of core, of which the
    unit's text specializes the one for the other kind."""
    instance = re.compile(rf"_Z(?!N?K?(?:St|7asc_cpu|7AscendC))\w*I\w*Li{kind}E")
    undefined = [r["name"] for r in _symbols(made) if r["section"] == "*UND*" and instance.match(r["name"])]
    if not undefined:
        return []
    plain = without_comments(text)
    return [
        name
        for name, declared in zip(undefined, _said([tool("c++filt"), *undefined]).splitlines(), strict=True)
        if any(str(kind) in given and _is_specialized(of, plain) for of, given in argument_lists(declared))
    ]


def _is_specialized(name: str, text: str) -> bool:
    own = re.escape(name)
    whole, of_class = (
        rf"\btemplate\s*<\s*>[^;{{}}]*?(?<!\w){own}\s*<",
        rf"\b(?:class|struct)\s+{own}\s*<",
    )
    return re.search(whole, text) is not None or re.search(of_class, text) is not None


def _symbols(made: Path) -> list[re.Match[str]]:
    lines = _said([tool("objdump"), "-t", "-w", str(made)]).splitlines()
    return [row for line in lines if (row := _ROW.match(line)) is not None]


def _said(command: Sequence[str]) -> str:
    """What a tool of binutils prints. Raises AscendError E43002."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    except subprocess.CalledProcessError as error:
        raise AscendError(
            "E43002", command[0], error.stderr.strip() or f"status {error.returncode}"
        ) from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise AscendError("E43002", command[0], error) from None


def _marks(cube: Path) -> Iterable[str]:
    """Calls before main of what the cube's compilation would have said of itself."""
    names = [row["name"] for row in _symbols(cube)]
    for variable, function in _MARKS.items():
        if any(map(variable.fullmatch, names)):
            yield f'    .section .init_array,"aw"\n    .p2align 3\n    .8byte {function}\n'


def _entries(
    machine: str, cube: dict[str, _Kernel], vector: dict[str, _Kernel], missing: Sequence[str]
) -> Iterable[str]:
    """The text of the entries, in assembly. missing: functions that only the other core has code for."""
    yield "    .text\n    .p2align 4\n"
    jump = _JUMPS[machine]
    for name in sorted({*cube, *vector}):
        where = {
            "cube": jump.format(f"{name}.cube" if name in cube else _NO_CODE),
            "vector": jump.format(f"{name}.vector" if name in vector else _NO_CODE),
        }
        is_weak = (vector.get(name) or cube[name]).is_weak
        yield f"    .{'weak' if is_weak else 'globl'} {name}\n    .type {name}, %function\n{name}:\n"
        yield _ENTRIES[machine].format(**where)
    for name in sorted(set(missing)):
        yield f"    .weak {name}\n    .type {name}, %function\n{name}:\n    {jump.format(_NO_CODE)}\n"
    yield '    .section .note.GNU-stack,"",%progbits\n'
