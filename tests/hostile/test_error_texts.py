"""What attackers write into names forges no line, and no terminal obeys it: for every code."""

from __future__ import annotations

import pickle
import unicodedata

import pytest

from ascend_ep.errors import CODES, AscendError

HOSTILE = {
    "a line": "m\nE10000: forged",
    "a line of another kind": "m\rE10000: forged\x0b\x0c\x85\u2028\u2029E10000: forged",
    "a screen that is cleared": "\x1b[2J\x9b2J\x00\x7f",
    "text that turns": "\u202eforged\u202c\u2066\u2069\u200f\u061c",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_argument_forges_a_line(name: str) -> None:
    text = HOSTILE[name]
    for code, entry in CODES.items():
        given = [text] * (entry.template.count("%s") + 1)
        error = AscendError(code, *given, where=text, fix=text, details=[text])
        whole = str(pickle.loads(pickle.dumps(error)))
        first, *others = whole.splitlines()
        assert first.startswith(code)
        assert all(line.startswith("   ") for line in others)
        for said in (whole.replace("\n", ""), error.text, error.where, error.line):
            assert not any(unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") for c in said)
