"""--op_select_implmode, --optypelist_for_implmode and --op_precision_mode: which implementation computes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ascend_ep.cli.atc_log import warn
from ascend_ep.cli.atc_precision import config_lines, line_refusal
from ascend_ep.errors import AscendError, did_you_mean

if TYPE_CHECKING:
    from ascend_ep.compiler.precision.implementation_modes import FastOperators

Given = Mapping[str, str]

FAST, EXACT = "high_performance", "high_precision"
FLOAT32, REDUCED = "enable_float_32_execution", "enable_hi_float_32_execution"
IN_RANGE, NORM = "support_out_of_bound_index", "norm_class"
MODES = (FAST, EXACT, FLOAT32, REDUCED, IN_RANGE, NORM)
SECTIONS = ("ByOpType", "ByNodeName")


@dataclass
class Asked:
    """What the flags ask of operators and of nodes by name: `fast` ones, and ones that `keep` float32."""

    fast_types: set[str] = field(default_factory=set)
    fast_names: set[str] = field(default_factory=set)
    keep_types: set[str] = field(default_factory=set)
    keep_names: set[str] = field(default_factory=set)

    def fast(self) -> FastOperators:
        from ascend_ep.compiler.precision.implementation_modes import FastOperators

        return FastOperators(frozenset(self.fast_types), frozenset(self.fast_names))


def implementations(given: Given) -> Asked:
    """Raises AscendError E10056 for flags that exclude each other, E10001 for what they say wrong."""
    listed = [name.strip() for name in given.get("optypelist_for_implmode", "").split(",") if name.strip()]
    mode = given.get("op_select_implmode", "")
    if given.get("op_precision_mode") and mode:
        raise AscendError("E10056", "--op_precision_mode", "--op_select_implmode")
    if listed and not mode:
        reason = "It is used together with --op_select_implmode."
        raise AscendError("E10001", given["optypelist_for_implmode"], "--optypelist_for_implmode", reason)
    if path := given.get("op_precision_mode"):
        return _from_file(given, path)
    if not mode.startswith(FAST):
        return Asked()
    from ascend_ep.compiler.precision.implementation_modes import GELU, PRODUCTS, has_fast_form

    for name in listed:
        if not has_fast_form(name):
            warn(given, f"--optypelist_for_implmode: {name} has one implementation here, of high precision.")
    everything = {GELU, *PRODUCTS} if mode != FAST else {GELU}
    return Asked(fast_types=set(listed) or everything)


def _from_file(given: Given, path: str) -> Asked:
    """Lines `name=mode`, of operators, or of nodes after [ByNodeName]."""
    from ascend_ep.compiler.precision.implementation_modes import has_fast_form

    flag = "--op_precision_mode"
    asked, by_name = Asked(), False
    for number, line in config_lines(path, flag):
        if line.startswith("["):
            if line.strip("[]") not in SECTIONS:
                known = ", ".join(f"[{s}]" for s in SECTIONS)
                raise line_refusal(path, flag, number, f"{line[:60]} is none of {known}")
            by_name = line.strip("[]") == SECTIONS[1]
            continue
        name, equals, mode = (part.strip() for part in line.partition("="))
        if not equals or not name:
            raise line_refusal(path, flag, number, f"{line[:60]!r} is not of the form name=mode")
        if mode not in MODES:
            reason = f"{mode!r} is none of {', '.join(MODES)}{did_you_mean(mode, MODES)}"
            raise line_refusal(path, flag, number, reason)
        if mode in (FAST, REDUCED):
            (asked.fast_names if by_name else asked.fast_types).add(name)
            if not by_name and not has_fast_form(name):
                warn(given, f"{flag}: {name} has one implementation here, of high precision.")
        elif mode == FLOAT32:
            (asked.keep_names if by_name else asked.keep_types).add(name)
        elif mode == IN_RANGE:
            warn(given, f"{flag}: {name}={mode} changes nothing: indices are always checked here.")
        elif mode == NORM:
            warn(given, f"{flag}: {name}={mode} changes nothing: it chooses among the device's kernels.")
    return asked
