"""The command line of ascend-atc into the options of a conversion."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ascend_ep.cli.atc_files import existing
from ascend_ep.cli.atc_flags import OUTPUT_TYPES
from ascend_ep.cli.atc_fusion import rules_off
from ascend_ep.cli.atc_implementations import implementations
from ascend_ep.cli.atc_log import warn
from ascend_ep.cli.atc_precision import precision, precision_lists
from ascend_ep.cli.atc_profiles import FLAGS as PROFILE_FLAGS
from ascend_ep.cli.atc_profiles import Profiles, read_profiles
from ascend_ep.cli.atc_shapes import (
    input_shape_of_range,
    parse_custom_ops,
    parse_hint_shapes,
    parse_input_shape,
    parse_out_nodes,
)
from ascend_ep.cli.progress import Progress
from ascend_ep.element_types import ELEMENT_TYPES
from ascend_ep.errors import AscendError
from ascend_ep.runtime.profiles import COLUMNS

if TYPE_CHECKING:
    from ascend_ep.cann.aipp.config import AippOp
    from ascend_ep.compiler.convert_options import ConvertOptions

Given = Mapping[str, str]

FRAMEWORKS = {"0": "Caffe", "1": "MindSpore", "3": "TensorFlow", "5": "ONNX"}


def conversion_options(
    given: Given, words: Sequence[str], writes: bool, progress: Progress
) -> ConvertOptions:
    """The options of the conversion that these flags ask for."""
    from ascend_ep.cann.soc import find_soc
    from ascend_ep.compiler.convert_options import ConvertOptions
    from ascend_ep.opdef.library import separate
    from ascend_ep.opdef.registry import Registry

    soc = given.get("soc_version", "")
    if soc:
        find_soc(soc)
    libraries = [f"{name}:{path}" for name, path in parse_custom_ops(given.get("custom_op", "")).items()]
    definitions = [str(existing(path)) for path in separate(given.get("custom_op_info", ""))]
    shapes, ranges, profiles = input_shapes(given)
    mode, asked = precision(given), implementations(given)
    return ConvertOptions(
        registry=Registry.from_options(libraries, definitions),
        input_shapes=shapes,
        symbol_ranges=ranges,
        profiles=profiles.profiles if profiles else (),
        meta=(profile_meta(given, profiles) if profiles else {}) | memory_meta(given),
        out_nodes=out_nodes(given.get("out_nodes", "")),
        output_types=output_types(given),
        precision=mode,
        precision_lists=precision_lists(given, mode, asked.keep_names, asked.keep_types),
        fast=asked.fast(),
        clip_weights=given.get("is_weight_clip") != "0",
        half_inputs=half_inputs(given.get("input_fp16_nodes", "")),
        soc_version=soc,
        command_line=" ".join(["ascend-atc", *words]),
        sample_seed=0 if writes else None,
        self_check={"0": False, "1": True}.get(given.get("self_check", "")),
        aipp=aipp_ops(given),
        codegen=codegen(given),
        external_weight=int(given.get("external_weight", "0")),
        hint_shapes=parse_hint_shapes(given.get("input_hint_shape", "")),
        fusions_off=fusions_off(given),
        dump=dump_folder(given),
        progress=progress.stage,
    )


def input_shapes(
    given: Given,
) -> tuple[dict[str, list[int | str]], dict[str, tuple[int, int | None]], Profiles | None]:
    """--input_shape as sizes per input, free dimensions under a name of their own, the range of each, and the
    profiles that they are to have."""
    text = given.get("input_shape", "")
    if "input_shape_range" in given:
        warn(
            given, "--input_shape_range is deprecated and replaces --input_shape; use --input_shape=x:1~10,3."
        )
        text = input_shape_of_range(given["input_shape_range"])
    if not text:
        return {}, {}, read_profiles(given, {})
    names: list[str] = []
    if ":" not in text:
        from ascend_ep.graph.load import load_model

        names = [str(value.name) for value in load_model(given["model"]).graph.inputs]
    shapes: dict[str, list[int | str]] = {}
    ranges: dict[str, tuple[int, int | None]] = {}
    parsed = parse_input_shape(text, names)
    profiles = read_profiles(given, parsed)
    for name, dims in parsed.items():
        shapes[name] = []
        for axis, dim in enumerate(dims):
            if isinstance(dim, int):
                shapes[name].append(dim)
            elif profiles:
                shapes[name].append(profiles.symbols[name, axis])
            else:
                ranges[f"{name}_d{axis}"] = dim
                shapes[name].append(f"{name}_d{axis}")
    for profile in profiles.profiles if profiles else ():
        for symbol, size in profile.items():
            low, high = ranges.get(symbol, (size, size))
            ranges[symbol] = min(low, size), max(high or size, size)
    return shapes, ranges, profiles


def profile_meta(given: Given, profiles: Profiles) -> dict[str, str]:
    """What a bundle says of its profiles: the flag, and what each size of a profile is of."""
    columns = {COLUMNS: json.dumps(profiles.columns)}
    return columns | {flag: given[flag] for flag in PROFILE_FLAGS if given.get(flag)}


def half_inputs(text: str) -> list[str]:
    """`n1;n2` of --input_fp16_nodes."""
    return [name.strip() for name in text.split(";") if name.strip()]


def out_nodes(text: str) -> list[str]:
    if not text:
        return []
    return [name if index is None else f"{name}:{index}" for name, index in parse_out_nodes(text)]


def output_types(given: Given) -> dict[str, str]:
    """`FP16` -> {"": "FP16"}, all outputs; `node:0:FP16;..` -> {"node:0": "FP16"}, with --out_nodes only."""
    text = given.get("output_type", "")
    if not text:
        return {}
    if ":" not in text:
        return {"": output_type(text, text)}
    if not given.get("out_nodes"):
        reason = "A type per node needs --out_nodes."
        raise AscendError("E10001", text, "--output_type", reason)
    entries = (entry.strip().rpartition(":") for entry in text.split(";") if entry.strip())
    return {node: output_type(name, text) for node, _, name in entries}


def output_type(name: str, text: str) -> str:
    if name not in OUTPUT_TYPES:
        reason = f"The type must be one of {', '.join(OUTPUT_TYPES)}."
        numbers = (row for row in ELEMENT_TYPES.values() if row.atc)
        near = [row.atc for row in numbers if name.casefold() in (row.atc.casefold(), row.name.casefold())]
        near = near or (["node1:0:FP16;node2:0:FP32 with --out_nodes"] if "," in name else [])
        raise AscendError(
            "E10001", text, "--output_type", reason, details=[f"did you mean {n}?" for n in near]
        )
    return name


def require(given: Given, *names: str) -> None:
    for name in names:
        if not given.get(name):
            raise AscendError("E10054", name)


def require_onnx(given: Given) -> None:
    """--framework must be there, and be ONNX, as TensorFlow models have become (atc_tensorflow.py)."""
    number = given.get("framework", "")
    if not number:
        raise AscendError("E10007", "framework", "0(Caffe) or 1(MindSpore) or 3(TensorFlow) or 5(Onnx)")
    if number not in FRAMEWORKS:
        raise AscendError("E10001", number, "--framework", "The value must be one of [0, 1, 3, 5].")
    if number != "5":
        reason = f"{FRAMEWORKS[number]} models are not converted here; export the model to ONNX."
        if number == "0" and not given.get("weight"):
            raise AscendError("E10008")
        raise AscendError("E10055", reason)


def fusions_off(given: Given) -> frozenset[str]:
    """The fusion rules that --fusion_switch_file, --buffer_optimize or --oo_level turn off."""
    from ascend_ep.opdef.fusion_rules import KERNEL, RULES

    switches = given.get("fusion_switch_file")
    off = rules_off(given, existing(switches)) if switches else frozenset()
    if given.get("oo_level") == "O1":
        return off | {rule.name for rule in RULES}
    if given.get("buffer_optimize") == "off_optimize":
        return off | {rule.name for rule in RULES if rule.group == KERNEL}
    return off


def memory_meta(given: Given) -> dict[str, str]:
    """What a bundle says of --disable_reuse_memory; read by native/core/place.c."""
    return {"reuse_memory": "0"} if given.get("disable_reuse_memory") == "1" else {}


def codegen(given: Given) -> str:
    """Whether formulas are compiled: not for a host of another kind, which interprets them."""
    return "off" if given.get("host_env_cpu", platform.machine()) != platform.machine() else "auto"


def dump_folder(given: Given) -> Path | None:
    """Where every step goes as text: --dump, or from --op_debug_level=1 on --debug_dir."""
    if given.get("dump"):
        return Path(given["dump"])
    return (
        Path(given.get("debug_dir") or "./kernel_meta") if given.get("op_debug_level", "0") != "0" else None
    )


def aipp_ops(given: Given) -> list[AippOp]:
    """The aipp_op blocks of --insert_op_conf."""
    if not given.get("insert_op_conf"):
        return []
    from ascend_ep.cann.aipp.config import read_aipp

    return read_aipp(existing(given["insert_op_conf"]))
