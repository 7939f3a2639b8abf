"""What becomes of each parameter of a C function in Python: given, counted, or returned."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto

from .library import Declaration, ffi
from .structures import is_known


class Role(Enum):
    """NUMBER, ADDRESS, TEXT, DICT, LIST, LISTS, CALLBACK are given; so is USER_DATA, for the callback, and
    TEXT_BYTES, the size of the text before it, unless it is left out. COUNT
    is the length of a list, LENGTHS those of the lists in a list. OUT, OUT_DICT and OUT_TEXT are returned; so
    is OUT_LIST, with as many elements as the parameter after or before it says."""

    NUMBER = auto()
    ADDRESS = auto()
    TEXT = auto()
    TEXT_BYTES = auto()
    DICT = auto()
    LIST = auto()
    LISTS = auto()
    CALLBACK = auto()
    USER_DATA = auto()
    COUNT = auto()
    LENGTHS = auto()
    OUT = auto()
    OUT_DICT = auto()
    OUT_LIST = auto()
    OUT_TEXT = auto()


@dataclass(frozen=True)
class Parameter:
    """ctype: without const; of a list that of an element. of: the place of the list that COUNT or LENGTHS is
    of, or of the number of elements of an OUT_LIST."""

    name: str
    ctype: str
    role: Role
    of: int = -1


#: Parameters whose types don't say it.
_ROLES = {
    ("aclmdlGetInputDynamicDims", "dims"): Role.OUT_LIST,
    ("aclmdlGetInputDimsRange", "dimRange"): Role.OUT_LIST,
    ("aclGetTensorDescDimRange", "dimRange"): Role.OUT_LIST,
    ("aclrtMemGetAllocationGranularity", "prop"): Role.DICT,
    ("aclrtMemSetPidToShareableHandle", "pid"): Role.LIST,
    ("aclrtIpcMemSetImportPid", "pid"): Role.LIST,
    ("acldvppJpegEncodeAsync", "size"): Role.ADDRESS,
    ("acldvppVpcBatchCropAsync", "roiNums"): Role.LIST,
    ("acldvppVpcBatchCropResizeAsync", "roiNums"): Role.LIST,
    ("acldvppVpcBatchCropAndPasteAsync", "roiNums"): Role.LIST,
    ("acldvppVpcBatchCropResizePasteAsync", "roiNums"): Role.LIST,
    ("aclvdecSendFrame", "userData"): Role.USER_DATA,
    ("aclvdecSendSkippedFrame", "userData"): Role.USER_DATA,
    ("aclprofCreateConfig", "deviceIdList"): Role.LIST,
    ("aclprofInit", "length"): Role.TEXT_BYTES,
    ("aclprofSetConfig", "configLength"): Role.TEXT_BYTES,
    ("aclsysGetVersionNum", "pkgName"): Role.TEXT,
    ("aclsysGetVersionStr", "pkgName"): Role.TEXT,
}
#: Functions whose structures come out.
_ASKS = re.compile(r"Get|Query")
_IS_COUNT = re.compile(r"num|count|length$", re.I)
_SCALARS = ("primitive", "enum")


def parameters_of(name: str, declaration: Declaration) -> list[Parameter]:
    """The parameters of a C function, in order, with their roles."""
    result, pairs = declaration
    found = [_parameter(name, kind, called, result == "aclError") for kind, called in pairs]
    for i, parameter in enumerate(found):
        if parameter.role in (Role.LIST, Role.LISTS):
            at = _count_of(found, i)
            if at is not None and found[at].role is Role.NUMBER:
                found[at] = Parameter(found[at].name, found[at].ctype, Role.COUNT, i)
            if parameter.name == "roiNums":
                found[i + 1] = Parameter(found[i + 1].name, found[i + 1].ctype, Role.COUNT, i)
            if parameter.role is Role.LISTS and i and found[i - 1].role is Role.LIST:
                found[i - 1] = Parameter(found[i - 1].name, found[i - 1].ctype, Role.LENGTHS, i)
                found[: i - 1] = [
                    Parameter(p.name, p.ctype, p.role, i) if p.of == i - 1 else p for p in found[: i - 1]
                ]
        elif parameter.role is Role.OUT_LIST:
            at = _count_of(found, i)
            found[i] = Parameter(parameter.name, parameter.ctype, Role.OUT_LIST, -1 if at is None else at)
        elif _is_user_data(parameter) and any(p.role is Role.CALLBACK for p in found[:i]):
            found[i] = Parameter(parameter.name, parameter.ctype, Role.USER_DATA)
    return found


def _is_user_data(parameter: Parameter) -> bool:
    return parameter.ctype == "void*" and parameter.name.lower() in ("userdata", "args")


def _count_of(found: list[Parameter], i: int) -> int | None:
    """The place of the number of elements of list i: before it and the lists it shares it with, or behind."""
    lists = (Role.LIST, Role.LISTS, Role.OUT_LIST)
    before = next((k for k in range(i - 1, -1, -1) if found[k].role not in lists), i)
    for k in (before, i + 1):
        if k != i and k < len(found) and _IS_COUNT.search(found[k].name):
            shared = found[k].role is Role.COUNT and found[k].of > k
            if found[k].role is Role.NUMBER or shared:
                return k
    return None


def _parameter(function: str, kind: str, name: str, has_code: bool) -> Parameter:
    constant, plain = kind.startswith("const "), kind.removeprefix("const ")
    forced = _ROLES.get((function, name))
    if forced is not None:
        is_list = forced in (Role.LIST, Role.OUT_LIST, Role.DICT)
        ctype = plain.removesuffix("*") if is_list else plain
        return Parameter(name, ctype, forced)
    if plain.endswith("[][]"):
        return Parameter(name, plain.removesuffix("[][]"), Role.LISTS)
    if plain.endswith("[]"):
        element = plain.removesuffix("[]")
        is_numbers = element.endswith("*") and ffi().typeof(element.removesuffix("*")).kind in _SCALARS
        return Parameter(name, element, Role.LISTS if is_numbers else Role.LIST)
    if plain == "char*":
        return Parameter(name, plain, Role.TEXT if constant or not has_code else Role.OUT_TEXT)
    if plain == "char**":
        return Parameter(name, "char*", Role.LIST if constant else Role.OUT)
    if not plain.endswith("*"):
        return Parameter(name, plain, _role_of_value(plain))
    target = plain.removesuffix("*")
    if target == "void":
        return Parameter(name, plain, Role.ADDRESS)
    pointed = ffi().typeof(target)
    asks = _ASKS.search(function) is not None
    if is_known(pointed):
        return Parameter(name, target, Role.OUT_DICT if has_code and asks and not constant else Role.DICT)
    if pointed.kind in _SCALARS and function.startswith("aclblas"):  # matrices, on the device
        return Parameter(name, plain, Role.ADDRESS)
    if pointed.kind in _SCALARS and constant:
        return Parameter(name, target, Role.LIST)
    if pointed.kind in ("pointer", "function", *_SCALARS) and has_code and not constant:
        return Parameter(name, target, Role.OUT)
    return Parameter(name, plain, Role.ADDRESS)


def _role_of_value(plain: str) -> Role:
    kind = ffi().typeof(plain)
    if kind.kind == "function":
        return Role.CALLBACK
    return Role.ADDRESS if kind.kind == "pointer" else Role.NUMBER
