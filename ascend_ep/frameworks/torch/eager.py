"""One operator on plain tensors: what a call of these types, sizes and attributes runs is found once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ascend_ep.frameworks import runner
from ascend_ep.frameworks.described import Operand
from ascend_ep.frameworks.torch import tensors
from ascend_ep.frameworks.torch.schema import given, gives_a_list, separated, takes_a_list
from ascend_ep.opdef.attributes import with_elements
from ascend_ep.opdef.definition import OpDef

#: Ways to call that one operator keeps; beyond them, all are found again.
MOST_KNOWN = 1024
#: What runs elements at addresses, the positions of the tensors that have them, and whose it is.
Way = tuple[Callable[..., list[Any]], tuple[int, ...], Any]


class EagerCall:
    """The function of an operator: inputs, then attributes by the names in `attributes`. Trailing ones that
    have their defaults may be missing, as PyTorch leaves them out."""

    def __init__(self, opdef: OpDef, attributes: Sequence[str]) -> None:
        import torch

        self.opdef = opdef
        self.count = len(opdef.inputs)
        self.attributes = tuple(attributes)
        self.takes_a_list = takes_a_list(opdef)
        self.gives_a_list = gives_a_list(opdef)
        self.single = len(opdef.outputs) == 1 and not self.gives_a_list
        self.from_numpy = torch.from_numpy
        self.ways: dict[Any, Way] = {}

    def __call__(self, *args: Any) -> Any:
        count = self.count
        if self.takes_a_list:
            tensors, rest = separated(self.opdef, args)
            count, args = len(tensors), (*tensors, *rest)
        key: Any = args[count:]
        held = []  # until it has run
        addresses = []
        try:
            for a in args[:count]:  # without a frame for a comprehension
                key = (key, None) if a is None else (key, a.dtype, a.shape)
            run, fed, _ = self.ways[key]
            for i in fed:
                a = args[i]
                if not a.is_contiguous():
                    a = a.contiguous()
                    held.append(a)
                address = a.data_ptr()
                if not address or a.is_neg():
                    return self.otherwise(key, args[:count], args[count:])
                addresses.append(address)
        except (KeyError, TypeError, RuntimeError):  # no way yet; lists; tensors without addresses
            return self.otherwise(key, args[:count], args[count:])
        made = run(*addresses)
        if self.single:
            return self.from_numpy(made[0])
        results = [self.from_numpy(y) for y in made]
        return results if self.gives_a_list else tuple(results)

    def otherwise(self, key: Any, inputs: Sequence[Any], rest: Sequence[Any]) -> Any:
        """The results by the way of every tensor; the short way is known from now on, where there is one."""
        known = given(self.attributes, rest)
        results = tensors.run(self.opdef, inputs, known)
        if tensors.are_numpys([*inputs, *results]) and not any(isinstance(value, list) for value in rest):
            way = self.way(inputs, known)
            if way is not None:
                if len(self.ways) >= MOST_KNOWN:
                    self.ways.clear()
                self.ways[key] = way
        if self.single:
            return results[0]
        return results if self.gives_a_list else tuple(results)

    def way(self, inputs: Sequence[Any], known: Mapping[str, Any]) -> Way | None:
        """None where the reference computes, or elements decide what is run."""
        arrays = [None if t is None else tensors.array_of(t, self.opdef.op) for t in inputs]
        if tensors.is_wide(self.opdef, inputs):
            return None
        if with_elements(self.opdef, arrays, known) != known:
            return None
        operands = tuple(None if a is None else Operand.of(a, self.opdef.op) for a in arrays)
        found = runner.session_of(self.opdef, operands, known)
        if found is None or found.constants or any(a is not None and not a.size for a in arrays):
            return None
        direct = found.direct()
        if direct is None:
            return None
        run, names = direct
        return run, tuple(int(name[1:]) for name in names), found.session
