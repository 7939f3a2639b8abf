"""What the flags beside a model, its shapes and its precision mean for a conversion."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ascend_ep.cli.atc_files import existing
from ascend_ep.cli.atc_fusion import rules_off

if TYPE_CHECKING:
    from ascend_ep.compiler.aipp.aipp_config import AippOp

Given = Mapping[str, str]


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
    from ascend_ep.compiler.aipp.aipp_config import read_aipp

    return read_aipp(existing(given["insert_op_conf"]))
