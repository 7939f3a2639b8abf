"""The stand-ins by the names that files import, as long as Importing is entered."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from ascend_ep.errors import did_you_mean
from ascend_ep.frontends.tbe.toolkit.names import FRAMEWORKS, LINKS, TABLE
from ascend_ep.frontends.tbe.toolkit.unknown import Unknown

ROOTS = ("te", "tbe", "tvm", "topi", "impl", "ops_nn", *FRAMEWORKS)


#: Modules of the toolkit itself in impl.
_SHARED = ("impl.util", "impl.common_util", "impl.constant_util")


class StandIn(ModuleType):
    """A module of the table, or one that isn't known. Its submodules don't replace names it has."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (isinstance(value, ModuleType) and name in TABLE.get(self.__name__, {})):
            super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if any(isinstance(f, Finder) and f.has(f"{self.__name__}.{name}") for f in sys.meta_path):
            return import_module(f"{self.__name__}.{name}")
        table = TABLE.get(self.__name__, {})
        if "__missing__" in table:
            with suppress(AttributeError):
                return table["__missing__"](name)
        return Unknown(f"{self.__name__}.{name}", did_you_mean(name, table), _is_operator(self.__name__))


def _is_operator(module: str) -> bool:
    """Whether a module would be another operator's file: in the folder impl, but for what all share."""
    return f"{module}.".startswith("impl.") and not module.startswith(_SHARED)


class Finder(MetaPathFinder, Loader):
    """Finds the modules of the table; others of these packages are modules whose names aren't known."""

    def __init__(self, file: Path) -> None:
        #: The folder `impl` that the file lies in, else its own: other operators can be imported from there.
        self.impl = [str(p) for p in file.resolve().parents if p.name == "impl"][:1]
        self.impl = self.impl or [str(file.resolve().parent)]
        self.file = file.resolve()

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: Any = None
    ) -> ModuleSpec | None:
        if name.partition(".")[0] not in ROOTS or (name not in TABLE and self.beside(name)):
            return None
        return ModuleSpec(name, self, is_package=True)

    def has(self, name: str) -> bool:
        """Whether there is such a module, known or beside the file."""
        return name in TABLE or self.beside(name)

    def beside(self, name: str) -> bool:
        """Whether the file's own folder `impl` has this module."""
        parts = name.split(".")[1:]
        if not name.startswith("impl."):
            return False
        files = [Path(folder, *parts[:-1], f"{parts[-1]}.py") for folder in self.impl]
        return any(Path(folder, *parts).is_dir() for folder in self.impl) or any(
            f.is_file() and f != self.file for f in files
        )

    def create_module(self, spec: ModuleSpec) -> StandIn:
        return StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        if module.__name__.partition(".")[0] == "impl":
            module.__path__ = [str(Path(p, *module.__name__.split(".")[1:])) for p in self.impl]
        for name, value in TABLE.get(module.__name__, {}).items():
            if name != "__missing__":
                ModuleType.__setattr__(module, name, value)
        for name, linked in LINKS.get(module.__name__, {}).items():
            ModuleType.__setattr__(module, name, import_module(linked))


class Importing:
    """While entered, the stand-ins are what `import te` and its like give."""

    def __init__(self, file: Path) -> None:
        self.finder = Finder(file)

    def __enter__(self) -> Importing:
        sys.meta_path.insert(0, self.finder)
        return self

    def __exit__(self, *_error: object) -> None:
        sys.meta_path.remove(self.finder)
        for name in [m for m in sys.modules if m.partition(".")[0] in ROOTS]:
            del sys.modules[name]
