"""One graph of PyTorch's ATen operators as a bundle in memory, called with tensors."""

from __future__ import annotations

import contextlib
import io
import logging
import operator
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from ascend_ep.compiler.conversion import Conversion
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.frameworks.torch import composites, torchlib
from ascend_ep.frameworks.torch.double_numbers import DoubleNumbers
from ascend_ep.frameworks.torch.tensors import array_of, tensor_of
from ascend_ep.frameworks.torch.torch_library import translations
from ascend_ep.runtime.session import InferenceSession


class Unsupported(Exception):
    """The graph can't be a bundle; the text says why."""


def converted(
    exported: Any,
    input_names: Sequence[str] = (),
    output_names: Sequence[str] = (),
    search_seconds: float | None = None,
) -> Conversion:
    """An exported program (`torch.export.export`) as a conversion in its own precision. Free sizes stay free.
    `search_seconds` as in ConvertOptions.

    Raises Unsupported where torch.onnx has no translation of an operator, AscendError of the converter.
    """
    import torch

    numbers = DoubleNumbers()
    with _quiet(), torchlib.read_once(), composites.looked_up_once(), numbers.noted():
        try:
            program = torch.onnx.export(
                exported,
                dynamo=True,
                custom_translation_table={**torchlib.translations(), **translations()},
                input_names=list(input_names) or None,
                output_names=list(output_names) or None,
                verbose=False,
                optimize=False,
            )
            assert program is not None
            numbers.restore(program.model)
            program.optimize()
            torchlib.register_constants(program.model)
        except torch.onnx.errors.OnnxExporterError as error:
            raise Unsupported(_first_line(error)) from error
    return convert(program.model_proto, ConvertOptions(sample_seed=None, search_seconds=search_seconds))


@dataclass(frozen=True)
class Output:
    """Where a result of a graph comes from: an output of the session, an input, a size that the inputs' sizes
    make, or nothing."""

    made: int | None = None
    passed: int | None = None
    size: int | None = None


class GraphProgram:
    """A graph module of ATen operators whose inputs are tensors and sizes.

    `fixed`: by position, inputs whose values are constants of the bundle. Sizes among the inputs are made of
    those of tensors among them. `search_seconds` as in ConvertOptions. Raises Unsupported, AscendError.
    """

    def __init__(self, graph: Any, fixed: Mapping[int, Any], search_seconds: float | None = None) -> None:
        module = _Tensors(graph, fixed)
        self.inputs = module.tensors
        self.outputs = module.outputs
        names = [f"x{i}" for i in range(len(self.inputs))]
        self.sizes = module.sizes_graph()
        self.session: InferenceSession | None = None
        if any(o.made is not None for o in self.outputs):
            outputs = [f"y{i}" for i in range(module.count)]
            made = converted(module.exported(), names, outputs, search_seconds)
            self.session = InferenceSession(made.to_bytes())
            taken = {i.name for i in self.session.get_inputs()}
            self.fed = [(p, n) for p, n in zip(self.inputs, names, strict=True) if n in taken]

    def __call__(self, arguments: Sequence[Any]) -> list[Any]:
        """The graph's results: tensors, and what it passes on."""
        made: list[Any] = []
        if self.session is not None:
            fed = {name: array_of(arguments[place]) for place, name in self.fed}
            made = [tensor_of(y) for y in self.session.run(None, fed)]
        sizes = self.sizes(*arguments) if self.sizes else ()

        def result(output: Output) -> Any:
            if output.made is not None:
                return made[output.made]
            if output.size is not None:
                return sizes[output.size]
            return None if output.passed is None else arguments[output.passed]

        return list(map(result, self.outputs))


