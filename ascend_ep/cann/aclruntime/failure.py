"""What aclruntime raises."""

from __future__ import annotations

from ascend_ep.errors import AscendError


class Failure(AscendError, RuntimeError):
    """An AscendError that programs catch as aclruntime's RuntimeError."""

    @classmethod
    def of(cls, error: AscendError) -> Failure:
        """The same failure, to be caught as either."""
        made = cls.__new__(cls, str(error))
        made.__dict__.update(error.__dict__)
        return made
