"""One program: built in a toolkit, given bundles and inputs, run, and compared."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from acl_programs import inputs, libraries, modules
from acl_programs.bundles import Bundle, NoBundle, convert_all
from acl_programs.programs import ABSENT, Program, code_of, pages, run_command
from acl_programs.reference import Comparison, compare, printed

HERE = Path(__file__).parent
BUILD_SECONDS, RUN_SECONDS = 400, 180
#: What a program says where it failed though its status is 0.
_FAILED = re.compile(r"\[ERROR\]|ERROR:|Traceback|^(?!\[WARN).*[Ff]ailed", re.MULTILINE)
#: What a build says, the most telling first, and what stands before it in a reason.
_BUILD_FAILURES = (
    (r"fatal error: (\S+): No such file", "needs "),
    (r"cannot find -l(\S+)", "needs lib"),
    (r"undefined reference to `([^']+)'", "nothing has "),
    (r"configuration file provided by\s+\"(\w+)\"", "needs the package "),
    (r"CMake Error at [^\n]*:\n\s*\n?((?:  \S.*\n)+)", ""),
    (r"(?:error|Error): (.*)", ""),
)
#: Of the files that a program would read and that aren't there, how many its reason names.
NAMED_FILES = 3
#: Names of OpenCV 3 that OpenCV 4 dropped; samples were written for the former.
OLD_NAMES = {
    "CV_LOAD_IMAGE_COLOR": 1,
    "CV_LOAD_IMAGE_GRAYSCALE": 0,
    "CV_LOAD_IMAGE_UNCHANGED": -1,
    "CV_IMWRITE_JPEG_QUALITY": 1,
    "CV_FONT_HERSHEY_SIMPLEX": 0,
}
#: Those that it has in types_c.h alone.
OLD_CONVERSIONS = {
    "CV_BGR2RGB": 4,
    "CV_RGB2BGR": 4,
    "CV_BGR2GRAY": 6,
    "CV_RGB2GRAY": 7,
    "CV_GRAY2BGR": 8,
}


@dataclass(frozen=True)
class Outcome:
    name: str
    language: str
    built: bool
    ran: bool
    comparison: Comparison | None
    shown: str
    reason: str


def attempt(
    program: Program, name: str, folder: Path, environment: dict[str, str], work: Path, keep: bool = False
) -> Outcome:
    """All of it, in a copy of the program's folder; never raises for what the program does. `keep`: a program
    that was built there before is run as it is."""
    place = work / name.replace("/", "+")
    root = place / program.root.relative_to(folder)
    keep = keep and root.is_dir()
    shutil.rmtree(root / "recorded" if keep else place, ignore_errors=True)
    if not keep:
        _copy_within(folder, program.root, place)
    moved = Program(
        root,
        root / program.sources.relative_to(program.root),
        root / program.script.relative_to(program.root) if program.script else None,
        program.conversions,
    )
    libraries.generate_messages(root, environment)
    environment = with_modules(program, folder, with_old_names(moved, environment))
    built = bool(program.script) or (keep and _binary(moved) is not None)
    reason = "" if built else build(moved, environment)
    if reason:
        return Outcome(name, program.language, False, False, None, "-", reason)
    bundles: list[Bundle] = []
    without = ""
    try:
        inputs.make(moved, environment)
        bundles = convert_all(moved, environment, keep)
        inputs.make_numbers(moved, bundles)
    except NoBundle as error:
        without = str(error)
    except subprocess.TimeoutExpired:
        without = "a conversion took too long"
    return _ran(moved, name, environment, bundles, without)


def with_modules(program: Program, folder: Path, environment: dict[str, str]) -> dict[str, str]:
    path = [environment["PYTHONPATH"], *map(str, modules.folders(program, folder))]
    return {**environment, "PYTHONPATH": os.pathsep.join(path)}


def with_old_names(program: Program, environment: dict[str, str]) -> dict[str, str]:
    """Defines those that the sources use, and include from no header that still has them."""
    code = "" if program.script else code_of(program)
    names = OLD_NAMES if "types_c.h" in code else OLD_NAMES | OLD_CONVERSIONS
    flags = [f"-D{name}={value}" for name, value in names.items() if re.search(rf"\b{name}\b", code)]
    return {**environment, "CXXFLAGS": " ".join([environment.get("CXXFLAGS", ""), *flags]).strip()}


def _copy_within(folder: Path, root: Path, place: Path) -> None:
    """A copy of `root` at its place below `place`, beside links to all else in `folder`: build files and
    modules name what lies above them."""
    at, made = folder, place
    for part in root.relative_to(folder).parts:
        made.mkdir(parents=True)
        for other in at.iterdir():
            if other.name not in (part, ".git"):
                (made / other.name).symlink_to(other.resolve())
        at, made = at / part, made / part
    shutil.copytree(root, made, symlinks=True)


def _ran(
    program: Program, name: str, environment: dict[str, str], bundles: list[Bundle], without: str
) -> Outcome:
    record = program.root / "recorded"
    record.mkdir(exist_ok=True)
    status, text = run(program, environment, record)
    (program.root / "said.txt").write_text(text)
    failed = status != 0 or _FAILED.search(text)
    reason = _first_failure(text, status) + missing_files(program.root, record) if failed else ""
    comparison = None
    if any(record.iterdir()):
        try:
            comparison = compare(record, bundles)
            reason = reason or comparison.failure
        except Exception as error:  # a shape that the reference refuses, a file that isn't there
            reason = reason or f"not comparable: {str(error).splitlines()[0][:120]}"
    if without and failed:
        reason = without
    shown = printed(text, comparison) if comparison else "-"
    return Outcome(name, program.language, True, not failed, comparison, shown, reason)


def build(program: Program, environment: dict[str, str]) -> str:
    """By cmake, or by make: "" or what is wrong."""
    if (program.sources / "CMakeLists.txt").exists():
        folder = build_folder(program)
        folder.mkdir(parents=True, exist_ok=True)
        (program.root / "out").mkdir(exist_ok=True)
        for left in program.root.rglob("CMakeCache.txt"):  # committed; it names folders of its author
            left.unlink()
        flags = ["-DCMAKE_CXX_COMPILER=g++", "-DCMAKE_SKIP_RPATH=TRUE", "-DCMAKE_POLICY_VERSION_MINIMUM=3.5"]
        commands = [["cmake", str(program.sources), *flags], ["make", "-k"]]
    else:
        folder, commands = program.sources, [["make"]]
    for command in commands:
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                timeout=BUILD_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return "the build took too long"
        if done.returncode:
            return _build_failure(program, done.stdout + done.stderr)
    return ""


def build_folder(program: Program) -> Path:
    """As its page, scripts and build file have it: binaries and models lie beside it."""
    files = [program.sources / "CMakeLists.txt", *program.root.rglob("*.sh")]
    said = pages(program.root) + "".join(f.read_text(errors="replace") for f in files if f.is_file())
    deep = "intermediates" in said or "../../../" in said
    return program.root / "build" / "intermediates" / "host" if deep else program.root / "build"


def _build_failure(program: Program, text: str) -> str:
    code = code_of(program)
    for header, what in ABSENT.items():
        if header in code and header in text:
            return what
    for pattern, what in _BUILD_FAILURES:
        found = re.search(pattern, text)
        if found:
            return what + " ".join(found.group(1).split())[:120]
    return text.strip().splitlines()[-1][:120]


def run(program: Program, environment: dict[str, str], record: Path) -> tuple[int, str]:
    """Its status, and all that it says."""
    binary = None if program.script else _binary(program)
    arguments = run_command(program, binary.name if binary else "main")
    if program.script:
        folder = (
            program.script.parent if "../data" in " ".join(arguments) + code_of(program) else program.root
        )
        command = [sys.executable, str(program.script), *arguments]
        path = [str(HERE / "recording"), str(program.root), environment["PYTHONPATH"]]
        made = {**environment, "PYTHONPATH": os.pathsep.join(path)}
    else:
        if binary is None:
            return 1, "ERROR: the build left no program"
        folder, command = binary.parent, [f"./{binary.name}", *arguments]
        script = next(program.root.glob("scripts/*run*.sh"), None)
        if script and "/main" in script.read_text() and "sample_common" not in script.read_text():
            folder, command = script.parent, ["bash", script.name]
        made = {**environment, "LD_PRELOAD": str(preloaded("recorder.c", environment, record.parent))}
    noting = preloaded("missing.c", environment, record.parent)
    made["LD_PRELOAD"] = f"{noting}:{made.get('LD_PRELOAD', '')}"
    made |= {"ACL_RECORD": str(record), "ACL_ROOT": str(program.root), "ACL_MISSING": f"{record}.missing"}
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=made,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=RUN_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        return 124, (late.stdout or b"").decode(errors="replace") + "\nERROR: it didn't end"
    return done.returncode, (done.stdout + done.stderr).decode(errors="replace")


def _binary(program: Program) -> Path | None:
    usual = ("out", "run/out", "output", ".", "build", "build/intermediates/host")
    files = [f for folder in usual for f in sorted((program.root / folder).glob("*"))]
    files += sorted(program.root.rglob("*"))
    return next((f for f in files if "CMakeFiles" not in f.parts and _is_binary(f)), None)


def _is_binary(file: Path) -> bool:
    """A program for this machine; repositories hold some for others."""
    if not file.is_file() or not os.access(file, os.X_OK) or ".so" in file.name:
        return False
    return _machine(file) == _machine(Path(sys.executable))


def _machine(file: Path) -> bytes:
    """What an ELF file is for; empty for any other."""
    with file.open("rb") as opened:
        head = opened.read(20)
    return head[18:] if head.startswith(b"\x7fELF") else b""


def preloaded(source: str, environment: dict[str, str], folder: Path) -> Path:
    library = folder / f"lib{Path(source).stem}.so"
    command = [
        "gcc",
        "-shared",
        "-fPIC",
        "-O1",
        str(HERE / source),
        "-o",
        str(library),
        f"-I{environment['DDK_PATH']}/runtime/include",
        "-ldl",
        "-pthread",
    ]
    subprocess.run(command, env=environment, check=True, timeout=60)
    return library


def _first_failure(text: str, status: int) -> str:
    lines = [line.strip() for line in text.splitlines() if _FAILED.search(line)]
    if "Traceback" in text:
        lines = [_last_exception(text)]
    refused = re.search(r"^\S+: error: (.*)", text, re.MULTILINE)  # argparse's
    if refused and not lines:
        lines = [refused.group(1)]
    said = lines[0][:150] if lines else f"status {status}" if status >= 0 else ""
    ended = -status if status < 0 else status - 128 if 128 < status < 160 else 0  # a shell adds 128
    if ended in set(signal.Signals):
        said = f"{said}; ended by {signal.Signals(ended).name}".removeprefix("; ")
    return said


def _last_exception(text: str) -> str:
    """The line after the last traceback's frames; what a program says on its way out follows it."""
    after = text.rpartition("Traceback")[2].splitlines()[1:]
    return next((line.strip() for line in after if line and not line.startswith(" ")), "Traceback")


def missing_files(root: Path, record: Path) -> str:
    """The files that it would have read, those it didn't make itself, by their names."""
    noted = Path(f"{record}.missing")
    paths = dict.fromkeys(noted.read_text(errors="replace").splitlines()) if noted.exists() else {}
    names = [Path(p).name for p in paths if Path(p).suffix and "__pycache__" not in p]
    names = [n for n in dict.fromkeys(names) if not next(root.rglob(n), None)]
    said = ", ".join(names[:NAMED_FILES]) + (" and more" if len(names) > NAMED_FILES else "")
    return f"; not there: {said}" if names else ""
