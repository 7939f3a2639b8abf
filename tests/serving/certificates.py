"""Certificates for the tests, made by the command openssl."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest


def authority(folder: Path, name: str) -> Path:
    """A certificate that signs others, its key beside it as .key."""
    _openssl(
        *("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
        *("-days", "2", "-subj", f"/CN={name}"),
        *("-keyout", folder / f"{name}.key", "-out", folder / f"{name}.pem"),
    )
    return folder / f"{name}.pem"


def signed(folder: Path, name: str, by: Path) -> Path:
    """A certificate for localhost and 127.0.0.1, its key beside it as .key."""
    extensions = folder / f"{name}.ext"
    extensions.write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    request = folder / f"{name}.csr"
    _openssl(
        *("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
        *("-subj", f"/CN={name}", "-keyout", folder / f"{name}.key", "-out", request),
    )
    _openssl(
        *("x509", "-req", "-in", request, "-CA", by, "-CAkey", by.with_suffix(".key"), "-CAcreateserial"),
        *("-days", "2", "-extfile", extensions, "-out", folder / f"{name}.pem"),
    )
    return folder / f"{name}.pem"


def _openssl(*arguments: str | Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("the command openssl isn't there")
    made = subprocess.run(["openssl", *arguments], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
