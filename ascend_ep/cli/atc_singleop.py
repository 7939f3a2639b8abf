"""--singleop: every operator of a list becomes a .om of its own, in the folder that --output names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ascend_ep import atomic_file
from ascend_ep.cli.atc_log import shows_steps
from ascend_ep.cli.atc_options import conversion_options, require
from ascend_ep.cli.atc_report import print_table
from ascend_ep.cli.progress import Progress
from ascend_ep.errors import AscendError

#: The flags that may stand beside --singleop; those of the last line are our extensions.
COMPANIONS = frozenset(
    {
        *("singleop", "output", "soc_version", "mode", "log", "debug_dir", "op_debug_level"),
        *("precision_mode", "precision_mode_v2", "op_select_implmode", "optypelist_for_implmode"),
        *("core_type", "aicore_num", "op_compiler_cache_mode", "op_compiler_cache_dir", "op_precision_mode"),
        *("deterministic", "deterministic_level", "virtual_type", "op_debug_config", "jit_compile"),
        *("enable_small_channel", "auto_tune_mode", "op_bank_path", "mdl_bank_path", "display_model_info"),
        *("custom_op_info", "custom_op", "self_check", "dump"),
    }
)


def convert_operators(given: Mapping[str, str], words: Sequence[str]) -> None:
    """Writes a bundle for each operator; all are read before the first is written."""
    from dataclasses import replace

    from ascend_ep.cann.single_op import read_operators
    from ascend_ep.cann.single_op_model import operator_model
    from ascend_ep.compiler.convert import convert

    for name in given:
        if name not in COMPANIONS:
            raise AscendError("E10047", "singleop", name)
    require(given, "output", "soc_version")
    path = given["singleop"]
    operators = read_operators(path)
    folder = output_folder(given["output"])
    with Progress(shows_steps(given)) as progress:
        options = conversion_options(given, words, True, progress)
        assert options.registry is not None
        models = [
            operator_model(desc, options.registry, f"{path}[{index}]") for index, desc in enumerate(operators)
        ]
        for index, (desc, (model, ranges)) in enumerate(zip(operators, models, strict=True)):
            meta = {**options.meta, **desc.meta()}
            conversion = convert(model, replace(options, symbol_ranges=ranges, meta=meta))
            if wrong := conversion.dropped_shapes:
                raise AscendError("E19014", wrong[0], desc.op, "the operator's output has another shape")
            target = folder / f"{desc.file_name(index)}.om"
            print_table(conversion)
            conversion.write(target)
            print(f"  {desc.op}: {target}")


def output_folder(text: str) -> Path:
    """--output as a folder, made if need be."""
    folder = Path(text)
    try:
        atomic_file.make_folder(folder)
    except OSError as error:
        reason = f"The folder cannot be made: {error.strerror}."
        raise AscendError("E10001", text, "--output", reason) from error
    return folder