class _Tensors:
    """A graph brought to tensors only: sizes are asked of a tensor that has them, constants are in it."""

    def __init__(self, graph: Any, fixed: Mapping[int, Any]) -> None:
        import torch

        copy = torch.fx.Graph()
        self.tensors: list[int] = []
        self.outputs: list[Output] = []
        self.examples: list[Any] = []
        self.free: list[dict[int, Any]] = []
        self.graph = graph
        self.sizes: list[Any] = []
        places = [n for n in graph.graph.nodes if n.op == "placeholder"]
        known: dict[Any, Any] = {}
        constants: dict[str, Any] = {}
        for place, node in enumerate(places):
            value = node.meta["val"]
            if place in fixed:
                constants[f"constant{place}"] = fixed[place].detach()
                known[node] = copy.get_attr(f"constant{place}")
            elif isinstance(value, torch.Tensor):
                known[node] = copy.placeholder(f"x{len(self.tensors)}")
                self.tensors.append(place)
                self._take(value)
        for node in places:
            if node not in known:
                known[node] = self._size(copy, node.meta["val"], places, known)
        for node in graph.graph.nodes:
            if node.op not in ("placeholder", "output"):
                if node.op == "get_attr":
                    constants[node.target] = getattr(graph, node.target)
                known[node] = copy.node_copy(node, known.__getitem__)
                if node.target is torch.ops.aten.view.default:  # strides of the parts' edges may be others
                    known[node].target = torch.ops.aten.reshape.default
        self.count = self._give(copy, graph, places, known)
        self.module = torch.fx.GraphModule(_holder(constants), copy)

    def _take(self, value: Any) -> None:
        import torch

        if value.is_complex() or value.layout != torch.strided:
            raise Unsupported(f"a tensor of {value.dtype} and layout {value.layout}")
        free = {i: torch.export.Dim.AUTO for i, d in enumerate(value.shape) if _is_free(d)}
        self.free.append(free)
        sizes = [int(d.node.hint) if isinstance(d, torch.SymInt) else d for d in value.shape]
        self.examples.append(torch.zeros(sizes, dtype=value.dtype))

    def _size(self, copy: Any, wanted: Any, places: Sequence[Any], known: Mapping[Any, Any]) -> Any:
        """A size among the inputs, from those of the tensors."""
        import torch

        if isinstance(wanted, int):
            return wanted
        if not isinstance(wanted, torch.SymInt):
            raise Unsupported(f"an input is {wanted}, not a size")
        of: dict[Any, tuple[Any, int]] = {}
        for node in places:
            value = node.meta["val"]
            if isinstance(value, torch.Tensor) and node in known:
                for axis, size in enumerate(value.shape):
                    if isinstance(size, torch.SymInt):
                        of.setdefault(size.node.expr, (known[node], axis))
        return _computed(copy, wanted.node.expr, of)

    def _give(self, copy: Any, graph: Any, places: Sequence[Any], known: Mapping[Any, Any]) -> int:
        import torch

        (results,) = graph.graph.output_node().args
        made: dict[Any, int] = {}
        for node in results:
            value = node.meta["val"] if isinstance(node, torch.fx.Node) else node
            if node is None:
                self.outputs.append(Output())
            elif node in places:
                self.outputs.append(Output(passed=places.index(node)))
            elif isinstance(value, torch.Tensor):
                self.outputs.append(Output(made=made.setdefault(node, len(made))))
            elif isinstance(value, int | torch.SymInt):
                self.outputs.append(Output(size=len(self.sizes)))
                self.sizes.append(node)
            else:
                raise Unsupported(f"a result is {node}, neither a tensor nor a size")
        copy.output(tuple(known[n] for n in made))
        return len(made)

    def sizes_graph(self) -> Any:
        """What gives the sizes among the results from the graph's arguments; None if there are none."""
        import torch

        if not self.sizes:
            return None
        needed, left = set[Any](), [n for n in self.sizes if not isinstance(n, int)]
        while left:
            node = left.pop()
            if node not in needed and node.op != "placeholder":
                if isinstance(node.meta["val"], torch.Tensor):
                    raise Unsupported(f"a result is a size of {node}, which the inputs' sizes don't say")
                left += node.all_input_nodes
            needed.add(node)
        copy, known = torch.fx.Graph(), dict[Any, Any]()
        for node in self.graph.graph.nodes:
            if node.op == "placeholder":
                known[node] = copy.placeholder(node.name)
            elif node in needed:
                known[node] = copy.node_copy(node, known.__getitem__)
        copy.output(tuple(n if isinstance(n, int) else known[n] for n in self.sizes))
        return torch.fx.GraphModule(torch.nn.Module(), copy)

    def exported(self) -> Any:
        import torch

        shapes = {f"x{i}": free for i, free in enumerate(self.free)} or None
        with _quiet():
            try:
                return torch.export.export(
                    self.module, tuple(self.examples), dynamic_shapes=shapes, strict=False
                )
            except Exception as error:  # torch documents no class of its own for what it can't export
                raise Unsupported(_first_line(error)) from error


#: Of PyTorch's own functions of two sizes; Mod is of those that aren't below 0.
_OPERATORS = {"FloorDiv": operator.floordiv, "PythonMod": operator.mod, "Mod": operator.mod}


def _computed(copy: Any, size: Any, of: Mapping[Any, tuple[Any, int]]) -> Any:
    """A size that the tensors' sizes make by arithmetic, as a node. `of`: tensor and axis by size."""
    import torch

    if size.is_Integer:
        return int(size)
    if size in of:
        return copy.call_function(torch.ops.aten.sym_size.int, of[size])
    if size.is_Symbol:
        for other, place in of.items():
            factor, left = other.as_coeff_Mul()
            if left == size:  # the tensor has several of it
                whole = copy.call_function(torch.ops.aten.sym_size.int, place)
                return copy.call_function(operator.floordiv, (whole, int(factor)))
    join = _OPERATORS.get(type(size).__name__)
    if join is not None:
        a, b = (_computed(copy, part, of) for part in size.args)
        return copy.call_function(join, (a, b))
    if size.is_Add or size.is_Mul:
        join = operator.add if size.is_Add else operator.mul
        parts = [_computed(copy, part, of) for part in size.args]
        return reduce(lambda a, b: copy.call_function(join, (a, b)), parts)
    raise Unsupported(f"an input is {size}, which the sizes of tensors among them don't make")


def _holder(constants: Mapping[str, Any]) -> Any:
    import torch

    root = torch.nn.Module()
    for name, value in constants.items():
        if isinstance(value, torch.Tensor):
            root.register_buffer(name, value, persistent=False)
        else:
            setattr(root, name, value)
    return root


def _is_free(size: Any) -> bool:
    import torch

    return isinstance(size, torch.SymInt) and size.node.maybe_as_int() is None


def _first_line(error: BaseException) -> str:
    while error.__cause__ is not None:
        error = error.__cause__
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without the exporter's talk on standard output and its logs."""
    logs = [logging.getLogger(name) for name in ("torch.onnx", "onnxscript")]
    levels = [log.level for log in logs]
    for log in logs:
        log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        for log, level in zip(logs, levels, strict=True):
            log.setLevel(level)
