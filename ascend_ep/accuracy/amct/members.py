"""The members of AMCT's two files, the .cfg and config.json, and the values that each of them takes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from ascend_ep.errors import AscendError, did_you_mean


@dataclass(frozen=True)
class Member:
    """A member without members of its own. `wanted`: what its values are; `holds`: whether a value is one."""

    wanted: str
    holds: Callable[[Any], bool]


#: A member, a list of such, or an object with members.
Table: TypeAlias = "Member | list[Table] | dict[str, Table]"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(wanted: str, holds: Callable[[float], bool]) -> Member:
    return Member(f"a number, {wanted}", lambda value: _is_number(value) and holds(value))


def _whole(low: int, high: int) -> Member:
    def holds(value: Any) -> bool:
        return _is_number(value) and isinstance(value, int) and low <= value <= high

    return Member(f"a whole number from {low} to {high}", holds)


def _one_of(*choices: str | int) -> Member:
    """Values of the same type as the choices."""
    wanted = ", ".join(str(c) for c in choices)
    return Member(f"one of {wanted}", lambda value: type(value) is type(choices[0]) and value in choices)


def _only(value: object, reason: str) -> Member:
    shown = str(value).lower() if isinstance(value, bool) else str(value)
    return Member(f"{shown} here: {reason}", lambda given: type(given) is type(value) and given == value)


def _is_range(value: Any) -> bool:
    pair = isinstance(value, list) and len(value) == 2 and all(map(_is_number, value))
    return pair and 0 < value[0] < value[1] < math.inf


BOOL = Member("true or false", lambda value: isinstance(value, bool))
TEXT = Member("a text", lambda value: isinstance(value, str))
_BITS = _only(8, "activations and weights have 8 bits")
_SHARE = _number("over 0.5 and at most 1", lambda value: 0.5 < value <= 1)
_STRENGTH = _number("0 to 1", lambda value: 0 <= value <= 1)
_POSITIVE = _number("over 0", lambda value: 0 < value < math.inf)
_BINS = _one_of(1024, 2048, 4096, 8192)
_LAYER_TYPE = _one_of("Conv", "Gemm", "MatMul", "ConvTranspose", "AveragePool")

_BOTH: dict[str, Table] = {
    "version": _whole(0, 2**31 - 1),
    "batch_num": _whole(1, 2**31 - 1),
    "activation_offset": BOOL,
    "do_fusion": BOOL,
    "skip_fusion_layers": [TEXT],
    "joint_quant": BOOL,
    "fakequant_precision_mode": TEXT,
}

#: config.json, beside its layers.
GLOBAL: dict[str, Table] = {
    **_BOTH,
    "tensor_quantize": Member("[] here: tensors between integers are so, too", lambda value: value == []),
}

#: A layer of config.json.
LAYER: dict[str, Table] = {
    "quant_enable": BOOL,
    "dmq_balancer_param": _STRENGTH,
    "activation_quant_params": {
        "num_bits": _BITS,
        "act_algo": _one_of("ifmr", "hfmg"),
        "max_percentile": _SHARE,
        "min_percentile": _SHARE,
        "search_range": Member("a list of two numbers over 0, the smaller first", _is_range),
        "search_step": _POSITIVE,
        "num_of_bins": _BINS,
        "asymmetric": Member("true, false or null", lambda value: value is None or isinstance(value, bool)),
    },
    "weight_quant_params": {
        "num_bits": _BITS,
        "wts_algo": _only("arq_quantize", "weights have no other algorithm"),
        "channel_wise": BOOL,
    },
}

_DST_TYPE = _only("INT8", "activations have 8 bits")
_CALIBRATION: dict[str, Table] = {
    "arq_quantize": {"channel_wise": BOOL, "num_bits": _BITS, "quant_bits": _BITS, "asymmetric": BOOL},
    "ifmr_quantize": {
        "search_range_start": _POSITIVE,
        "search_range_end": _POSITIVE,
        "search_step": _POSITIVE,
        "max_percentile": _SHARE,
        "min_percentile": _SHARE,
        "num_bits": _BITS,
        "dst_type": _DST_TYPE,
        "asymmetric": BOOL,
    },
    "hfmg_quantize": {"num_of_bins": _BINS, "num_bits": _BITS, "dst_type": _DST_TYPE, "asymmetric": BOOL},
    "dmq_balancer": {"migration_strength": _STRENGTH},
    "weight_compress_only": _only(False, "activations are quantised, too"),
}

_NON_UNIFORM: dict[str, Table] = {
    "mapping_file": TEXT,
    "nuq_quantize": {"num_steps": _one_of(16, 32), "num_of_iteration": _whole(0, 2**31 - 1)},
}
_TENSOR: dict[str, Table] = {
    "layer_name": TEXT,
    "input_index": _whole(0, 2**31 - 1),
    "ifmr_quantize": _CALIBRATION["ifmr_quantize"],
    "hfmg_quantize": _CALIBRATION["hfmg_quantize"],
}

#: A .cfg; what stands in a list may be given many times.
DEFINITION: dict[str, Table] = {
    **_BOTH,
    "skip_layers": [TEXT],
    "skip_layer_types": [_LAYER_TYPE],
    "nuq_config": _NON_UNIFORM,
    "tensor_quantize": [_TENSOR],
    "common_config": _CALIBRATION,
    "conv_calibration_config": _CALIBRATION,
    "fc_calibration_config": _CALIBRATION,
    "override_layer_types": [{"layer_type": _LAYER_TYPE, "calibration_config": _CALIBRATION}],
    "override_layer_configs": [{"layer_name": TEXT, "calibration_config": _CALIBRATION}],
}

#: Members of a .cfg that no object may lack which can have them, and those of which it has one at most.
REQUIRED = ("layer_type", "layer_name", "calibration_config")
EXCLUSIVE = ("ifmr_quantize", "hfmg_quantize")


def check(given: Any, table: Table, name: str, where: str) -> None:
    """Raises AscendError E10001 for the first value in `given`, the member `name` of the file `where`, that
    isn't what the table says."""
    if isinstance(table, Member):
        if not table.holds(given):
            raise AscendError("E10001", given, name, f"It is {table.wanted}.", where=where)
    elif isinstance(table, list):
        if not isinstance(given, list | tuple):
            raise AscendError("E10001", given, name, "It is a list.", where=where)
        for number, each in enumerate(given):
            check(each, table[0], f"{name}[{number}]", where)
    elif not isinstance(given, Mapping):
        members = ", ".join(table)
        raise AscendError("E10001", given, name, f"It is an object with members: {members}.", where=where)
    else:
        for key, value in given.items():
            if key not in table:
                near = did_you_mean(key, table)
                raise AscendError("E10001", key, name, f"It has no such member.{near}", where=where)
            check(value, table[key], f"{name}.{key}" if name else key, where)
