"""Names that articles about Ascend C write and the device's compiler doesn't know: taken here, and said."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from ascend_ep.opbuild.ascendc.cpp import sources_of
from ascend_ep.opbuild.ascendc.declarations import without_comments

#: Members of tensors, queues and pipes, and what the device's compiler calls them.
_MEMBERS = {
    "set_global_buffer": "SetGlobalBuffer",
    "init_buffer": "InitBuffer",
    "alloc_tensor": "AllocTensor",
    "free_tensor": "FreeTensor",
    "enque": "EnQue",
    "deque": "DeQue",
    "get_value": "GetValue",
    "set_value": "SetValue",
    "get_size": "GetSize",
    "get_phy_addr": "GetPhyAddr",
}
_FUNCTIONS = {"GET_BLOCK_IDX": "GetBlockIdx", "GET_BLOCK_NUM": "GetBlockNum", "__sync_all": "SyncAll"}
_USED = re.compile(
    rf"(?:\.|->)\s*(?P<member>{'|'.join(_MEMBERS)})\b\s*[<(]"
    rf"|(?<![\w.>:])(?P<function>{'|'.join(_FUNCTIONS)})\s*\("
    r"|(?<![\w.])(?P<half>\d+(?:\.\d*)?h)\b"
)
#: What a program declares itself: a function behind its type, or a macro.
_OWN = re.compile(
    rf"(?:[\w>&*]\s+|#\s*define\s+)(?P<name>{'|'.join((*_MEMBERS, *_FUNCTIONS))})\s*\([^;{{\n]*(?:\{{|$)",
    re.MULTILINE,
)


def unknown_spellings(file: Path, folders: Sequence[Path]) -> list[str]:
    """Each name of a kernel and its headers that the device refuses: its first line, and what to write."""
    texts = {
        path: without_comments(path.read_text(encoding="utf-8", errors="replace"))
        for path in (file, *sources_of(f'#include "{file}"', (file.parent, *folders)))
    }
    own = {match["name"] for text in texts.values() for match in _OWN.finditer(text)}
    said: dict[str, str] = {}
    for path, text in texts.items():
        for match in _USED.finditer(text):
            name = match["member"] or match["function"] or "h"
            if name in own or name in said:
                continue
            place = f"{path.name}:{text.count(chr(10), 0, match.end()) + 1}"
            said[name] = f"{place}: {_advice(name, match['half'] or '')}"
    return list(said.values())


def _advice(name: str, number: str) -> str:
    if number:
        return f"the device's compiler refuses {number}; write half({number[:-1]})"
    return f"the device's compiler doesn't know {name}; write {(_MEMBERS | _FUNCTIONS)[name]}"
