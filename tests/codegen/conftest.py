"""Code generation for tests: one formula through both ways of running it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from formula_models import conversion_of, session_of

from ascend_ep.codegen.compilers import has_compiler

Formula = Callable[..., tuple[list[np.ndarray], list[np.ndarray]]]


@pytest.fixture(scope="session", autouse=True)
def places(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The trust store is the tests' own."""
    folder = tmp_path_factory.mktemp("codegen")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASCEND_EP_TRUST", str(folder / "trust"))
        patch.delenv("ASCEND_EP_CODEGEN", raising=False)
        yield folder


@pytest.fixture
def compiler() -> None:
    if not has_compiler():
        pytest.skip("there is no C compiler")


@pytest.fixture
def both(tmp_path: Path, compiler: None) -> Formula:
    """Outputs of a formula, compiled and interpreted."""

    def run(
        formula: str, inputs: dict[str, np.ndarray], output_types: Sequence[int], shapes: Sequence[Any]
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        given = (formula, inputs, output_types, shapes)
        compiled = conversion_of(tmp_path, "always", *given)
        (part,) = compiled.plan.partitions
        assert [i.native is not None for i in part.insns] == [True]
        interpreted = conversion_of(tmp_path, "off", *given)
        return session_of(compiled).run(None, inputs), session_of(interpreted).run(None, inputs)

    return run
