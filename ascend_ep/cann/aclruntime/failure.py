"""What aclruntime raises."""

from __future__ import annotations

from collections.abc import Mapping

from ascend_ep.errors import AscendError


class Failure(AscendError, RuntimeError):
    """An AscendError that programs catch as aclruntime's RuntimeError."""

    def __reduce__(self) -> tuple[object, ...]:
        """As it is, in another process, too."""
        return _restored, (str(self), dict(self.__dict__))

    @classmethod
    def of(cls, error: AscendError) -> Failure:
        """The same failure, to be caught as either."""
        return _restored(str(error), error.__dict__)


def _restored(text: str, state: Mapping[str, object]) -> Failure:
    made = Failure.__new__(Failure, text)
    made.__dict__.update(state)
    return made
