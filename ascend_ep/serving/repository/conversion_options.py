"""`atc.cfg`: how ascend-atc is to convert the `model.onnx` beside it, one `--flag=value` a line.

    # a comment
    --input_shape=x:-1,3,224,224
    --dynamic_batch_size=1,2,4,8

It lies in the version's folder or, for all versions, in the model's. Flags that name a file name one that
lies beside atc.cfg. Where no precision is asked for, the model keeps its own (ascend-atc's default is
float16). What is about the command itself rather than the bundle, or would run code, isn't allowed.
"""

from __future__ import annotations

from pathlib import Path

from ascend_ep.errors import AscendError, did_you_mean

from .layout import OPTIONS, Layout, is_file

_VALUES = frozenset(
    {
        "buffer_optimize",
        "deterministic",
        "disable_reuse_memory",
        "dynamic_batch_size",
        "dynamic_dims",
        "dynamic_image_size",
        "enable_small_channel",
        "input_format",
        "input_fp16_nodes",
        "input_hint_shape",
        "input_shape",
        "input_shape_range",
        "is_weight_clip",
        "oo_level",
        "op_select_implmode",
        "optypelist_for_implmode",
        "out_nodes",
        "output_type",
        "precision_mode",
        "precision_mode_v2",
        "self_check",
        "soc_version",
    }
)
_FILES = frozenset(
    {
        "custom_op_info",
        "customize_dtypes",
        "fusion_switch_file",
        "insert_op_conf",
        "keep_dtype",
        "modify_mixlist",
        "op_precision_mode",
    }
)
_LISTS = frozenset({"custom_op_info"})  # of files, separated by semicolons
_ELSEWHERE = "isn't for a server: give it to ascend-atc and serve the bundle"
MAX_BYTES = 1 << 16

DEFAULTS = {"soc_version": "Ascend910B3"}
EXACT = {"precision_mode": "must_keep_origin_dtype"}


def read_options(places: Layout, name: str, version: Path) -> dict[str, str]:
    """Flag -> value, with files as paths; the defaults where there is no atc.cfg.

    Raises AscendError E50047 with the line of what is refused, E50042 for a link out of the repository.
    """
    found = next((f for f in (version, places.model(name)) if is_file(f / OPTIONS)), None)
    given: dict[str, str] = {}
    if found is not None:
        path = places.contained(found / OPTIONS)
        with path.open("rb") as file:
            body = file.read(MAX_BYTES + 1)
        if len(body) > MAX_BYTES:
            raise AscendError("E50047", "-", places.shown(path), f"the file has more than {MAX_BYTES} bytes")
        for number, line in enumerate(body.decode("utf-8", "replace").splitlines(), 1):
            text = line.strip()
            if text and not text.startswith("#"):
                _read_line(places, path, number, text, given)
    chosen = {} if given.keys() & {"precision_mode", "precision_mode_v2"} else EXACT
    return DEFAULTS | chosen | given


def files_named(options: dict[str, str]) -> dict[str, list[Path]]:
    """Flag -> the files that its value names, of those flags that name any."""
    return {flag: [*map(Path, _files(flag, value))] for flag, value in options.items() if flag in _FILES}


def _files(flag: str, value: str) -> list[str]:
    if flag not in _LISTS:
        return [value]
    return [file for file in (part.strip() for part in value.split(";")) if file]


def _read_line(places: Layout, path: Path, number: int, text: str, given: dict[str, str]) -> None:
    name, equals, value = text.removeprefix("--").partition("=")

    def refuse(why: str) -> AscendError:
        return AscendError("E50047", number, places.shown(path), why)

    if not text.startswith("--") or not equals:
        raise refuse(f"[{text[:80]}] is no --flag=value")
    if name in given:
        raise refuse(f"--{name} is there twice")
    if name not in _VALUES | _FILES:
        near = did_you_mean(name, _VALUES | _FILES).rstrip("?.")
        raise refuse(f"--{name[:80]} {_ELSEWHERE}{near and '.' + near + '?'}")
    if name in _FILES:
        value = ";".join(str(places.contained(path.parent / file)) for file in _files(name, value))
    given[name] = value
