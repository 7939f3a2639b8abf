"""ascend-op run: an Ascend C kernel over arrays, with every rule of the chip checked."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ascend_ep.cli.command import positive, seed
from ascend_ep.cli.op_values import read_attributes, read_inputs, read_types
from ascend_ep.errors import AscendError

if TYPE_CHECKING:
    from ascend_ep.cann.chip_rates import ChipRates
    from ascend_ep.opbuild.ascendc.call_request import KernelWork, Wanted
    from ascend_ep.opbuild.kernels.arrays import Array
    from ascend_ep.opbuild.kernels.program_project import ProgramProject
    from ascend_ep.opbuild.kernels.run_kernel import Run, RunRequest

SOC_VERSION = "Ascend910B1"
#: Flags about what host code decides.
DECIDED_BY_HOST = ("block_dim", "tiling", "tiling_key", "workspace", "arg")
#: Flags about a call, which a program with a main function makes itself.
OF_A_CALL = (
    *("input", "input_shape", "dtype", "attr", "output", "output_shape", "output_dtype"),
    *("golden", "formula", "host", "op_type", *DECIDED_BY_HOST),
)
EPILOG = """\
examples:
  ascend-op run add_custom.cpp --input x.npy --input y.npy --block_dim 8 --golden z.npy
  ascend-op run gelu.cpp --input_shape "[8,2048]" --dtype float16 --tiling "totalLength=16384,tileNum=8" \\
      --formula "0.5*x*(1 + erf(x/sqrt(2)))"
  ascend-op run op_kernel/add_custom.cpp --input_shape "[8,2048];[8,2048]" --dtype float16
  ascend-op run ./GeluCustom --input x.npy --attr approximate=tanh
  ascend-op run ./AddKernelInvocation

