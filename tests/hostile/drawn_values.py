"""Numbers and names that attackers write in the place of right ones."""

from __future__ import annotations

WHOLE = (0, -1, 1, 2**16, 2**31 - 1, 2**31, -(2**31), 2**32, 2**62, 2**63 - 1, -(2**63))
FLOATS = (float("nan"), float("inf"), float("-inf"), 0.0, -1.0, 1e-45, 3.4e38, -3.4e38)
NAMES = (
    "",
    " ",
    "a" * 5000,
    "../../x",
    "/etc/passwd",
    "m\nE10000: forged",
    "\x1b[2J",
    "\u202egnp",
    "%s%n",
    "${HOME}",
    "__import__('os').abort()",
    "a;b",
    "a:b",
    "x\x00y",
    "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"),
)
