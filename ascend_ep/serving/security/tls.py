"""TLS of both front ends, from files that may be replaced while the server runs."""

from __future__ import annotations

import ssl
from pathlib import Path

from ascend_ep.errors import AscendError


class Tls:
    """certificate: PEM, with the chain behind it; client_ca: PEM of whom clients' certificates must be
    signed by, None when clients need none. Raises AscendError E50034 for files that aren't that."""

    def __init__(self, certificate: Path, key: Path, client_ca: Path | None = None) -> None:
        self._certificate, self._key, self._client_ca = certificate, key, client_ca
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self.context.set_alpn_protocols(["http/1.1"])
        self.reload()

    def reload(self) -> None:
        """Reads the files again: for connections from now on. Raises AscendError E50034, with the old ones
        in force."""
        probe = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        for context in (probe, self.context):
            try:
                context.load_cert_chain(self._certificate, self._key, password=_no_password)
            except (OSError, ValueError) as error:
                raise AscendError(
                    "E50034", self._certificate, "ssl-certificate-file", _reason(error)
                ) from error
            if self._client_ca is None:
                continue
            try:
                context.load_verify_locations(self._client_ca)
            except (OSError, ValueError) as error:
                raise AscendError("E50034", self._client_ca, "ssl-client-ca-file", _reason(error)) from error
            context.verify_mode = ssl.CERT_REQUIRED
        ca = None if self._client_ca is None else self._client_ca.read_bytes()
        #: key, certificate and the clients' authority, as gRPC takes them
        self.pem: tuple[bytes, bytes, bytes | None] = (
            self._key.read_bytes(),
            self._certificate.read_bytes(),
            ca,
        )


def _no_password() -> str:
    raise ValueError("the key has a password, which a server can't ask for")


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        known = {"KEY_VALUES_MISMATCH": "the certificate and the key don't belong together"}
        return known.get(error.reason or "", "certificate or key is no PEM of its kind")
    return str(getattr(error, "strerror", None) or error)
