"""The definition that a compiled operator carries: its JSON, in a section of the object file or library.

So a `.o` or `.so` that was copied alone still says which operator it is, and what that computes.
"""

from __future__ import annotations

import json

from ascend_ep.opdef.definition import OpDef
from ascend_ep.opdef.definition_json import definition_map
from ascend_ep.opdef.elf_file import ElfFile
from ascend_ep.opdef.loader import parse_definitions

SECTION = ".ascend_op"


def carrying(code: bytes, opdef: OpDef) -> bytes:
    """An object file or library with a definition (by formula, by kernel, or a declaration) in it."""
    text = json.dumps(definition_map(opdef), ensure_ascii=False)
    return ElfFile(code).with_section(SECTION, text.encode())


def carried_definitions(file: ElfFile, origin: str) -> list[OpDef]:
    """The definitions in a file, several where objects were linked to one library; none without the section.

    Raises AscendError (E41xxx, E42xxx) for text that is no definition. Paths in it are refused.
    """
    content = file.find(SECTION)
    if content is None:
        return []
    text = content.decode("utf-8", "replace")
    decoder, found, at = json.JSONDecoder(), [], 0
    while (at := _next(text, at)) < len(text):
        try:
            end = decoder.raw_decode(text, at)[1]
        except (ValueError, RecursionError):
            end = len(text)  # the reader says what is wrong with it
        found += parse_definitions(text[at:end], origin)
        at = end
    return found


def _next(text: str, at: int) -> int:
    """Where the next definition begins: linkers put zeros between the sections that they join."""
    while at < len(text) and text[at] in "\0 \n":
        at += 1
    return at
