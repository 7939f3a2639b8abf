"""A description in whatever form: a file of it, pseudo-code, a formula, or prose."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

from ascend_ep import regular_file
from ascend_ep.errors import AscendError
from ascend_ep.frontends.functions import takes_one_tensor
from ascend_ep.frontends.interface import Defaults, Described, camel_case
from ascend_ep.frontends.language_model import Endpoint, Proof, describe_prose
from ascend_ep.frontends.mathematics import describe_mathematics
from ascend_ep.frontends.prose import reads_as_prose
from ascend_ep.frontends.pseudo_code import describe_pseudo_code
from ascend_ep.frontends.pseudo_code_text import contains_definition, without_code
from ascend_ep.frontends.statements import contradictions, unchecked
from ascend_ep.frontends.tbe.description import Inputs, describe_tbe
from ascend_ep.frontends.tbe.detection import is_tbe
from ascend_ep.frontends.tbe.layouts import Layout
from ascend_ep.opdef.formula_text import MAX_TEXT

_FILE = re.compile(r"[^\n]{1,4096}\.(py|txt)")


def describe(
    prompt: str,
    *,
    op_type: str | None = None,
    attributes: Defaults | None = None,
    llm: Endpoint | None = None,
    prove: Proof | None = None,
    inputs: Inputs | None = None,
    layouts: tuple[Layout, ...] = (),
) -> Described:
    """The operator that a description means.

    `prompt`: the text, or the path of a .py or .txt file with it. `op_type` replaces the defined name;
    `attributes` are parameters that are attributes, with their defaults. Prose needs `llm`, whose answers
    `prove` judges. A TBE file is code and is run (frontends.tbe), at the element types and shapes `inputs`;
    only a file is, never a text; `layouts` are what it is told of its inputs. Raises AscendError: E10410 and
    E41010 (file), E43103 (layouts), E42001 to E42004, E42101 to E42106, E42111 to E42113.
    """
    text, where = description_text(prompt)
    if where and is_tbe(text):
        return describe_tbe(text, where, op_type, attributes, inputs, layouts=layouts)
    if layouts:
        given = ";".join(layout.format for layout in layouts)
        raise AscendError("E43103", given, "format", "only TBE files ask for the layouts of their inputs")
    if contains_definition(text):
        described = describe_pseudo_code(text, op_type, attributes, where)
        said = f"{without_code(text)}\n{described.opdef.doc}"
        return _held_to(described, said, where)
    try:
        described = describe_mathematics(text, op_type, attributes, where)
    except AscendError as error:
        if not reads_as_prose(text):
            raise
        if llm is not None:
            return describe_prose(text, llm, op_type, attributes, prove, inputs)
        shown = [" ".join(text.split())[:100], *_known_forms(text), f"read as a formula: {error.text}"]
        raise AscendError("E42103", where=where, details=shown) from None
    return _held_to(described, text, where)


def _held_to(described: Described, text: str, where: str) -> Described:
    """The operator once it gives the results that the text states. Raises E42106."""
    wrong = contradictions(described.opdef, text)
    if wrong:
        raise AscendError("E42106", wrong[0], where=where, details=wrong[1:4])
    return replace(described, warnings=(*described.warnings, *unchecked(described.opdef, text)))


def _known_forms(text: str) -> list[str]:
    """For functions of formulas that prose names, the formula that is each of them."""
    words = dict.fromkeys(w.lower() for w in re.findall(r"[A-Za-z_]\w*", text[:MAX_TEXT]))
    k = re.search(r"\bk\s*=\s*(\d{1,6})\b", text[:MAX_TEXT])
    forms = {name: f"{camel_case(name)}(x) = {name}(x)" for name in words if takes_one_tensor(name)}
    forms |= {"topk": f"TopK(x) -> values, indices = topk(x, {k[1] if k else 10})"} if "topk" in words else {}
    return [f"known as a formula: {form}" for form in forms.values()][:3]


def description_text(prompt: str) -> tuple[str, str]:
    """The text of a description, and the file it is from, or "". Raises AscendError E10410 and E41010."""
    if _FILE.fullmatch(prompt.strip()) and " = " not in prompt:
        return _file_text(Path(prompt.strip())), prompt.strip()
    return prompt, ""


def _file_text(path: Path) -> str:
    """The text of a file, one character beyond the limit at most: whoever reads it refuses that."""
    if not path.exists():
        raise AscendError("E10410", path)
    try:
        with regular_file.opened(path) as file:
            data = file.read(4 * MAX_TEXT + 4)
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if error.end >= 4 * MAX_TEXT:
            raise AscendError(
                "E42004", "description", "the file is too long", where=os.fspath(path)
            ) from None
        raise AscendError("E41010", path, "it isn't UTF-8 text") from None
    except OSError as error:
        raise AscendError("E41010", path, error.strerror) from None
