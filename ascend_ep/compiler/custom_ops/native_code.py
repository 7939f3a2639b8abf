"""The library that computes an operator: as its definition gives it, or made of its source or object.

A source is C or C++ that exports asc_get_custom_op (ascend_rt.h), as a library does. What is made of it is
kept in the user's cache.
"""

from __future__ import annotations

from pathlib import Path

from ascend_ep.codegen.compiled_library import compile_source, link_object
from ascend_ep.errors import AscendError
from ascend_ep.opdef.definition import Library, OpDef, Source

_LANGUAGES = {".c": "c", ".cc": "c++", ".cpp": "c++", ".cxx": "c++"}


def library_of(opdef: OpDef) -> Path:
    """The shared library of an operator whose semantics are a library or a source.

    Raises AscendError E41010 for a source in another language, and what compile_library does.
    """
    semantics = opdef.semantics
    assert isinstance(semantics, Library | Source)
    if isinstance(semantics, Source):
        return _compiled(semantics.path, opdef)
    return link_object(semantics.path) if semantics.path.suffix == ".o" else semantics.path


def _compiled(path: Path, opdef: OpDef) -> Path:
    language = _LANGUAGES.get(path.suffix)
    if language is None:
        reason = f"a source is C or C++ ({', '.join(_LANGUAGES)})"
        fix = f"Build it with `ascend-op build {path.name}`, which writes a definition."
        raise AscendError("E41010", path, reason, where=opdef.origin, fix=fix)
    return compile_source(path, language)
