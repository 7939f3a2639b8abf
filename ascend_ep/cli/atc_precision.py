"""The flags of precision: modes, and the files that make exceptions from them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ascend_ep import regular_file
from ascend_ep.cli.atc_log import warn
from ascend_ep.errors import AscendError, did_you_mean
from ascend_ep.opdef.dtypes import FLOAT16
from ascend_ep.opdef.jsontext import strict_json

if TYPE_CHECKING:
    from ascend_ep.compiler.conversion import Conversion
    from ascend_ep.compiler.precision.precision import PrecisionLists
    from ascend_ep.graph.passes.retype import NodeTypes

Given = Mapping[str, str]

DEFAULT = "force_fp16"  #: atc's own
FLOAT16_IS_DEFAULT = (
    "The model is computed in float16, as by atc without --precision_mode; "
    "--precision_mode_v2=origin keeps its own types."
)
LIMIT = 1 << 20  #: bytes of a file
BY_TYPE = "OpType::"
LISTS = ("black-list", "white-list", "gray-list")
MIXLIST_FORM = '{"black-list": {"to-add": ["Softmax"]}, "white-list": {"to-remove": ["Conv2D"]}}'


def precision(given: Given) -> str:
    """The mode asked for. Raises AscendError for one that can't be had."""
    if "precision_mode" in given and "precision_mode_v2" in given:
        raise AscendError("E10056", "--precision_mode", "--precision_mode_v2")
    from ascend_ep.compiler.precision.precision import check_mode

    mode = given.get("precision_mode") or given.get("precision_mode_v2") or DEFAULT
    check_mode(mode)
    return mode


def warn_of_float16(given: Given, conversion: Conversion) -> None:
    """Says that float16 was nobody's choice, where the default has brought it into a model."""
    if "precision_mode" in given or "precision_mode_v2" in given:
        return
    casts = (node.attributes["to"].as_int() for node in conversion.model.graph if node.op_type == "Cast")
    if FLOAT16 in casts:
        warn(given, FLOAT16_IS_DEFAULT)


def lost_to_float16(given: Given, conversion: Conversion, written: str) -> str | None:
    """Which results of a written bundle float16 spoils, and the flag that mends it; None when none."""
    from ascend_ep.accuracy.half_losses import MENDING, find_losses

    losses = find_losses(conversion, written)
    if losses is None:
        return None
    flag = f"--precision_mode={losses.mode}"
    if "precision_mode_v2" in given:
        flag = f"--precision_mode_v2={MENDING[losses.mode]}"
    return f"{losses}; {flag} mends it (converted and run)."


def precision_lists(
    given: Given, mode: str, keep_names: Collection[str] = (), keep_types: Collection[str] = ()
) -> PrecisionLists:
    """What --keep_dtype, --modify_mixlist and --customize_dtypes say; more operators to keep are given.

    Raises AscendError E10001 naming the file, and the line or key that is wrong; E10410 for a missing file.
    """
    from ascend_ep.compiler.precision.mixed_lists import MixedLists
    from ascend_ep.compiler.precision.precision import MIXED, PrecisionLists

    names, types = _keep_dtype(given["keep_dtype"]) if given.get("keep_dtype") else ([], [])
    by_name, by_type = _customize(given["customize_dtypes"]) if given.get("customize_dtypes") else ({}, {})
    mixed = MixedLists()
    if path := given.get("modify_mixlist"):
        if mode not in MIXED:
            reason = f"The lists are for mixed precision ({', '.join(sorted(MIXED))}), not for {mode}."
            raise AscendError("E10001", path, "--modify_mixlist", reason)
        mixed = _mixlist(path)
    names, types = [*names, *keep_names], [*types, *keep_types]
    return PrecisionLists(frozenset(names), frozenset(types), mixed, by_name, by_type)


# ---- files of lines --------------------------------------------------------------------------------


def _keep_dtype(path: str) -> tuple[list[str], list[str]]:
    """Names, and types, of operators: a line each."""
    names: list[str] = []
    types: list[str] = []
    for number, line in config_lines(path, "--keep_dtype"):
        if line.startswith(BY_TYPE):
            types.append(_named(path, "--keep_dtype", number, line.removeprefix(BY_TYPE)))
        else:
            names.append(line)
    return names, types


