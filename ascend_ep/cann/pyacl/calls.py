"""Python functions for those of C: what comes out is returned, and the code last."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .callbacks import as_callback
from .library import Declaration, ffi, native
from .names import snake_case
from .signatures import Parameter, Role, parameters_of
from .structures import from_dict, is_known, to_dict

_RETURNED = (Role.OUT, Role.OUT_DICT, Role.OUT_LIST, Role.OUT_TEXT)
_NOT_GIVEN = (*_RETURNED, Role.COUNT, Role.LENGTHS)

#: Functions whose last argument may be left out.
_LAST_MAY_LACK = frozenset({"aclInit", "aclprofInit", "aclprofSetConfig"})

#: Functions that also return one of their arguments, before the code.
_RETURN_GIVEN = {
    "aclmdlAddDatasetBuffer": "dataset",
    "aclmdlSetDatasetTensorDesc": "dataset",
    "acldvppVpcBatchCropAsync": "dstBatchPicDescs",
    "acldvppVpcBatchCropAndPasteAsync": "dstBatchPicDescs",
}


def python_function(name: str, called: str, declaration: Declaration) -> Callable[..., Any]:
    """The function `called` of pyACL for a C function. It raises TypeError for arguments of other numbers or
    types.

    Programs call some functions only as the interpreter ends, where nothing can be imported any more.
    """
    result, _ = declaration
    parameters = parameters_of(name, declaration)
    given = [p for p in parameters if p.role not in _NOT_GIVEN]
    required = len(given)
    plain = all(p.role in (Role.NUMBER, Role.ADDRESS) for p in parameters)
    types = [ffi().typeof(p.ctype) for p in parameters] if plain else []
    addresses = [p.role is Role.ADDRESS for p in parameters]

    def check(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        if len(arguments) == required:
            return arguments
        if not required:  # CANN's look at no arguments where they take none
            return ()
        if required - len(arguments) == 1 and name in _LAST_MAY_LACK:
            return (*arguments, None)
        names = ", ".join(snake_case(p.name) for p in given)
        raise TypeError(f"{function.__name__}({names}) takes {required} arguments, not {len(arguments)}")

    def quick(*arguments: Any) -> Any:
        arguments = check(arguments)
        cast = ffi().cast
        values = [
            cast(t, a or 0) if is_address else number(a, t)
            for a, t, is_address in zip(arguments, types, addresses, strict=True)
        ]
        found = native(name)(*values)
        return found if result == "aclError" and back is None else shown(found, arguments)

    def general(*arguments: Any) -> Any:
        arguments = check(arguments)
        call = Call(parameters, arguments)
        found = native(name)(*call.values)
        outs = [call.returned(i) for i, p in enumerate(parameters) if p.role in _RETURNED]
        return (*outs, found) if outs else shown(found, arguments)

    def shown(found: Any, arguments: Sequence[Any]) -> Any:
        if back is not None:
            return arguments[back], found
        return plain_value(found, result)

    names = [p.name for p in given]
    back = names.index(_RETURN_GIVEN[name]) if name in _RETURN_GIVEN else None
    function = quick if plain else general
    function.__name__ = called
    function.__doc__ = f"{name}({', '.join(f'{p.ctype} {p.name}' for p in parameters)})"
    return function


def number(given: Any, kind: Any) -> Any:
    """A number for C: -1 stands for the largest of a type without a sign, as CANN's documents write it."""
    return int(ffi().cast(kind, given)) if isinstance(given, int) and given < 0 else given


def plain_value(found: Any, kind: str) -> Any:
    """A result as Python has it: numbers, text, addresses."""
    if kind == "void":
        return None
    if kind in ("char*", "const char*"):
        return "" if found == ffi().NULL else ffi().string(found).decode("utf-8", "replace")
    if isinstance(found, int | float):
        return found
    return int(ffi().cast("uintptr_t", found))


