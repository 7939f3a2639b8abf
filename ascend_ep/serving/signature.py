"""What a served model takes and gives, and whether a request fits it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ascend_ep.errors import AscendError

from .datatypes import BYTES, DTYPES, datatype_of
from .request import Array

Dim = int | str


@dataclass(frozen=True)
class TensorSpec:
    """dims: sizes, or the names of sizes that a request chooses."""

    name: str
    datatype: str
    dims: tuple[Dim, ...]

    @property
    def shape(self) -> list[int]:
        """As the protocol writes it: -1 for a size that a request chooses."""
        return [d if isinstance(d, int) else -1 for d in self.dims]


@dataclass(frozen=True)
class Signature:
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]

    @classmethod
    def of_session(cls, session: Any, where: str) -> Signature:
        """Raises AscendError E50015 when a type isn't one of the protocol's."""
        return cls(
            tuple(_spec(arg, where) for arg in session.get_inputs()),
            tuple(_spec(arg, where) for arg in session.get_outputs()),
        )

    def check(self, given: dict[str, Array]) -> None:
        """Raises AscendError E50004 unless these are the inputs, in type, rank and fixed sizes. Whether
        sizes of one name may differ, the model says."""
        if len(given) != len(self.inputs):
            self._refuse_names(given)
        for spec in self.inputs:
            array = given.get(spec.name)
            if array is None:
                self._refuse_names(given)
            elif array.shape != spec.dims or array.dtype != DTYPES[spec.datatype]:
                _check_tensor(spec, array)

    def check_outputs(self, names: Sequence[str]) -> None:
        """Raises AscendError E50004 for a name that is no output, or is there twice."""
        known = [spec.name for spec in self.outputs]
        for i, name in enumerate(names):
            if name not in known:
                raise AscendError("E50004", name, f"the model has no such output; it has {', '.join(known)}")
            if name in names[:i]:
                raise AscendError("E50004", name, "this output is asked for twice")

    def _refuse_names(self, given: dict[str, Array]) -> None:
        known = [spec.name for spec in self.inputs]
        for name in given:
            if name not in known:
                raise AscendError("E50004", name, f"the model has no such input; it has {', '.join(known)}")
        missing = next(name for name in known if name not in given)
        raise AscendError("E50004", missing, "this input is missing")


def _spec(arg: Any, where: str) -> TensorSpec:
    dims = tuple(d if d is not None else f"{arg.name}_{i}" for i, d in enumerate(arg.shape))
    return TensorSpec(arg.name, datatype_of(arg.type, arg.name, where), dims)


def _check_tensor(spec: TensorSpec, array: Array) -> None:
    if array.dtype != DTYPES[spec.datatype] and not (spec.datatype == BYTES and array.dtype.kind in "OSU"):
        raise AscendError("E50004", spec.name, f"the model takes {spec.datatype}; {_named(array)} was sent")
    if len(array.shape) != len(spec.dims):
        raise AscendError("E50004", spec.name, _takes(spec, array))
    if any(isinstance(dim, int) and dim != size for dim, size in zip(spec.dims, array.shape, strict=True)):
        raise AscendError("E50004", spec.name, _takes(spec, array))


def _named(array: Array) -> str:
    """Its datatype, as clients call it."""
    return next((name for name, dtype in DTYPES.items() if dtype == array.dtype), array.dtype.name)


def _takes(spec: TensorSpec, array: Array) -> str:
    return f"the model takes {list(spec.dims)}; {list(array.shape)} was sent"
