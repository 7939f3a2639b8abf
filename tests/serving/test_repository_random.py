"""Random changes of a model's folder, loads and unloads, beside a model of what must be served after each."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest
from reloading import answer, entry, place
from running import Running

from ascend_ep.errors import AscendError
from ascend_ep.serving.settings import Settings

BROKEN = 0.0


@dataclass
class Expected:
    """there: the factor of each version's bundle in the folder, BROKEN for one that can't be loaded. served:
    those that answer."""

    there: dict[int, float] = field(default_factory=dict)
    served: dict[int, float] = field(default_factory=dict)

    def load(self) -> bool:
        """The policy is the latest version; whether it can be loaded."""
        if not self.there:
            self.served.clear()
            return False
        latest = max(self.there)
        good = self.there[latest] != BROKEN
        if good:
            self.served[latest] = self.there[latest]
        if latest in self.served:
            self.served = {latest: self.served[latest]}
        return good


@pytest.mark.parametrize("seed", range(3))
def test_any_order_of_changes(
    tmp_path: Path, bundles: dict[float, bytes], seed: int, pytestconfig: pytest.Config
) -> None:
    random, expected = Random(seed), Expected()
    (tmp_path / "m").mkdir()
    settings = Settings(tmp_path, http_port=0, model_control_mode="explicit")
    with Running(settings) as running:
        repository = running.server.repository
        for _ in range(1000 if pytestconfig.getoption("--slow") else 50):
            version = random.randint(1, 3)
            what = random.choice(("put", "put", "break", "cut", "delete", "load", "load", "unload"))
            if what in ("put", "break", "cut"):
                factor = random.choice(list(bundles))
                body = bytearray(bundles[factor])
                if what == "break":
                    body[random.randrange(len(body))] ^= 1 << random.randrange(8)
                elif what == "cut":
                    del body[random.randrange(len(body)) :]
                place(tmp_path, "m", version, bytes(body))
                expected.there[version] = factor if what == "put" else BROKEN
            elif what == "delete":
                shutil.rmtree(tmp_path / "m" / str(version), ignore_errors=True)
                expected.there.pop(version, None)
            elif what == "load":
                good = expected.load()
                assert loaded(running) is good, (seed, expected)
            elif "m" in repository.models:
                running.call(repository.unload_model("m"))
                expected.served.clear()
            check(running, expected)


def loaded(running: Running) -> bool:
    try:
        running.call(running.server.repository.load_model("m"))
    except AscendError as error:
        return error.code != "E50040"
    return True


def check(running: Running, expected: Expected) -> None:
    model = running.server.repository.models.get("m")
    assert sorted(model.versions if model else ()) == sorted(expected.served)
    if expected.served:
        assert answer(running, "m") == expected.served[max(expected.served)]
    for version, factor in expected.served.items():
        assert answer(running, "m", str(version)) == factor
        assert entry(running, "m", version).state == "READY"
