"""The text of `ascend-atc --help`: the flags that act, by what they are for; with `--help=all` all."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator

from ascend_ep.cli.atc_flags import BY_NAME, FLAGS, Flag, rule_lines

USAGE = "usage: ascend-atc --model=FILE --framework=5 --output=PATH --soc_version=NAME [options]"

#: Heading -> its flags. What isn't here comes last.
GROUPS: dict[str, tuple[str, ...]] = {
    "What is converted": (
        *(
            "model",
            "framework",
            "output",
            "soc_version",
            "custom_op_info",
            "custom_op",
            "out_nodes",
            "singleop",
        ),
        *("mode", "om", "json", "check_report"),
    ),
    "Shapes": (
        *("input_shape", "dynamic_batch_size", "dynamic_image_size", "dynamic_dims"),
        *("input_hint_shape", "input_shape_range"),
    ),
    "Element types": (
        *("precision_mode_v2", "precision_mode", "keep_dtype", "modify_mixlist", "customize_dtypes"),
        *("output_type", "input_fp16_nodes", "is_weight_clip", "insert_op_conf"),
        *("op_select_implmode", "optypelist_for_implmode", "op_precision_mode"),
    ),
    "Fusion": ("fusion_switch_file", "fusion_report", "buffer_optimize", "oo_level"),
    "Looking inside": (
        *("self_check", "dump", "log", "html", "display_model_info", "save_original_model"),
        *("op_debug_level", "debug_dir", "explain", "help"),
    ),
}
REST = "Files, caches and the host"
INDENT = 28


def help_text(everything: bool = False) -> str:
    """As wide as the terminal, 110 columns at most."""
    width = min(shutil.get_terminal_size().columns, 110)
    named = {name for names in GROUPS.values() for name in names}
    rest = tuple(flag.name for flag in FLAGS if flag.acts and flag.name not in named)
    lines = [USAGE]
    for heading, names in (GROUPS | {REST: rest}).items():
        lines += ["", f"{heading}:", *(line for name in names for line in _described(BY_NAME[name], width))]
    idle = [flag for flag in FLAGS if not flag.acts]
    if not everything:
        return "\n".join(
            [*lines, "", f"--help=all adds the fusion rules and {len(idle)} flags without effect."]
        )
    lines += ["", "Fusion rules that --fusion_switch_file switches:", *rule_lines()]
    lines += ["", "Flags of atc that are checked but change nothing here:"]
    return "\n".join(lines + [line for flag in idle for line in _wrapped(flag.name, flag.effect, width)])


def _described(flag: Flag, width: int) -> Iterator[str]:
    values = f"; {', '.join(flag.values)}" if flag.values else ""
    default = f" (default: {flag.default})" if flag.default else ""
    return _wrapped(flag.name, f"{flag.help}{values}{default}", width)


def _wrapped(name: str, text: str, width: int) -> Iterator[str]:
    first = f"  --{name} "
    room = max(width - INDENT, 30)
    lines = textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False)
    if len(first) > INDENT:
        yield first.rstrip()
    else:
        yield f"{first:<{INDENT}}{lines.pop(0)}"
    for line in lines:
        yield f"{'':<{INDENT}}{line}"
