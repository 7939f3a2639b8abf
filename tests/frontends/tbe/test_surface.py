"""The names of the toolkit that public operator files use (api_surface.txt): each has a stand-in, or, marked
with a minus, is refused by its name with a reason. Names are facts; no text of those files is here."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ascend_ep.frontends.tbe.toolkit.failure import Inexpressible
from ascend_ep.frontends.tbe.toolkit.modules import Importing
from ascend_ep.frontends.tbe.toolkit.names import TABLE
from ascend_ep.frontends.tbe.toolkit.unknown import Unknown, reason

LINES = (Path(__file__).parent / "api_surface.txt").read_text().splitlines()
SURFACE = [(line.partition(": ")[0], line.partition(": ")[2].split()) for line in LINES]


def value(module: str, name: str) -> Any:
    """What `from module import name` gives, or the attribute of what isn't a module."""
    parts = [*module.split("."), name]
    known = max(i for i in range(1, len(parts) + 1) if i == 1 or ".".join(parts[:i]) in TABLE)
    found: Any = import_module(".".join(parts[:known]))
    for part in parts[known:]:
        found = getattr(found, part, Unknown(".".join(parts)))
    return found


@pytest.mark.parametrize(("module", "names"), SURFACE, ids=[m for m, _ in SURFACE])
def test_each_name_is_supported_or_refused(module: str, names: list[str], tmp_path: Path) -> None:
    with Importing(tmp_path / "operator.py"):
        for marked in names:
            name = marked.removeprefix("-")
            found = value(module, name)
            assert marked == name or not isinstance(found, ModuleType), name
            if marked == name:
                assert not isinstance(found, Unknown), f"{module}.{name}"
                continue
            with pytest.raises(Inexpressible) as raised:
                found()
            assert name in str(raised.value)
            assert "doesn't know" not in str(raised.value), f"{module}.{name} is refused without a reason"


def test_there_is_enough_of_both() -> None:
    names = [n for _, listed in SURFACE for n in listed]
    assert len(names) > 690
    assert sum(n.startswith("-") for n in names) < 200


@pytest.mark.parametrize(
    "use", ["{0}()", "{0} + 1", "-{0}", "if {0}: pass", "len({0})", "{0}[0]", "list({0})"]
)
def test_every_use_of_an_unknown_name_is_refused(use: str) -> None:
    with pytest.raises(Inexpressible, match=r"what tbe\.dsl\.vnothing\.more does"):
        exec(use.format("u.more"), {"u": Unknown("tbe.dsl.vnothing")})


def test_what_unknown_names_allow() -> None:
    """A file's own class, a check of a type, and a name that isn't used."""
    unknown = Unknown("tbe.tvm.tir.expr.Var")
    space: dict[str, Any] = {"u": unknown}
    exec("class Own(u):\n    pass\nfound = isinstance(1, u.Var)\ntable = {u: 1}", space)
    assert space["Own"]() is not None
    assert space["found"] is False
    assert reason("tbe.dsl.vadd") == ""
