"""Bearer tokens: which requests are let in."""

from __future__ import annotations

import hashlib
import hmac
import re
from pathlib import Path

from ascend_ep import regular_file
from ascend_ep.errors import AscendError

_SHORTEST = 16
_HASHED = re.compile(r"sha256:([0-9a-fA-F]{64})")
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]+")


class Tokens:
    """A file with a token a line, or `sha256:` and the digest of one in hex; empty lines and lines that begin
    with # are skipped. Only digests are kept. Raises AscendError E50034 for a file that can't be read, has no
    token, or has one that is short or isn't what a header can hold."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._digests: tuple[bytes, ...] = ()
        self.reload()

    def reload(self) -> None:
        """Reads the file again. Raises AscendError E50034, with the old tokens in force."""
        try:
            lines = regular_file.read(self._path).decode("ascii").splitlines()
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "it isn't ASCII"
            raise AscendError("E50034", self._path, "auth-token-file", reason) from error
        digests = [
            self._digest(number, line.strip())
            for number, line in enumerate(lines, 1)
            if line.strip() and not line.startswith("#")
        ]
        if not digests:
            raise AscendError("E50034", self._path, "auth-token-file", "it has no token")
        self._digests = tuple(digests)

    def admit(self, authorization: str) -> bool:
        """Whether the value of an authorization header, "" for none, has one of the tokens: in a time that
        doesn't depend on how much of one is right."""
        scheme, _, token = authorization.partition(" ")
        digest = hashlib.sha256(token.strip().encode("latin-1", "replace")).digest()
        known = False
        for allowed in self._digests:
            known |= hmac.compare_digest(digest, allowed)
        return known and scheme.lower() == "bearer"

    def require(self, authorization: str) -> None:
        """Raises AscendError E50011 unless that is admitted."""
        if not self.admit(authorization):
            raise AscendError("E50011")

    def _digest(self, number: int, line: str) -> bytes:
        hashed = _HASHED.fullmatch(line)
        if hashed:
            return bytes.fromhex(hashed[1])
        if len(line) < _SHORTEST or not _TOKEN.fullmatch(line):
            reason = f"the token of line {number} is no {_SHORTEST} letters, digits and -._~+/= or more"
            raise AscendError("E50034", self._path, "auth-token-file", reason)
        return hashlib.sha256(line.encode()).digest()
