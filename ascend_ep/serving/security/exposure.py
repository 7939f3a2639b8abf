"""Whether an address can be reached from other machines."""

from __future__ import annotations

import ipaddress


def is_local(address: str) -> bool:
    """Whether only this machine reaches it; a name other than localhost is taken to be reachable."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"