class Call:
    """The arguments of one call as C takes them, kept until it ends."""

    def __init__(self, parameters: Sequence[Parameter], arguments: Sequence[Any]) -> None:
        self.parameters = parameters
        given = iter(arguments)
        self.given: list[Any] = [None if p.role in _NOT_GIVEN else next(given) for p in parameters]
        self.kept: list[Any] = []
        self.values = [self._value(i, p) for i, p in enumerate(parameters)]

    def _value(self, i: int, parameter: Parameter) -> Any:
        role, argument, types = parameter.role, self.given[i], ffi()
        if role is Role.NUMBER:
            return number(argument, types.typeof(parameter.ctype))
        if role in (Role.ADDRESS, Role.USER_DATA):
            return types.NULL if role is Role.USER_DATA else types.cast(parameter.ctype, argument or 0)
        if role is Role.TEXT:
            return types.NULL if argument is None else self._keep(types.new("char[]", _encoded(argument)))
        if role is Role.TEXT_BYTES:
            return len(_encoded(self.given[i - 1])) if argument is None else argument
        if role is Role.DICT:
            if argument is None:
                return types.NULL
            return self._keep(from_dict(types.typeof(parameter.ctype), argument))
        if role is Role.LIST:
            return self._keep(_array(parameter.ctype, argument, self.kept))
        if role is Role.LISTS:
            return self._lists(parameter.ctype, argument)
        if role is Role.COUNT:
            return self._length(i, parameter)
        if role is Role.LENGTHS:
            return self._keep(
                types.new(f"{parameter.ctype}[]", [len(row) for row in self.given[parameter.of]])
            )
        if role is Role.CALLBACK:
            data = next(
                (self.given[k] for k, p in enumerate(self.parameters) if p.role is Role.USER_DATA), None
            )
            return as_callback(parameter.ctype, argument, data)
        if role is Role.OUT_LIST:
            return self._keep(types.new(f"{parameter.ctype}[]", self._count(parameter)))
        if role is Role.OUT_TEXT:
            room = [n for n in self.given if type(n) is int and 0 < n < 1 << 20]
            return self._keep(types.new("char[]", max(1024, *room) + 1 if room else 1024))
        return self._keep(types.new(f"{parameter.ctype} *"))

    def _length(self, i: int, parameter: Parameter) -> int:
        """The number of elements of the lists that follow a count. Raises ValueError where they differ."""
        count = len(self.given[parameter.of])
        for k in range(i + 1, len(self.parameters)):
            other = self.parameters[k]
            if other.role not in (Role.LIST, Role.LISTS):
                break
            if parameter.of > i and self.given[k] is not None and len(self.given[k]) != count:
                first, second = snake_case(self.parameters[parameter.of].name), snake_case(other.name)
                raise ValueError(f"{first} has {count} elements, {second} {len(self.given[k])}")
        return count

    def _lists(self, ctype: str, argument: Sequence[Sequence[int]]) -> Any:
        """Rows behind each other, or for pointers the address of each row."""
        types = ffi()
        if not ctype.endswith("*"):
            return self._keep(types.new(f"{ctype}[][2]", [list(row) for row in argument]))
        rows = [self._keep(types.new(f"{ctype.removesuffix('*')}[]", list(row))) for row in argument]
        return self._keep(types.new(f"{ctype}[]", rows))

    def _count(self, parameter: Parameter) -> int:
        count = int(self.given[parameter.of])
        scalar = not is_known(ffi().typeof(parameter.ctype))
        return max(count, 2 if scalar else 1)

    def _keep(self, made: Any) -> Any:
        self.kept.append(made)
        return made

    def returned(self, i: int) -> Any:
        """What parameter i came back as."""
        parameter, value = self.parameters[i], self.values[i]
        if parameter.role is Role.OUT_TEXT:
            return ffi().string(value).decode("utf-8", "replace")
        if parameter.role is Role.OUT_DICT:
            return to_dict(value[0])
        if parameter.role is Role.OUT_LIST:
            known = is_known(ffi().typeof(parameter.ctype))
            count = int(self.given[parameter.of])
            return [to_dict(value[k]) if known else int(value[k]) for k in range(count)]
        return plain_value(value[0], parameter.ctype)


def _array(ctype: str, argument: Any, kept: list[Any]) -> Any:
    types = ffi()
    if argument is None:
        return types.NULL
    if ctype == "char*":
        texts = [types.new("char[]", _encoded(text)) for text in argument]
        kept.extend(texts)
        return types.new("char *[]", texts)
    if ctype.endswith("*"):
        return types.new(f"{ctype}[]", [types.cast(ctype, address) for address in argument])
    return types.new(f"{ctype}[]", list(argument))


def _encoded(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode()
