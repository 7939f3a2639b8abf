"""Operators that a shared library computes: `--custom_op=RoPE:./rope.so`.

The library exports `asc_get_custom_op` (native/include/ascend_rt.h). This module only describes it: the
compiler asks it for output shapes through the runtime's binding, and the bundle carries its bytes.
"""

from __future__ import annotations

import re
from pathlib import Path

from ascend_ep import regular_file
from ascend_ep.errors import AscendError
from ascend_ep.opdef.definition import Library, OpDef, TensorSpec, canonical_domain

_TEXT = re.compile(
    r"(?:(?P<domain>[A-Za-z0-9_.]+)::)?(?P<op>[A-Za-z_][A-Za-z0-9_]*):(?P<path>[^:].*)", re.DOTALL
)
#: The tensors of a library that nothing describes.
_INPUTS = (TensorSpec("inputs", occurrence="variadic"),)
_OUTPUTS = (TensorSpec("outputs", occurrence="variadic"),)


def separate(text: str) -> list[str]:
    """The items of a list as options have it: `a.json;b.json`, `RoPE:./rope.so;Swish:./swish.so`."""
    return [item for item in (part.strip() for part in text.split(";")) if item]


def parse_custom_op(text: str) -> tuple[str, Path]:
    """`Type:LIBRARY` or `domain::Type:LIBRARY` to the qualified type and the path. Raises E10001."""
    match = _TEXT.fullmatch(text)
    if not match:
        reason = "it must be Type:LIBRARY, e.g. RoPE:./rope.so"
        raise AscendError("E10001", text, "--custom_op", reason)
    domain, op, path = match["domain"], match["op"], match["path"]
    return (op if domain is None else f"{domain}::{op}"), Path(path)


def library_definition(name: str, path: Path) -> OpDef:
    """The definition of a library's operator; how many tensors it takes it alone knows. Raises E10410."""
    regular_file.need(path, where=f"--custom_op={name}:{path}")
    domain, _, op = name.rpartition("::")
    return OpDef(
        op=op,
        domain=canonical_domain(domain) if "::" in name else None,
        inputs=_INPUTS,
        outputs=_OUTPUTS,
        semantics=Library(path.resolve()),
        origin=f"{name}:{path}",
    )


def is_undescribed(opdef: OpDef) -> bool:
    """Whether only a library knows the operator's tensors and attributes."""
    return isinstance(opdef.semantics, Library) and (opdef.inputs, opdef.outputs) == (_INPUTS, _OUTPUTS)
