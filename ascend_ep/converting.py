"""`ascend_ep.convert`: from a model in memory or a file to a bundle, as ascend-atc does it, in one call."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ascend_ep.errors import AscendError
from ascend_ep.extras import named
from ascend_ep.provider.report import Placement, Report

if TYPE_CHECKING:
    from ascend_ep.compiler.conversion import Conversion
    from ascend_ep.compiler.convert_options import Source
    from ascend_ep.opdef.definition import OpDef
    from ascend_ep.opdef.registry import Registry
    from ascend_ep.runtime.session import InferenceSession

Shapes = Mapping[str, Sequence[int | str | None]]


class Bundle:
    """A converted model: `save` writes it, `session` runs it, `report` says where each node runs and why."""

    def __init__(self, conversion: Conversion) -> None:
        self._conversion = conversion
        self._bytes: bytes | None = None

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes PATH.om and, for onnxruntime, PATH_ctx.onnx beside it, as ascend-atc's --output does.

        A suffix .om of `path` isn't doubled. Returns the bundle's path. Raises AscendError; then nothing is
        left."""
        from ascend_ep.cli.atc_files import write_bundle

        return Path(f"{write_bundle(self._conversion, os.fspath(path).removesuffix('.om'), 'save')}.om")

    def to_bytes(self) -> bytes:
        """The bundle in memory, verified and run once."""
        if self._bytes is None:
            self._bytes = self._conversion.to_bytes()
        return self._bytes

    def session(self, *args: Any, **kwargs: Any) -> InferenceSession:
        """A session on the bundle in memory, with the further arguments of InferenceSession."""
        from ascend_ep.runtime.session import InferenceSession

        return InferenceSession(self.to_bytes(), *args, **kwargs)

    def report(self) -> Report:
        """Each node, where it runs, and if that is the CPU, why; a table in notebooks."""
        rows = self._conversion.partition_table
        placements = [
            Placement(node, op_type, row.target, row.reason)
            for row in rows
            for node, op_type in ((row.node, row.op_type), *row.inside)
        ]
        return Report(placements, len({row.partition for row in rows if row.target == "AscendEP"}))

    def __repr__(self) -> str:
        return f"<ascend_ep.Bundle: {self.report().summary()}>"

    def _repr_html_(self) -> str:
        return self.report()._repr_html_()


def convert(
    model: Any,
    *,
    custom_ops: Iterable[str | os.PathLike[str] | OpDef] | str | os.PathLike[str] = (),
    input_shape: Shapes | str | None = None,
    precision: str = "origin",
    soc_version: str = "",
    self_check: bool | None = None,
) -> Bundle:
    """The bundle of a model: a path, bytes, an onnx.ModelProto, an onnx_ir.Model, a program of torch.export.

    `custom_ops`: files of definitions, definitions made in Python, or "Type:LIBRARY" as --custom_op has them.
    `input_shape`: sizes by input, None or -1 for any, a text for a size with a name; or --input_shape's text.
    `precision`: a value of --precision_mode_v2 or --precision_mode; "origin" keeps the model's types.
    `self_check` as --self_check: compare with a float64 reference; None does so for small models.
    Raises AscendError, as ascend-atc prints it: E19010 names all unknown operators.
    """
    with named():
        from ascend_ep.cann.soc import find_soc
        from ascend_ep.compiler.convert import convert as run
        from ascend_ep.compiler.convert_options import ConvertOptions
    if soc_version:
        find_soc(soc_version)
    shapes, ranges = shapes_of(input_shape)
    options = ConvertOptions(
        registry=registry_of(custom_ops),
        input_shapes=shapes,
        symbol_ranges=ranges,
        precision=precision,
        soc_version=soc_version,
        self_check=self_check,
        command_line="ascend_ep.convert",
    )
    return Bundle(run(source_of(model), options))


def source_of(model: Any) -> Source:
    """What the converter takes, of what the caller has. Raises AscendError E40001 for other things."""
    import onnx
    import onnx_ir as ir

    if isinstance(model, str | os.PathLike | bytes | onnx.ModelProto):
        return model
    if isinstance(model, bytearray | memoryview):
        return bytes(model)
    if isinstance(model, ir.Model):
        return ir.to_proto(model)
    made = getattr(model, "model_proto", None)
    if isinstance(made, onnx.ModelProto):  # torch.onnx's program
        return made
    if type(model).__module__.startswith("torch.export"):
        return _exported(model)
    given = f"{type(model).__module__}.{type(model).__name__}"
    fix = "Give a path, bytes, an onnx.ModelProto, an onnx_ir.Model, or a program of torch.export.export."
    raise AscendError("E40001", f"a {given} is no model", fix=fix)


def _exported(program: Any) -> Source:
    """A program of torch.export as ONNX, our registered operators by their names."""
    import torch

    with named():
        from ascend_ep.frameworks.torch import composites, torchlib
        from ascend_ep.frameworks.torch.torch_library import translations

        with torchlib.read_once(), composites.looked_up_once():
            made = torch.onnx.export(
                program, dynamo=True, custom_translation_table=translations(), verbose=False
            )
    assert made is not None
    proto: Source = made.model_proto
    return proto


def registry_of(custom_ops: Iterable[Any] | str | os.PathLike[str]) -> Registry:
    from ascend_ep.opdef.definition import OpDef
    from ascend_ep.opdef.library import parse_custom_op
    from ascend_ep.opdef.loader import load_definitions
    from ascend_ep.opdef.registry import ENVIRONMENT_VARIABLE, Registry

    listed = [custom_ops] if isinstance(custom_ops, str | os.PathLike | OpDef) else list(custom_ops)
    definitions: list[OpDef] = []
    libraries: dict[str, Path] = {}
    for entry in listed:
        if isinstance(entry, OpDef):
            definitions.append(entry)
        elif isinstance(entry, str) and ":" in entry and not os.path.exists(entry):
            name, path = parse_custom_op(entry)
            libraries[name] = path
        else:
            definitions += load_definitions(Path(entry))
    folder = os.environ.get(ENVIRONMENT_VARIABLE) or None
    return Registry(libraries=libraries, definitions=definitions, folder=folder)


def shapes_of(
    given: Shapes | str | None,
) -> tuple[dict[str, list[int | str]], dict[str, tuple[int, int | None]]]:
    """Sizes by input, free ones under a name, and the ranges of these names."""
    if not given:
        return {}, {}
    shapes: dict[str, list[int | str]] = {}
    ranges: dict[str, tuple[int, int | None]] = {}
    if isinstance(given, str):
        from ascend_ep.cli.atc_shapes import parse_input_shape

        parsed: Mapping[str, Sequence[Any]] = parse_input_shape(given, [])
    else:
        parsed = given
    for name, dims in parsed.items():
        shapes[name] = []
        for axis, dim in enumerate(dims):
            if (isinstance(dim, int) and dim > 0) or (isinstance(dim, str) and dim):
                shapes[name].append(dim)
                continue
            free = dim in (None, -1)
            if not free and not isinstance(dim, tuple):
                raise AscendError("E10001", dim, "input_shape", "A size is positive, -1 or None, or a name.")
            ranges[f"{name}_d{axis}"] = (1, None) if free else dim
            shapes[name].append(f"{name}_d{axis}")
    return shapes, ranges
