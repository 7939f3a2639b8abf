"""Translation units around the files of others: a kernel's, a program's and a library's."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from ascend_ep.cann.soc import Soc, find_soc
from ascend_ep.element_types import ELEMENT_TYPES
from ascend_ep.opbuild.ascendc.call_request import GE_NUMBERS, OF_GE, chip_numbers
from ascend_ep.opbuild.ascendc.cpp import Unit, sources_of
from ascend_ep.opbuild.ascendc.declarations import without_comments

from .launch_functions import launch_function, launch_headers, launched
from .launches import has_launches, rewritten, without_launchers
from .signature import kernels_of
from .template_keys import TemplateKeys

ArgumentKind = Literal["INPUT", "OUTPUT", "SHAPES", "WORKSPACE", "TILING", "VALUE"]
#: What kernels may compare ORIG_DTYPE_... and FORMAT_... with in #if.
_TYPE_MACROS = {row.ge: GE_NUMBERS[n] for n, row in ELEMENT_TYPES.items() if n in GE_NUMBERS and row.ge}
_FORMAT_MACROS = {
    "NCHW": 0, "NHWC": 1, "ND": 2, "NC1HWC0": 3, "FRACTAL_Z": 4, "HWCN": 16, "NDHWC": 27, "FRACTAL_NZ": 29,
    "NCDHW": 30,
}  # fmt: skip
#: Kernels are told that they run on a CPU, as in the tool chain's own CPU mode.
_ON_CPU = ("-DASCENDC_CPU_DEBUG", "-D__CCE_KT_TEST__")
_LIMITS = re.compile(
    r"\bconst(?:expr|)\s+(?:static\s+)?[\w:]+\s+((?:U?(?:INT|LONG|SHRT|CHAR)|FLT|DBL)_(?:MAX|MIN|EPSILON)|M_PI|M_E|NAN|INFINITY|HUGE_VALF?)"
    r"\s*[={]"
)
#: The chip as a text, and what says that a program has the name for something else.
_CHIP = re.compile(r"(?<![\w:])SOC_VERSION\b")
_OWN_CHIP = re.compile(
    r"::SOC_VERSION\b|(?:\.|->)\s*SOC_VERSION\b|#\s*define\s+SOC_VERSION\b|\benum\b[^;{}]*\{[^}]*\bSOC_VERSION\b"
    r"|\b(?!(?:return|case|else|throw|co_return|co_yield|defined|ifdef|ifndef)\b)[A-Za-z_]\w*(?:\s*[*&>]+\s*|\s+)SOC_VERSION\b"
)
_THREADS = re.compile(r"\b(?:threadIdx|(?:LD|ST)_L2CacheType)\b")
#: Functions that came to the library late: kernels written before have classes of these names.
_LATE = re.compile(
    r"^\s*(?:class|struct)\s+(Is(?:Inf|Nan|Finite)|(?:Logical|Bitwise)(?:Not|And|Or|Xor))\b", re.MULTILINE
)
CHECKED = ("-std=c++20", "-O1", "-g1", *_ON_CPU)
UNCHECKED = ("-std=c++20", "-O2", "-DASCENDC_CPU_NO_CHECK", *_ON_CPU)
HOST = ("-std=c++20", "-O1")
#: Host code has its lines: what ends it is named by them.
_HOST_FILE = (*HOST, "-g1")
#: The chip whose memories the header knows unless it is told another.
USUAL_CHIP = "Ascend910B1"


@dataclass(frozen=True)
class TypeColumn:
    """Element types (ONNX's numbers) of every input, then of every output, that a kernel is compiled for;
    None is any. key: the tiling key that it is compiled for, if each has a kernel of its own."""

    types: tuple[int | None, ...] = ()
    key: int | None = None


@dataclass(frozen=True)
class KernelUnit:
    """A kernel in its file. name: how it is called, with template arguments. tensors: names of what
    columns list. tiling: text of tiling structures; tiling_class: the one of GET_TILING_DATA. by_key: how an
    instance of a template is chosen by the tiling key, None where `name` says which it is."""

    file: Path
    name: str
    column: TypeColumn = TypeColumn()
    tensors: tuple[str, ...] = ()
    tiling: str = ""
    tiling_class: str = ""
    folders: tuple[Path, ...] = ()
    defines: Mapping[str, str] = field(default_factory=dict, hash=False)
    by_key: TemplateKeys | None = None

    def unit(self, number: int, is_checked: bool) -> Unit:
        """The kernel behind a row of its own. Functions of its file that launch kernels have no bodies."""
        plain, angle, rest = self.name.partition("<")
        folders = (self.file.parent, *_of_side(self.folders, "op_kernel"))
        symbol = f"asc_kernel_{number}"
        included = included_source(self.file, without_launchers)
        lines = [
            '#include "kernel_operator.h"',
            '#include "host/launch.h"',
            *_implied_headers(self.file, folders),
            "#include <cmath>",
            "#define __CCE__ 1",  # the device's compiler: programs' headers keep code from their host by it
            *_type_macros(self.column, self.tensors),
            *([self.tiling] if self.tiling else []),
            *([f"using AscTilingDefault = {self.tiling_class};"] if self.tiling_class else []),
            *(f"#define {name} {value}" for name, value in self.defines.items()),
            *(f"#undef {name}" for name in _own_limits(self.file, folders)),
            *(f"#define {name} asc_own_{name}" for name in _own_classes(self.file, folders)),
            f"#define {plain} {symbol}_{plain}",
            included,
            f"#undef {plain}",
        ]
        called = f"{symbol}_{plain}{angle}{rest}"
        if self.by_key is not None:
            lines += self.by_key.lines(symbol, called, self.column.types)
            called = f"{symbol}_by_key"
        lines.append(f"ASC_KERNEL_ROW({symbol}, ({called}))")
        flags = CHECKED if is_checked else UNCHECKED
        files = launch_headers(self.file, folders)
        return Unit(f"kernel{number}", "\n".join(lines) + "\n", files, folders, flags, symbol)


def _of_side(folders: Sequence[Path], side: str) -> list[Path]:
    """The folders with those of the other side, kernel or host, last: both may have a header of one name."""
    other = {"op_kernel": "op_host", "op_host": "op_kernel"}[side]
    return sorted(folders, key=lambda f: other in f.parts and side not in f.parts)


def _own_limits(file: Path, folders: Sequence[Path]) -> list[str]:
    """The C library's macros that a kernel defines as constants of its own: its compiler has none of them."""
    texts = [file, *sources_of(f'#include "{file}"', folders)]
    found = (_LIMITS.findall(p.read_text(encoding="utf-8", errors="replace")) for p in texts)
    return sorted({name for names in found for name in names})


def _own_classes(file: Path, folders: Sequence[Path]) -> list[str]:
    """Classes of a kernel that have the name of a function which the library got later."""
    texts = [file, *sources_of(f'#include "{file}"', folders)]
    found = (_LATE.findall(p.read_text(encoding="utf-8", errors="replace")) for p in texts)
    return sorted({name for names in found for name in names})


def _implied_headers(file: Path, folders: Sequence[Path]) -> list[str]:
    """What the device's compiler knows without a header: places of threads, hints for caches."""
    texts = [file, *sources_of(f'#include "{file}"', folders)]
    threads = any(_THREADS.search(p.read_text(encoding="utf-8", errors="replace")) for p in texts)
    return ['#include "simt_api/asc_simt.h"'] if threads else []


def _macros_of_builds(file: Path, folders: Sequence[Path]) -> list[str]:
    """SOC_VERSION, which the build files of programs define, where a program takes it and has none itself."""
    texts = [file, *sources_of(f'#include "{file}"', folders)]
    plain = [without_comments(p.read_text(encoding="utf-8", errors="replace")) for p in texts]
    if not any(_CHIP.search(text) for text in plain) or any(_OWN_CHIP.search(text) for text in plain):
        return []
    return ["#define SOC_VERSION ::asc_host::chip_of_programs()"]


def included_source(path: Path, changed: Callable[[str], str] = rewritten) -> str:
    """What includes a source: where it has launches, as `changed` makes it."""
    text = path.read_text(encoding="utf-8", errors="replace")
    return f'#line 1 "{path}"\n{changed(text)}' if has_launches(text) else f'#include "{path}"'


def _type_macros(column: TypeColumn, tensors: Sequence[str]) -> Iterable[str]:
    for name, number in _TYPE_MACROS.items():
        yield f"#define {name} {number}"
    for name, number in _FORMAT_MACROS.items():
        yield f"#define FORMAT_{name} {number}"
    for name, dtype in zip(tensors, column.types, strict=False):
        yield f"#define FORMAT_{name.upper()} FORMAT_ND"
        if dtype is None:
            continue
        row = ELEMENT_TYPES[dtype]
        yield f"#define DTYPE_{name.upper()} {row.c or 'uint8_t'}"
        yield f"#define ORIG_DTYPE_{name.upper()} {row.ge}"


@dataclass(frozen=True)
class ArgumentSpec:
    """What an argument of the kernel is: an input or output by its place, or one of the values."""

    kind: ArgumentKind
    index: int = 0


@dataclass(frozen=True)
class Assembly:
    """What goes into one program or library: kernels (one per column), host files, and how a kernel is
    called.

    op: the operator's type in the host files, "" without any.
    """

    kernels: tuple[KernelUnit, ...]
    arguments: tuple[ArgumentSpec, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    op: str = ""
    host: tuple[Path, ...] = ()
    host_folders: tuple[Path, ...] = ()


def host_units(files: Sequence[Path], folders: Sequence[Path]) -> list[Unit]:
    """A unit for each host file, as it is."""
    return [
        Unit(f"host{i}", f'#include "{path}"\n', {}, (path.parent, *_of_side(folders, "op_host")), _HOST_FILE)
        for i, path in enumerate(files)
    ]


def describing_units(files: Sequence[Path], folders: Sequence[Path]) -> list[Unit]:
    """A program that says what host files register."""
    return [*host_units(files, folders), _parts_unit(Assembly((), (), (), ())), _main_unit()]


def program_units(assembly: Assembly, is_checked: bool, soc: Soc) -> list[Unit]:
    """A program that makes one call."""
    return [*_shared_units(assembly, is_checked, soc), _parts_unit(assembly), _main_unit()]


def _for_chip(unit: Unit, soc: Soc) -> Unit:
    """A kernel's unit with the sizes of a chip's memories as constants: the header's own are USUAL_CHIP's."""
    sizes, usual = (chip_numbers(s)[:5] for s in (soc, find_soc(USUAL_CHIP)))
    if sizes == usual:
        return unit
    return replace(unit, text=f'#define ASC_CHIP_OF_PROGRAM "{soc.name}"\n{unit.text}')


def _main_unit() -> Unit:
    """The same for all programs, so that it is compiled once."""
    call = "return asc_host::main(n, arguments, asc_host::the_parts);"
    return Unit(
        "main", f'#include "host/program.h"\nint main(int n, char **arguments) {{ {call} }}\n', {}, (), HOST
    )


@dataclass(frozen=True)
class LibraryText:
    """What a library has beside the assembly's parts: lines that fill asc_host::Library, its inputs'
    counts, the outputs whose shapes the kernel says."""

    lines: tuple[str, ...]
    min_inputs: int
    max_inputs: int
    computed: tuple[int, ...] = ()


def library_units(assembly: Assembly, op_type: str, soc: Soc, more: LibraryText) -> list[Unit]:
    """A library that exports asc_get_custom_op."""
    numbers = chip_numbers(soc)
    fields = ["ub", "l1", "l0a", "l0b", "l0c", "l2", "hbm"]
    fields += ["cube_cores", "vector_cores", "extra_vector_cores", "separate"]
    types = ", ".join(f"{{{GE_NUMBERS[n]}, {n}}}" for n in OF_GE.values())
    text = "\n".join([
        '#include "host/library.h"',
        "static asc_host::Library &the_library() {",
        "    static const bool made = [] {",
        "        asc_host::Library &library = asc_host::Library::the();",
        "        library.host = asc_host::host_of(asc_host::the_parts);",
        f'        library.chip.name = "{soc.name}";',
        *(f"        library.chip.{name} = {value}ull;" for name, value in zip(fields, numbers, strict=True)),
        f"        library.types = {{{types}}};",
        *(f"        {line}" for line in more.lines),
        "        return true;",
        "    }();",
        "    (void)made;",
        "    return asc_host::Library::the();",
        "}",
        "static int32_t infer(asc_custom_call *call) { return the_library().infer(call); }",
        "static int32_t compute(const asc_custom_call *call) { return the_library().compute(call); }",
        "static int32_t tile(asc_custom_call *call) { return the_library().tile(call); }",
        f"static const asc_tiled_op the_operator = {{{{{3 if more.computed else 2}, sizeof(asc_tiled_op), "
        f'"{op_type}", {more.min_inputs}, {more.max_inputs}, {len(assembly.outputs)}, '
        f"{sum(1 << i for i in more.computed)}u, infer, nullptr, "
        "compute}, tile};",
        'extern "C" __attribute__((visibility("default"))) const asc_custom_op *asc_get_custom_op(uint32_t, '
        "const char *type) {",
        "    return std::strcmp(type, the_operator.op.op_type) == 0 ? &the_operator.op : nullptr;",
        "}",
        "",
    ])  # fmt: skip
    return [*_shared_units(assembly, False, soc), _parts_unit(assembly), Unit("library", text, {}, (), HOST)]


def _shared_units(assembly: Assembly, is_checked: bool, soc: Soc) -> list[Unit]:
    kernels = [_for_chip(kernel.unit(i, is_checked), soc) for i, kernel in enumerate(assembly.kernels)]
    return [*host_units(assembly.host, assembly.host_folders), *kernels]


def _parts_unit(assembly: Assembly) -> Unit:
    lines = ['#include "host/parts.h"']
    lines += [f"extern const asc_host::Kernel asc_kernel_{i};" for i in range(len(assembly.kernels))]
    lines.append("namespace asc_host {")
    columns = []
    for i, kernel in enumerate(assembly.kernels):
        types = [-1 if t is None else GE_NUMBERS[t] for t in kernel.column.types]
        key = kernel.column.key
        lines.append(f"static const int types{i}[] = {{{', '.join(map(str, [*types, -1]))}}};")
        has_key = "false" if key is None else "true"
        columns.append(f"{{&::asc_kernel_{i}, types{i}, {len(types)}, {key or 0}ull, {has_key}}}")
    arguments = [f"{{ArgumentSpec::{a.kind}, {a.index}}}" for a in assembly.arguments]
    tables = []
    for kind, name, rows in (
        ("Column", "columns", columns),
        ("ArgumentSpec", "arguments", arguments),
        ("char *const", "inputs", [f'"{n}"' for n in assembly.inputs]),
        ("char *const", "outputs", [f'"{n}"' for n in assembly.outputs]),
    ):
        if rows:
            lines.append(f"static const {kind} {name}[] = {{{', '.join(rows)}}};")
        tables += [name if rows else "nullptr", str(len(rows))]
    lines.append(
        f'extern const Parts the_parts; const Parts the_parts = {{"{assembly.op}", {", ".join(tables)}}};'
    )
    return Unit("parts", "\n".join([*lines, "}", ""]), {}, (), HOST)


def source_program_units(
    files: Sequence[Path], folders: Sequence[Path], is_checked: bool, soc: Soc
) -> list[Unit]:
    """A program of kernels and of a main function that launches them, as its sources stand."""
    flags = CHECKED if is_checked else UNCHECKED
    kernels = [k for path in files for k in kernels_of(path) if not k.template]
    wanted = {name for path in files for name in launched(path, (path.parent, *folders))}
    units = []
    for i, path in enumerate(files):
        places = (path.parent, *folders)
        lines = [
            '#include "kernel_operator.h"',
            '#include "host/launch.h"',
            *_implied_headers(path, places),
            *_macros_of_builds(path, places),
            included_source(path),
        ]
        functions = [launch_function(k) for k in kernels if k.file == path and k.name in wanted]
        lines += ['#include "acl/acl_rt.h"', *functions] if functions else []
        text, headers = "\n".join(lines) + "\n", launch_headers(path, places, kernels)
        units.append(_for_chip(Unit(f"source{i}", text, headers, places, flags), soc))
    return units
