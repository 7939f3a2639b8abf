"""Definition files to OpDefs: our format, the seeds' short forms and msopgen's prototypes, by one reader.

A file is one map or a list of maps; opdef.schema.json says what a map may hold. Every error carries the
file, the line and the JSON pointer of the value it is about.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from ascend_ep.errors import AscendError, did_you_mean
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.contained import resolve_contained
from ascend_ep.opdef.definition import (
    IN_PLACE,
    Attribute,
    AttributeType,
    AttributeValue,
    Formula,
    Kernel,
    Library,
    Occurrence,
    OpDef,
    Semantics,
    Source,
    TensorSpec,
)
from ascend_ep.opdef.formula import formula_program
from ascend_ep.opdef.jsontext import Document, escape_pointer, parse_document, read_document
from ascend_ep.opdef.output_types import rule_names
from ascend_ep.opdef.shape_rule_text import parse_rule
from ascend_ep.opdef.structure import check_structure, short

#: msopgen's keys and what we call the same thing.
_SYNONYMS = {
    "input_desc": "inputs",
    "output_desc": "outputs",
    "attr": "attributes",
    "default_value": "default",
}
_OCCURRENCES: dict[str, Occurrence] = {
    "required": "required",
    "optional": "optional",
    "variadic": "variadic",
    "dynamic": "variadic",
}
_SCALARS: dict[str, AttributeType] = {
    "int": "int",
    "float": "float",
    "bool": "bool",
    "string": "string",
    "str": "string",
}
_LISTS: dict[str, AttributeType] = {
    "ints": "ints",
    "floats": "floats",
    "bools": "bools",
    "strings": "strings",
    "list_int": "ints",
    "list_float": "floats",
    "list_bool": "bools",
    "list_string": "strings",
    "listInt": "ints",
    "listFloat": "floats",
    "listBool": "bools",
    "listStr": "strings",
}
_ELEMENTS: dict[str, AttributeType] = {"ints": "int", "floats": "float", "bools": "bool", "strings": "string"}


def load_definitions(path: str | Path) -> list[OpDef]:
    """The definitions of one file. Raises AscendError (E10410, E41xxx, E42xxx) naming the place."""
    return read_definitions(read_document(Path(path)), Path(path).parent)


def parse_definitions(text: str, source: str = "<text>", folder: Path | None = None) -> list[OpDef]:
    """The definitions in a text. Without a folder, `source` and `library` paths are refused."""
    return read_definitions(parse_document(text, source), folder)


def read_definitions(document: Document, folder: Path | None) -> list[OpDef]:
    """The definitions of a parsed document; relative paths in it are contained in `folder`."""
    check_structure(document)
    single = not isinstance(document.value, list)
    entries = [document.value] if single else document.value
    return [
        _Reader(document, "" if single else f"/{i}", entry, folder).definition()
        for i, entry in enumerate(entries)
    ]


class _Reader:
    """One map of a document; the methods report errors at its values."""

    def __init__(
        self, document: Document, pointer: str, entry: Mapping[str, Any], folder: Path | None
    ) -> None:
        self.document = document
        self.pointer = pointer
        self.entry = entry
        self.folder = folder
        self.op = str(entry["op"])

    def where(self, pointer: str = "") -> str:
        return self.document.where(self.pointer + pointer)

    def invalid(self, value: object, key: str, reason: str, pointer: str, **more: Any) -> AscendError:
        return AscendError("E41005", short(value), key, reason, where=self.where(pointer), **more)

    def contradiction(self, reason: str, pointer: str = "") -> AscendError:
        return AscendError("E41006", self.op, reason, where=self.where(pointer))

    def of(self, key: str, entry: Mapping[str, Any] | None = None, at: str = "") -> tuple[Any, str]:
        """The value of a key or of its msopgen synonym, and its pointer; None when absent."""
        entry = self.entry if entry is None else entry
        spelled = [k for k in (key, *(s for s, ours in _SYNONYMS.items() if ours == key)) if k in entry]
        if len(spelled) > 1:
            raise self.contradiction(
                f"[{spelled[0]}] and [{spelled[1]}] are two names of one thing", f"{at}/{spelled[1]}"
            )
        return (entry[spelled[0]], f"{at}/{spelled[0]}") if spelled else (None, f"{at}/{key}")

    def definition(self) -> OpDef:
        variables = self.variables()
        inputs = self.tensors("inputs", variables)
        outputs = self.in_place(inputs, self.tensors("outputs", variables))
        described = inputs is not None or outputs is not None
        counts = None if described else self.counts()
        domain = self.entry.get("domain")
        opdef = OpDef(
            op=self.op,
            domain="" if domain == "ai.onnx" else domain,
            since_version=self.entry.get("since_version"),
            inputs=inputs or self.counted("x", counts[0] if counts else 0),
            outputs=outputs or self.counted("y", counts[1] if counts else 0),
            attributes=self.attributes(),
            semantics=self.semantics(),
            standard=not described and counts is None and domain in ("", "ai.onnx", "ai.onnx.ml"),
            counts=counts,
            kernel_name=self.entry.get("kernel_name", ""),
            need_check_supported=self.entry.get("need_check_supported", False),
            doc=self.entry.get("doc", ""),
            origin=self.where().removesuffix(" " + self.pointer),
        )
        if described:
            self.check_counts(opdef)
            prototype = "input_desc" in self.entry and opdef.semantics is None
            if not opdef.outputs and not prototype:
                raise self.contradiction("it has no outputs")
            opdef = self.with_shape(self.with_msopgen_types(opdef))
        elif "shape" in self.entry:
            raise self.contradiction("a shape rule needs `inputs` and `outputs`", "/shape")
        self.check_names(opdef)
        self.check_semantics(opdef)
        return replace(opdef, remarks=tuple(self.remarks(opdef)))

    def remarks(self, opdef: OpDef) -> Iterator[str]:
        """What the definition says that nothing follows from."""
        used = {t.variable for t in (*opdef.inputs, *opdef.outputs)}
        for name in self.entry.get("types", {}):
            if name not in used:
                yield f"no tensor has the type [{name}]"
        for key in ("inputs", "outputs"):
            for tensor in self.of(key)[0] or ():
                if {"shape", "shape_range"} & tensor.keys():
                    yield f"the shape of [{tensor['name']}] binds nothing: the operator is for every shape"
        for spec in opdef.outputs:
            if spec.required_shape is not None:
                yield f"[required_shape] of the output [{spec.name}] binds nothing: it is for inputs"
        if opdef.shape and isinstance(opdef.semantics, Source | Library):
            yield f"[shape] isn't used: the {type(opdef.semantics).__name__.lower()} says the shapes"

    # -- tensors --

    def variables(self) -> dict[str, tuple[int, ...]]:
        found = self.entry.get("types", {})
        result = {}
        for name, types in found.items():
            if name in dtypes.NUMBERS or name in dtypes.SETS:
                raise self.invalid(name, "types", "this is the name of an element type", f"/types/{name}")
            result[name] = self.element_types(types, f"/types/{name}")
        return result

    def element_types(self, names: str | list[str], at: str) -> tuple[int, ...]:
        result: list[int] = []
        for i, name in enumerate([names] if isinstance(names, str) else names):
            if name in dtypes.NUMBERS:
                result.append(dtypes.NUMBERS[name])
            elif name in dtypes.SETS:
                result += dtypes.SETS[name]
            else:
                known = [*dtypes.NUMBERS, *dtypes.SETS, *self.entry.get("types", {})]
                allowed = [f"allowed: {', '.join(known)}.{did_you_mean(name, known)}"]
                place = at if isinstance(names, str) else f"{at}/{i}"
                raise self.invalid(name, "type", "there is no such element type", place, details=allowed)
        return tuple(result)

    def tensors(self, key: str, variables: Mapping[str, tuple[int, ...]]) -> tuple[TensorSpec, ...] | None:
        entries, at = self.of(key)
        if entries is None:
            return None
        specs = [self.tensor(e, f"{at}/{i}", variables) for i, e in enumerate(entries)]
        for i, spec in enumerate(specs[:-1]):
            if spec.occurrence == "variadic":
                raise self.contradiction(f"only the last of {key} can be variadic", f"{at}/{i}")
        return tuple(specs)

    def in_place(
        self, inputs: tuple[TensorSpec, ...] | None, outputs: tuple[TensorSpec, ...] | None
    ) -> tuple[TensorSpec, ...] | None:
        """msopgen's outputs with the name of an input, which they overwrite."""
        if outputs is None or "output_desc" not in self.entry:
            return outputs
        names = {s.name for s in inputs or ()}
        return tuple(
            replace(s, name=s.name + IN_PLACE, overwrites=True) if s.name in names else s for s in outputs
        )

    def tensor(
        self, entry: Mapping[str, Any], at: str, variables: Mapping[str, tuple[int, ...]]
    ) -> TensorSpec:
        types, variable = entry.get("type", []), ""
        if isinstance(types, str) and types in variables:
            variable, numbers = types, variables[types]
        else:
            numbers = self.element_types(types, f"{at}/type")
        formats = entry.get("format", [])
        return TensorSpec(
            name=entry["name"],
            types=numbers,
            variable=variable,
            occurrence=_OCCURRENCES[entry.get("param_type", "required")],
            formats=(formats,) if isinstance(formats, str) else tuple(formats),
            dynamic_shape=entry.get("dynamic_shape", self.entry.get("dynamic_shape", True)),
            required_shape=tuple(entry["required_shape"]) if "required_shape" in entry else None,
            doc=entry.get("doc", ""),
        )

    def counted(self, prefix: str, count: int) -> tuple[TensorSpec, ...]:
        """Tensors of a short form, which gives only their number."""
        dynamic = self.entry.get("dynamic_shape", True)
        return tuple(replace(t, dynamic_shape=dynamic) for t in synthesize(prefix, count))

    def counts(self) -> tuple[int, int] | None:
        n_in, n_out = self.entry.get("input_num"), self.entry.get("output_num")
        if n_in is None and n_out is None:
            return None
        for key, value in (("input_num", n_in), ("output_num", n_out)):
            if value is None:
                raise AscendError("E41004", key, where=self.where())
        return int(n_in), int(n_out)  # type: ignore[arg-type]

    def check_counts(self, opdef: OpDef) -> None:
        for key, specs in (("input_num", opdef.inputs), ("output_num", opdef.outputs)):
            number = self.entry.get(key)
            if number is not None and number != len(specs):
                raise self.contradiction(f"[{key}] is {number}, but {len(specs)} are described", f"/{key}")

    def check_names(self, opdef: OpDef) -> None:
        seen: set[str] = set()
        for name in [t.name for t in (*opdef.inputs, *opdef.outputs)] + [a.name for a in opdef.attributes]:
            if name in seen:
                raise self.contradiction(f"the name [{name}] is given twice")
            seen.add(name)
        optional = [t.name for t in opdef.inputs if t.occurrence == "optional"]
        for attribute in opdef.attributes:
            if attribute.input and attribute.input not in optional:
                raise self.contradiction(f"[{attribute.name}] is an input that is no optional one")

    def with_msopgen_types(self, opdef: OpDef) -> OpDef:
        """msopgen's columns: one length of types and formats for all tensors, filled up from length 1."""
        specs = (*opdef.inputs, *opdef.outputs)
        if "input_desc" not in self.entry and "output_desc" not in self.entry:
            return opdef
        lengths = {n for s in specs for n in (len(s.types), len(s.formats)) if n > 1}
        if len(lengths) > 1:
            raise self.contradiction(
                f"the lists of types and formats have different lengths {sorted(lengths)}"
            )
        width = max(lengths, default=1)
        fill = {s.name: replace(s, types=s.types * width if len(s.types) == 1 else s.types) for s in specs}
        return replace(
            opdef,
            inputs=tuple(fill[s.name] for s in opdef.inputs),
            outputs=tuple(fill[s.name] for s in opdef.outputs),
            paired=any(s.types for s in specs),
        )

    def with_shape(self, opdef: OpDef) -> OpDef:
        rules = self.entry.get("shape", {})
        if isinstance(rules, str):
            if len(opdef.outputs) != 1:
                raise self.invalid(
                    rules, "shape", "with several outputs it must be a map by output name", "/shape"
                )
            rules = {opdef.outputs[0].name: rules}
        names = [o.name for o in opdef.outputs]
        for name in rules:
            if name not in names:
                place = f"/shape/{escape_pointer(name)}"
                allowed = [f"outputs: {', '.join(names)}.{did_you_mean(name, names)}"]
                raise self.invalid(name, "shape", "there is no such output", place, details=allowed)
        return replace(opdef, shape=rules)

    # -- attributes --

    def attributes(self) -> tuple[Attribute, ...]:
        entries, at = self.of("attributes")
        return tuple(self.attribute(e, f"{at}/{i}") for i, e in enumerate(entries or []))

    def attribute(self, entry: Mapping[str, Any], at: str) -> Attribute:
        kind = _SCALARS.get(entry["type"]) or _LISTS[entry["type"]]
        default, default_at = self.of("default", entry, at)
        if (
            "required" in entry
            and "param_type" in entry
            and entry["required"] != (entry["param_type"] == "required")
        ):
            raise self.contradiction("[required] and [param_type] disagree", f"{at}/param_type")
        required = entry.get("required", entry.get("param_type") == "required")
        allowed = tuple(
            self.attribute_value(v, kind, f"{at}/allowed/{i}") for i, v in enumerate(entry.get("allowed", []))
        )
        value = None if default is None else self.attribute_value(default, kind, default_at)
        if value is not None and allowed and value not in allowed:
            raise self.invalid(
                default, "default", f"it must be one of {', '.join(map(str, allowed))}", default_at
            )
        return Attribute(
            entry["name"], kind, value, required, allowed, entry.get("doc", ""), entry.get("input", "")
        )

    def attribute_value(self, value: Any, kind: AttributeType, at: str) -> AttributeValue:
        """A JSON value as the attribute's type. msopgen writes some numbers as strings."""
        if kind in _ELEMENTS:
            items = _listed(value)
            if items is None:
                raise self.invalid(value, "default", f"it must be a list ({kind})", at)
            return tuple(self.attribute_value(v, _ELEMENTS[kind], f"{at}/{i}") for i, v in enumerate(items))  # type: ignore[return-value]
        if isinstance(value, str) and kind != "string":
            value = _from_text(value)
        if kind == "float" and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        expected: dict[str, type] = {"int": int, "float": float, "bool": bool, "string": str}
        if type(value) is not expected[kind]:
            raise self.invalid(value, "default", f"it must be of type {kind}", at)
        return cast(AttributeValue, value)

    # -- semantics --

    def semantics(self) -> Semantics | None:
        given = [k for k in ("kernel", "formula", "source", "library") if k in self.entry]
        if len(given) > 1 and given != ["kernel", "formula"]:
            raise self.contradiction(f"[{given[0]}] and [{given[1]}] both give the semantics", f"/{given[1]}")
        if not given:
            return None
        value = self.entry[given[0]]
        formula = self.entry.get("formula", "")
        formula = formula if isinstance(formula, str) else "\n".join(formula)
        if given[0] == "formula":
            return Formula(formula)
        if given[0] == "kernel":
            return Kernel(value, formula)
        if self.folder is None:
            raise AscendError(
                "E41007",
                value,
                "a definition that is no file has no folder",
                where=self.where(f"/{given[0]}"),
            )
        path = resolve_contained(self.folder, value, self.where(f"/{given[0]}"))
        return Source(path) if given[0] == "source" else Library(path)

    def check_semantics(self, opdef: OpDef) -> None:
        if opdef.formula is not None and not opdef.outputs and not opdef.standard:
            raise self.contradiction("a formula needs `inputs` and `outputs`", "/formula")
        if opdef.formula is not None and not opdef.standard:
            formula_program(replace(opdef, origin=self.where("/formula")))
        for name, rule in opdef.shape.items():
            inner = f"/shape/{name}" if isinstance(self.entry["shape"], dict) else "/shape"
            parse_rule(rule, *rule_names(opdef), self.where(inner))


def synthesize(prefix: str, count: int) -> tuple[TensorSpec, ...]:
    """Tensors of a short form, which gives only their number: x0, x1, ... and y0, y1, ..."""
    return tuple(TensorSpec(f"{prefix}{i}") for i in range(count))


def _listed(value: object) -> list[object] | None:
    """A list, or the text of one, which msopgen's prototypes have as in C++ or as in JSON: {0, 1}, [0, 1]."""
    if isinstance(value, list):
        return value
    text = value.strip() if isinstance(value, str) else ""
    if len(text) < 2 or text[0] + text[-1] not in ("{}", "[]"):
        return None
    inner = text[1:-1].strip()
    return [item.strip().strip("\"'") for item in inner.split(",")] if inner else []


def _from_text(text: str) -> object:
    try:
        return json.loads(text.strip().lower())
    except (ValueError, RecursionError):
        return text
