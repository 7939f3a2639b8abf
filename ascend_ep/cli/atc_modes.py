"""What ascend-atc does in each mode, once its command line has been read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ascend_ep.cli.atc_arguments import TRUE
from ascend_ep.cli.atc_files import (
    check_target,
    existing,
    output_stem,
    write_bundle,
    write_renamed,
    write_text,
)
from ascend_ep.cli.atc_fusion import fusion_result, print_report, report_json
from ascend_ep.cli.atc_log import shows_steps, warn
from ascend_ep.cli.atc_options import Given, conversion_options, require, require_onnx
from ascend_ep.cli.atc_precision import lost_to_float16, warn_of_float16
from ascend_ep.cli.atc_report import check_report, failed_report, print_table, table_json, warn_of_limits
from ascend_ep.cli.atc_shapes import parse_custom_ops
from ascend_ep.cli.atc_singleop import convert_operators
from ascend_ep.cli.progress import Progress
from ascend_ep.errors import AscendError

if TYPE_CHECKING:
    from ascend_ep.compiler.conversion import Conversion


def convert_model(given: Given, words: Sequence[str]) -> str | None:
    """Mode 0: writes OUTPUT.om and OUTPUT_ctx.onnx, prints where every node runs."""
    if "singleop" in given:
        convert_operators(given, words)
        return None
    require(given, "model", "output", "soc_version")
    require_onnx(given)
    output_stem(given["output"])
    for flag in ("json", "html", "fusion_report"):
        check_target(given.get(flag, ""), f"--{flag}")
    conversion = convert(given, words)
    print_table(conversion)
    warn_of_unused(given, conversion)
    warn_of_limits(given, conversion)
    warn_of_float16(given, conversion)
    report_fusions(given, conversion)
    output = write_bundle(conversion, given["output"], "--output")
    if given.get("save_original_model", "false").lower() in TRUE:
        convert({**given, "oo_level": "O1"}, words).write(f"{output}_original.om")
    if "fusion_switch_file" in given or "fusion_report" in given:
        result = fusion_result(conversion.fusions)
        write_renamed(output.with_name("fusion_result.json"), result, "--output")
    if target := given.get("json"):
        write_text(target, table_json(conversion), "--json")
    if target := given.get("html"):
        from ascend_ep.cli.atc_html import page

        bundle = Path(f"{output}.om")
        write_renamed(Path(target), page(conversion, str(bundle), bundle.stat().st_size), "--html")
    if given.get("display_model_info") == "1":
        show_info(Path(f"{output}.om"))
    return lost_to_float16(given, conversion, f"{output}.om")


def write_json(given: Given, words: Sequence[str]) -> None:
    """Mode 1: a bundle's MODEL_DEF, or a source model with inferred shapes, as JSON in atc's form."""
    from ascend_ep.plan.writing.model_def import model_def_json, model_def_of_bundle

    for name in ("om", "json"):
        if not given.get(name):
            raise AscendError("E10004", name)
    source = existing(given["om"])
    check_target(given["json"], "--json")
    if "framework" in given:
        require_onnx(given)
        definition = convert({**given, "model": given["om"]}, words, writes=False).model_def
    else:
        definition = model_def_of_bundle(source)
    write_text(given["json"], model_def_json(definition), "--json")


def check_model(given: Given, words: Sequence[str]) -> None:
    """Mode 3: says in the report which operators pass, without writing a bundle."""
    require(given, "model")
    require_onnx(given)
    from ascend_ep.compiler.precheck import precheck

    report = given.get("check_report") or "check_result.json"
    check_target(report, "--check_report")
    with Progress(shows_steps(given)) as progress:
        try:
            options = conversion_options(given, words, False, progress)
            findings = precheck(str(existing(given["model"])), options)
        except AscendError as error:
            write_text(report, failed_report(given["model"], error), "--check_report")
            raise
    write_text(report, check_report(given["model"], findings, given.get("soc_version", "")), "--check_report")
    conversion = convert(given, words, writes=False)
    print_table(conversion)
    warn_of_limits(given, conversion)
    report_fusions(given, conversion)


def show(given: Given, words: Sequence[str]) -> None:
    """Mode 6: prints what a bundle says of itself."""
    if not given.get("om"):
        raise AscendError("E10004", "om")
    if others := sorted(set(given) - {"mode", "om"}):
        raise AscendError("E10057", f"--{others[0]}")
    show_info(existing(given["om"]))


def convert(given: Given, words: Sequence[str], writes: bool = True) -> Conversion:
    """Converts the model of the command line; nothing is written yet."""
    with Progress(shows_steps(given)) as progress:
        from ascend_ep.compiler.convert import convert as run

        return run(str(existing(given["model"])), conversion_options(given, words, writes, progress))


def warn_of_unused(given: Given, conversion: Conversion) -> None:
    """Says which --custom_op names no operator of the model: most likely the name is wrong."""
    used = {op_type for row in conversion.partition_table for op_type in row.operators}
    for name in parse_custom_ops(given.get("custom_op", "")):
        if name.rpartition("::")[2] not in used:
            warn(given, f"--custom_op={name}: no node of the model is a {name}.")


def report_fusions(given: Given, conversion: Conversion) -> None:
    """--fusion_report: the table, or with a file the same as JSON as well."""
    if "fusion_report" not in given:
        return
    off = sorted(conversion.options.fusions_off)
    print_report(conversion.fusions, off)
    if target := given["fusion_report"]:
        write_text(target, report_json(conversion.fusions, off), "--fusion_report")


def show_info(bundle: Path) -> None:
    from ascend_ep.plan.writing.model_def import model_info

    print(model_info(bundle))