def _customize(path: str) -> tuple[dict[str, NodeTypes], dict[str, NodeTypes]]:
    """name::InputDtype:t,..,OutputDtype:t,.. and OpType::type:InputDtype:..: a line each."""
    names: dict[str, NodeTypes] = {}
    types: dict[str, NodeTypes] = {}
    for number, line in config_lines(path, "--customize_dtypes"):
        by_type = line.startswith(BY_TYPE)
        name, marker, rest = line.removeprefix(BY_TYPE).partition("InputDtype:")
        inputs, other, outputs = rest.partition("OutputDtype:")
        if not marker or not other or not name.endswith(":"):
            form = "name::InputDtype:type,...,OutputDtype:type,..."
            raise line_refusal(path, "--customize_dtypes", number, f"{line[:60]!r} is not of the form {form}")
        name = _named(path, "--customize_dtypes", number, name.rstrip(":"))
        (types if by_type else names)[name] = _types(path, number, inputs, outputs)
    return names, types


def _types(path: str, number: int, inputs: str, outputs: str) -> NodeTypes:
    from ascend_ep.compiler.precision.precision import TYPE_NAMES
    from ascend_ep.graph.passes.retype import NodeTypes

    def listed(text: str) -> tuple[int, ...]:
        found = []
        for name in (part.strip() for part in text.split(",")):
            if name and name not in TYPE_NAMES:
                reason = f"{name!r} is none of {', '.join(TYPE_NAMES)}{did_you_mean(name, TYPE_NAMES)}"
                raise line_refusal(path, "--customize_dtypes", number, reason)
            if name:
                found.append(TYPE_NAMES[name])
        if not found:
            raise line_refusal(path, "--customize_dtypes", number, "it names no type of inputs or outputs")
        return tuple(found)

    reads, writes = listed(inputs), listed(outputs)
    if len(set(writes)) > 1:
        raise line_refusal(path, "--customize_dtypes", number, "the outputs of a node have one type here")
    return NodeTypes(reads, writes[0])


def config_lines(path: str, flag: str) -> Iterator[tuple[int, str]]:
    """Lines that say something, with their numbers; # begins a comment."""
    for number, line in enumerate(_text(path, flag).splitlines(), 1):
        if text := line.partition("#")[0].strip():
            yield number, text


def _named(path: str, flag: str, number: int, name: str) -> str:
    if not name.strip():
        raise line_refusal(path, flag, number, "it names nothing")
    return name.strip()


def _text(path: str, flag: str) -> str:
    regular_file.need(path, f"{flag} names it")
    try:
        data = regular_file.read(path)
        if len(data) > LIMIT:
            raise AscendError("E10001", path, flag, f"The file has more than {LIMIT} bytes.")
        return data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise AscendError("E10001", path, flag, f"The file cannot be read: {reason}.") from error


def line_refusal(path: str, flag: str, number: int, reason: str) -> AscendError:
    return AscendError("E10001", path, flag, f"Line {number}: {reason}.")


# ---- the JSON of --modify_mixlist ------------------------------------------------------------------


def _mixlist(path: str) -> Any:
    """The changes to the lists. What is taken from the white or the black list becomes grey."""
    from ascend_ep.compiler.precision.mixed_lists import Colour, MixedLists, own_colours

    flag = "--modify_mixlist"

    def refuse(reason: str) -> AscendError:
        return AscendError("E10001", path, flag, reason, details=[f"its form: {MIXLIST_FORM}"])

    try:
        root = strict_json(_text(path, flag))
    except ValueError as error:
        raise refuse(f"It is no JSON: {error}.") from error
    if not isinstance(root, dict):
        raise refuse("It is no map of lists.")
    added: dict[str, list[str]] = {name: [] for name in LISTS}
    removed: list[str] = []
    for name, changes in root.items():
        if name not in LISTS:
            raise refuse(f"{name} is none of [{', '.join(LISTS)}]{did_you_mean(name, LISTS)}.")
        if not isinstance(changes, dict) or set(changes) - {"to-add", "to-remove"}:
            raise refuse(f"{name} is no map of to-add and to-remove.")
        for change, operators in changes.items():
            if not isinstance(operators, list) or not all(isinstance(o, str) and o for o in operators):
                raise refuse(f"{name}.{change} is no list of operator types.")
            if change == "to-add":
                added[name] += operators
                continue
            for operator in operators:
                if Colour(name) not in own_colours(operator):
                    raise refuse(f"{name}.{change}: {operator} is not on the {name}.")
            removed += operators
    for operator in (o for name in LISTS for o in added[name]):
        if sum(operator in added[name] for name in LISTS) > 1:
            raise refuse(f"{operator} is added to more than one list.")
    grey = [*added["gray-list"], *(o for o in removed if not any(o in a for a in added.values()))]
    return MixedLists(frozenset(added["white-list"]), frozenset(added["black-list"]), frozenset(grey))
