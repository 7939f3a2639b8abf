"""Which definition a node means: the places definitions come from, in order, and what each contributes.

The order: a library given with --custom_op; definitions given with --custom_op_info; the folder
$ASCEND_CUSTOM_OPS; installed packages (packages.py); the functions of the model itself (`beside`); the
built-in op_schemas. A definition without semantics of its own (the short form `{"op","input_num",
"output_num","attr"}`, or an msopgen prototype) declares the operator and takes its semantics from the next
place that has them.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ascend_ep.errors import AscendError, nearest
from ascend_ep.opdef.declarations import complete
from ascend_ep.opdef.definition import OWN_DOMAIN, OpDef, canonical_domain
from ascend_ep.opdef.installed import Unused
from ascend_ep.opdef.library import library_definition, parse_custom_op, separate
from ascend_ep.opdef.loader import load_definitions
from ascend_ep.opdef.packages import PackagePlace, vendor_folders
from ascend_ep.opdef.places import BuiltinPlace, FolderPlace, GivenPlace, Place

ENVIRONMENT_VARIABLE = "ASCEND_CUSTOM_OPS"


@dataclass(frozen=True)
class Resolved:
    """A complete definition (its semantics are set), and the sentence saying where it comes from.

    `place` and `definition`: the place that gives the semantics, and its definition.
    """

    opdef: OpDef
    source: str
    place: str
    definition: OpDef


class Registry:
    """All definitions in force for one conversion or session."""

    def __init__(
        self,
        *,
        libraries: Mapping[str, str | Path] | None = None,
        definitions: Iterable[OpDef] = (),
        folder: str | Path | None = None,
        packages: Iterable[Path] = (),
        builtin: bool = True,
    ) -> None:
        """`libraries`: operator type (or domain::Type) to shared library; `folder` None: none installed;
        `packages`: vendors' folders."""
        opened = [library_definition(name, Path(path)) for name, path in (libraries or {}).items()]
        self._libraries = GivenPlace("--custom_op", opened)
        self._given = GivenPlace("--custom_op_info", definitions)
        self._folder = FolderPlace(f"${ENVIRONMENT_VARIABLE}", None if folder is None else Path(folder))
        self._builtin = BuiltinPlace("built-in", builtin)
        self._packages = PackagePlace(packages)
        self._places: tuple[Place, ...] = (
            self._libraries,
            self._given,
            self._folder,
            self._packages,
            self._builtin,
        )
        self._functions: frozenset[tuple[str, str]] = frozenset()
        self._resolved: dict[tuple[str, str, int], Resolved | None] = {}

    @classmethod
    def from_options(
        cls,
        custom_op: Sequence[str] = (),
        custom_op_info: Sequence[str | Path] = (),
        environ: Mapping[str, str] = os.environ,
    ) -> Registry:
        """From `Type:LIBRARY` texts, definition files and $ASCEND_CUSTOM_OPS. A text may be several of
        either, separated by semicolons, as ascend-atc and the provider's options have them."""
        texts = [[text] if isinstance(text, Path) else separate(text) for text in custom_op_info]
        definitions = [d for paths in texts for path in paths for d in load_definitions(path)]
        folder = environ.get(ENVIRONMENT_VARIABLE) or None
        return cls(
            libraries=dict(parse_custom_op(item) for text in custom_op for item in separate(text) or [text]),
            definitions=definitions,
            folder=folder,
            packages=vendor_folders(environ),
        )

    def beside(self, functions: Collection[tuple[str, str]]) -> Registry:
        """The same for a model with these functions of its own, as (domain, type): built-in definitions for
        any domain leave them alone, since only the body says what the model's author means by the name; so do
        declarations without semantics, which the body has."""
        theirs = {(canonical_domain(domain), name) for domain, name in functions if domain != OWN_DOMAIN}
        if theirs <= self._functions:
            return self
        other = copy.copy(self)
        other._functions = self._functions | theirs
        other._resolved = {}
        return other

    def resolve(self, domain: str, op_type: str, version: int) -> Resolved | None:
        """The definition of a node (`version`: the model's opset of its domain); None when no place knows it.

        Raises AscendError: E41009 when it is declared and nothing gives semantics, E41006 when a
        declaration contradicts what gives its semantics, and whatever is wrong with a file read on the way.
        """
        key = (canonical_domain(domain), op_type, version)
        if key not in self._resolved:
            self._resolved[key] = self._resolve(*key)
        return self._resolved[key]

    def __contains__(self, node: tuple[str, str, int]) -> bool:
        return self.resolve(*node) is not None

    def is_given(self, domain: str, op_type: str, version: int) -> bool:
        """Whether the user defines or declares it, in any place before the built-in ones."""
        domain = canonical_domain(domain)
        return any(p.find(domain, op_type, version) for p in self._places if p is not self._builtin)

    def _resolve(self, domain: str, op_type: str, version: int) -> Resolved | None:
        library = self._libraries.find(domain, op_type, version)
        if library is not None:
            return self._with_library(library, domain, op_type, version)
        declared: OpDef | None = None
        is_function = (domain, op_type) in self._functions
        for place in (self._given, self._folder, self._packages, self._builtin):
            found = place.find(domain, op_type, version)
            if found is None or (place is self._builtin and is_function and found.domain is None):
                continue
            if found.semantics is None:
                declared = declared or found
                continue
            source = f"{place.name} ({found.origin})"
            if declared is None:
                return Resolved(found, source, place.name, found)
            source = f"{source}, declared in {declared.origin}"
            return Resolved(complete(declared, found), source, place.name, found)
        if declared is None or is_function:
            return None
        looked = self.explain(domain, op_type, version)
        raise AscendError("E41009", op_type, where=declared.origin, details=looked)

    def shadowed(self, domain: str, op_type: str, version: int) -> list[tuple[str, OpDef]]:
        """What the node would mean without the definition that it has: the other definitions with semantics
        of their own in later places, nearest first, each with where it is. Raises what resolve raises."""
        domain = canonical_domain(domain)
        found = self.resolve(domain, op_type, version)
        names = [place.name for place in self._places]
        later = self._places[names.index(found.place) + 1 :] if found else ()
        others = []
        for place in later:
            other = place.find(domain, op_type, version)
            hidden = place is self._builtin and (domain, op_type) in self._functions
            if found and other and other.semantics and not hidden and not means_same(found.opdef, other):
                others.append((f"{place.name} ({other.origin})", other))
        return others

    def unused(self) -> list[Unused]:
        """The files in $ASCEND_CUSTOM_OPS that no operator is taken from, each with the reason."""
        return self._folder.unused()

    def _with_library(self, library: OpDef, domain: str, op_type: str, version: int) -> Resolved:
        """A library computes; a user's definition, when there is one, names its tensors and attributes.

        The built-in definition of the same name isn't used: the library may have another interface.
        """
        source = f"--custom_op ({library.origin})"
        for place in (self._given, self._folder, self._packages):
            found = place.find(domain, op_type, version)
            if found is not None and (found.inputs or found.outputs):
                opdef = replace(found, semantics=library.semantics, shape={})
                source = f"{source}, declared in {found.origin}"
                return Resolved(opdef, source, self._libraries.name, library)
        return Resolved(library, source, self._libraries.name, library)

    def definitions(self) -> list[tuple[str, OpDef]]:
        """Every definition with the name of its place, in resolution order, for listings."""
        return [(place.name, opdef) for place in self._places for opdef in place.all()]

    def near_misses(self, domain: str, op_type: str, version: int) -> list[str]:
        """What an unknown operator may have been meant to be: the same type elsewhere, then similar types."""
        names: dict[str, list[OpDef]] = {}
        for _, opdef in self.definitions():
            names.setdefault(opdef.op, []).append(opdef)
        result = []
        for name in dict.fromkeys([*([op_type] if op_type in names else []), *nearest(op_type, names)]):
            for opdef in names[name]:
                since = f" since version {opdef.since_version}" if opdef.since_version else ""
                result.append(f"{opdef.full_name}{since}")
        return list(dict.fromkeys(result))

    def explain(self, domain: str, op_type: str, version: int) -> list[str]:
        """One line for every place in order: what was looked for there, and what was found."""
        return [f"{place.name}: {place.describe(domain, op_type, version)}" for place in self._places]


def means_same(a: OpDef, b: OpDef) -> bool:
    """Whether two definitions say the same of what is computed."""
    return (a.semantics, a.inputs, a.attributes) == (b.semantics, b.inputs, b.attributes)