The file is code, and is run: in a process of its own, with limits, and with your rights. Host code
(../op_host, --host) decides shapes, blocks and tiling data, as the tool chain has it decide.
"""


def add_run_command(commands: Any) -> None:
    """Adds it to the subcommands of ascend-op."""
    run = commands.add_parser(
        "run",
        help="an Ascend C kernel over arrays",
        description="Compiles an Ascend C kernel for this CPU, runs it over arrays, names every broken rule.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = run.add_argument
    add("files", nargs="+", metavar="FILE", help="the kernel's source, or a project's folder")
    add("--input_shape", default="", metavar="SHAPES", help='random inputs instead of --input: "[4,33];[33]"')
    add(
        "--dtype",
        action="append",
        metavar="TYPES",
        help='their element types, one or by ";" (default: float32)',
    )
    add("--op_type", default="", metavar="TYPE", help="which operator of the host code")
    add("--rtol", type=float, help="relative tolerance of a comparison (default: by element type)")
    add("--atol", type=float, help="absolute tolerance")
    add(
        "--attr",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an attribute of the host code's operator",
    )
    add(
        "--output",
        default="",
        metavar="DIR",
        help="folder for the outputs, NAME.npy (default: none are written)",
    )
    add("--no-check", action="store_true", help="values only, at full speed")
    add("--seconds", type=positive, default=60, help="how long it may run (default: 60)")
    add("--program_args", default="", metavar="TEXT", help="arguments of a program with a main function")
    add("--model-time", action="store_true", help="say what it takes at least on the chip, by a model")
    add(
        "--soc_version",
        metavar="CHIP",
        help=f"the chip (default: the host code's, {SOC_VERSION} if it has it)",
    )
    add_kernel_arguments(run.add_argument_group("the kernel"))
    run.set_defaults(run=run_command)


def add_kernel_arguments(group: Any) -> None:
    """What running a kernel and building an operator of it have in common."""
    add = group.add_argument
    add("--kernel", default="", metavar="NAME", help="which of its kernels; name<half> for a template")
    add("--host", action="append", default=[], metavar="FILE", help="its host code (default: of ../op_host)")
    add("--include", action="append", default=[], metavar="DIR", help="where its files include from, too")
    add("--no-host", action="store_true", help="the kernel alone, whatever ../op_host has")
    add(
        "--input",
        action="append",
        default=[],
        metavar="FILE",
        help="x.npy, or x.bin:float16:[8,2048]; in order",
    )
    add("--seed", type=seed, default=0, help="of random inputs")
    add("--output_shape", default="", metavar="SHAPES", help="of outputs, where nothing else says them")
    add("--output_dtype", default="", metavar="TYPES", help='of outputs, by ";"')
    add(
        "--golden",
        action="append",
        default=[],
        metavar="FILE",
        help="what an output should be, as --input; in order",
    )
    add("--formula", default="", metavar="TEXT", help="what the outputs should be, in the inputs' names")
    add("--block_dim", type=int, default=0, metavar="N", help="blocks, without host code (default: 1)")
    add("--tiling", default="", metavar="TEXT", help='tiling data: a file, "1024,8", or "total=1024,tiles=8"')
    add("--tiling_key", type=int, default=0, metavar="KEY", help="without host code")
    add("--workspace", type=int, default=0, metavar="BYTES", help="without host code")
    add("--arg", action="append", default=[], metavar="NAME=VALUE", help="a parameter that is no address")


def run_command(given: argparse.Namespace, environ: Mapping[str, str]) -> None:
    """Runs it and prints what happened. Raises E43201 for a broken rule, E43204 for other values."""
    from ascend_ep.opbuild.kernels.program_project import ProgramProject, find_program
    from ascend_ep.opbuild.kernels.run_kernel import run_kernel
    from ascend_ep.opbuild.kernels.sources import is_bare_folder, is_program

    files = [Path(f) for f in given.files]
    project = find_program(files[0]) if len(files) == 1 and is_bare_folder(files[0]) else None
    if (project or is_program(files)) and not given.kernel:
        refuse_flags(
            given, OF_A_CALL, "the program has a main function, which makes the call; --kernel calls a kernel"
        )
        if given.model_time:
            raise AscendError("E43103", "on", "model-time", "it is of one kernel; --kernel calls one")
        run_source_project(given, project or ProgramProject(Path.cwd(), tuple(files)))
        return
    refuse_flags(given, ("program_args",), "no main function takes it")
    request, golden = kernel_request(given, given.files)
    rates = _rates(given, request)
    made = run_kernel(request)
    _print_run(made, request)
    if rates and made.answer.work is not None:
        _print_model(made.answer.work, rates)
    for name, array in zip(made.names, made.answer.outputs, strict=False):
        _say("output", f"{name} {_shape_text(array)}{_written(given.output, name, array)}")
    if made.answer.failed:
        faults = [line for line in made.answer.lines if not line.startswith("advice")]
        raise AscendError("E43201", made.kernel.name, faults[0] if faults else "see above")
    _compare(given, made, request, golden)


def refuse_flags(given: argparse.Namespace, flags: Sequence[str], reason: str) -> None:
    """AscendError E43103 for the first of these flags that was given."""
    for flag in flags:
        if value := getattr(given, flag):
            raise AscendError("E43103", value, flag, reason, fix=f"Leave out --{flag}.")


def run_source_project(given: argparse.Namespace, project: ProgramProject) -> None:
    """A program's data made, its sources compiled and run in the project's folder, what it wrote checked."""
    from ascend_ep.cann.soc import find_soc
    from ascend_ep.opbuild.ascendc.program_process import run_source_program
    from ascend_ep.opbuild.kernels.golden_files import compared_goldens
    from ascend_ep.opbuild.kernels.printed_forms import printed_forms
    from ascend_ep.opbuild.kernels.program_project import DATA_FOLDERS, program_of, refused_by, run_script

    soc = find_soc(given.soc_version or SOC_VERSION)
    words = given.program_args.split()
    included = [Path(f).resolve() for f in given.include]
    paths, program = program_of(project, included, not given.no_check, soc)
    _say("program", ", ".join(p.name for p in paths))
    for said in printed_forms(paths):
        _say("warning", said)
    if project.makes or project.checks:
        for name in DATA_FOLDERS:
            (project.folder / name).mkdir(exist_ok=True)
    for script in project.makes:
        _say("data", script.path.name)
        run_script(project, script, words, given.seconds)
    about = project.sources[0].name
    print(run_source_program(program, about, soc.name, given.seconds, words, project.folder), end="")
    for script in project.checks:
        said = run_script(project, script, words, given.seconds)
        _say("check", f"{script.path.name}: {' '.join(said.splitlines()[-1:])}")
        if refusal := refused_by(said):
            raise AscendError("E43204", about, script.path.name, refusal)
    for pair in compared_goldens(project.folder) if project.makes_goldens else ():
        if pair.refusal:
            raise AscendError("E43204", pair.written.name, pair.golden.name, pair.refusal)
        _say("check", f"{pair.written.name} with {pair.golden.name}: {pair.said}")


def kernel_request(given: argparse.Namespace, files: Sequence[str]) -> tuple[RunRequest, list[Array]]:
    """The call that the flags describe, and the golden outputs."""
    from ascend_ep.cann.soc import find_soc
    from ascend_ep.opbuild.ascendc.call_request import Wanted
    from ascend_ep.opbuild.kernels.arrays import read_array
    from ascend_ep.opbuild.kernels.chips import chips_named, soc_of
    from ascend_ep.opbuild.kernels.run_kernel import RunRequest
    from ascend_ep.opbuild.kernels.sources import Sources, find_sources

    included = [Path(f) for f in given.include]
    sources = find_sources(
        [Path(f) for f in files], [Path(h) for h in given.host], given.op_type or "", included
    )
    if given.no_host:
        sources = Sources(sources.kernels, included=sources.included)
    if sources.host:
        refuse_flags(given, DECIDED_BY_HOST, "the host code decides it; --no-host runs the kernel alone")
    golden = [read_array(text, "golden") for text in given.golden]
    outputs = _outputs(given.output_shape, given.output_dtype)
    for i, array in enumerate(golden):
        if i >= len(outputs):
            from ascend_ep.element_types import number_of

            outputs.append(Wanted(number_of(array.dtype), -1, tuple(map(int, array.shape))))
    return RunRequest(
        sources,
        find_soc(given.soc_version) if given.soc_version else soc_of(chips_named(sources.host)),
        _inputs(given),
        given.kernel,
        outputs,
        {k: v for k, v in read_attributes(given.attr).items() if v is not None},
        dict(_pairs(given.arg)),
        given.block_dim,
        given.tiling_key,
        given.workspace,
        given.tiling,
        not getattr(given, "no_check", False),
        getattr(given, "seconds", 60),
    ), golden


def _inputs(given: argparse.Namespace) -> list[Array | None]:
    import numpy as np

    from ascend_ep.element_types import numpy_dtype
    from ascend_ep.opbuild.kernels.arrays import read_array

    if given.input and given.input_shape:
        raise AscendError("E43103", given.input_shape, "input_shape", "--input gives the inputs already")
    if given.input:
        return [None if text == "none" else read_array(text, "input") for text in given.input]
    if not given.input_shape:
        return []
    source = np.random.default_rng(given.seed)
    found: list[Array | None] = []
    for spec in read_inputs(given.input_shape, read_types(given.dtype or ["float32"])):
        kind = numpy_dtype(spec.dtype)
        if kind.kind in "iu":
            found.append(source.integers(0, 100, spec.dims).astype(kind))
        elif kind.kind == "b":
            found.append(source.integers(0, 2, spec.dims).astype(kind))
        else:
            found.append(source.standard_normal(spec.dims).astype(kind))
    return found


def _outputs(shapes: str, kinds: str) -> list[Wanted]:
    from ascend_ep.opbuild.ascendc.call_request import Wanted

    types = [t[0] for t in read_types([kinds])] if kinds else []
    dims = [spec.dims for spec in read_inputs(shapes, ((1,),))] if shapes else []
    count = max(len(types), len(dims))
    types = types * count if len(types) == 1 else types
    return [
        Wanted(types[i] if i < len(types) else None, -1, dims[i] if i < len(dims) else None)
        for i in range(count)
    ]


def _pairs(texts: Sequence[str]) -> list[tuple[str, str]]:
    found = []
    for text in texts:
        match = re.fullmatch(r"\s*(\w+)\s*=\s*(.+)", text)
        if match is None:
            raise AscendError("E43103", text, "arg", "write NAME=VALUE")
        found.append((match[1], match[2]))
    return found


def _print_run(made: Run, request: RunRequest) -> None:
    from ascend_ep.opbuild.kernels.run_kernel import fault_place, source_line

    answer = made.answer
    _say("kernel", f"{made.kernel}: {made.kernel.place}")
    if request.sources.host:
        chip = f", for {request.soc.name}" if request.soc.name != SOC_VERSION else ""
        _say("host", ", ".join(p.name for p in request.sources.host) + chip)
    for note in made.notes:
        _say("note", note)
    checked = "checked" if request.is_checked else "not checked"
    times = f"compiled in {made.compile_seconds:.1f} s, ran in {made.run_seconds * 1e3:.0f} ms, {checked}"
    blocks = f"{answer.blocks} block{'s' if answer.blocks != 1 else ''}"
    sizes = f"{len(answer.tiling)} bytes of tiling data, {answer.workspace} of workspace"
    _say("run", f"{blocks}, tiling key {answer.key}, {sizes}; {times}")
    for line in answer.printed:
        _say("printed", line)
    files = _all_files(request)
    for line in answer.lines:
        word, text = ("advice", line[7:]) if line.startswith("advice ") else ("fault", line)
        place, text = fault_place(text)
        _say(word, f"{Path(place).name + ': ' if place else ''}{text}")
        if shown := source_line(place, files):
            _say("", f"    {shown}")


def _rates(given: argparse.Namespace, request: RunRequest) -> ChipRates | None:
    """Of --model-time, before the kernel runs. Raises AscendError E44009 and E43103."""
    from ascend_ep.cann.chip_rates import chip_rates

    if not given.model_time:
        return None
    if given.no_check:
        raise AscendError("E43103", "on", "model-time", "only checked runs count what a kernel does")
    return chip_rates(request.soc)


def _print_model(work: KernelWork, rates: ChipRates) -> None:
    """What the kernel takes at least on the chip, by what its cores counted."""
    from ascend_ep.opbuild.ascendc.call_request import WORK_KINDS

    most, whole = dict(zip(WORK_KINDS, work.most, strict=True)), dict(zip(WORK_KINDS, work.all, strict=True))
    moved = whole["read"] + whole["written"]
    times = rates.kernel_times(
        work.cores, most["scalar"], most["vector"], most["read"] + most["written"], moved
    )
    cube = "; its matrix products are not in it" if whole["cube"] else ""
    _say(
        "model",
        f"{rates.soc.name}: at least {1e6 * times.overlapped:.4g} us, {1e6 * times.in_turn:.4g} us if its "
        f"units take turns{cube}",
    )
    units = ", ".join(
        f"{unit} {1e6 * getattr(times, unit):.4g} us" for unit in ("scalar", "vector", "memory")
    )
    _say("", f"{units}; {whole['scalar']} scalar accesses, {whole['vector']} repeats, {moved} bytes moved")


def _all_files(request: RunRequest) -> list[Path]:
    from ascend_ep.opbuild.ascendc.cpp import sources_of

    found = list(request.sources.kernels)
    for path in request.sources.kernels:
        found += sources_of(f'#include "{path}"', request.sources.folders)
    return found


def _compare(given: argparse.Namespace, made: Run, request: RunRequest, golden: Sequence[Array]) -> None:
    from ascend_ep.opbuild.kernels.arrays import difference

    against = "the formula" if given.formula else "the golden file"
    wanted = expected_outputs(given, request, made.inputs, golden)
    for name, array, right in zip(made.names, made.answer.outputs, wanted, strict=False):
        if array.shape != right.shape:
            reason = f"{name} has the shape {list(array.shape)}, not {list(right.shape)}"
            raise AscendError("E43204", made.kernel.name, against, reason)
        found = difference(array, right, given.rtol, given.atol)
        _say("compared", f"{name} with {against}: {found}")
        if found.beyond:
            raise AscendError("E43204", made.kernel.name, against, f"{name}: {found}")


def expected_outputs(
    given: argparse.Namespace, request: RunRequest, inputs: Sequence[str], golden: Sequence[Array]
) -> Sequence[Array]:
    """What the outputs should be: the formula's over inputs of these names, or the golden ones."""
    from ascend_ep.opbuild.kernels.formula_reference import formula_outputs

    if not given.formula:
        return golden
    present = [(n, a) for n, a in zip(inputs, request.inputs, strict=False) if a is not None]
    names, arrays = [n for n, _ in present], [a for _, a in present]
    return formula_outputs(given.formula, names, arrays, request.attributes)


def _written(folder: str, name: str, array: Array) -> str:
    from ascend_ep.opbuild.kernels.arrays import write_array

    if not folder:
        return ""
    path = Path(folder) / f"{name}.npy"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_array(path, array)
    except OSError as error:
        raise AscendError("E43104", path, error.strerror or error) from None
    return f": {path}"


def _shape_text(array: Array) -> str:
    return f"[{','.join(map(str, array.shape))}] {array.dtype.name}"


def _say(word: str, text: str) -> None:
    print(f"{word:<9} {text}")
