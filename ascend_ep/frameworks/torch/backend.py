"""`torch.compile(backend="ascend")`: graphs that Dynamo captures run as bundles in memory.

AOTAutograd gives graphs of ATen operators, forward and backward. What torch.onnx has a translation for is a
bundle; the rest stays with PyTorch, and `reports()` says which operators and why. In inference, parameters
and buffers are constants of the bundle, so that they are packed for its kernels; one that changes afterwards
is an input from then on.
"""

from __future__ import annotations

import logging
import operator
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ascend_ep.errors import AscendError
from ascend_ep.extras import named

with named("torch"):
    from ascend_ep.frameworks.torch import attention_training, composites
    from ascend_ep.frameworks.torch.decompositions import decompositions
    from ascend_ep.frameworks.torch.first_results import agree, objection
    from ascend_ep.frameworks.torch.graph_program import GraphProgram, Unsupported
    from ascend_ep.frameworks.torch.partitions import partitioned

_log = logging.getLogger("ascend_ep.torch")


@dataclass
class Report:
    """What became of one graph: its operators in bundles, those left to PyTorch with the reason."""

    bundles: int = 0
    operators: int = 0
    eager: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        left = ", ".join(f"{name} ({reason})" for name, reason in self.eager.items())
        return f"{self.operators} operators in {self.bundles} bundles" + (
            f"; PyTorch runs {left}" if left else ""
        )


_reports: list[Report] = []


def reports() -> list[Report]:
    """One of each graph compiled so far in this process."""
    return list(_reports)


#: `mode` of torch.compile: how long schedules of each operator's code are tried; None: $ASCEND_EP_SEARCH.
MODES = {"default": None, "max-autotune": 2.0, "max-autotune-no-cudagraphs": 2.0}


def ascend(
    graph: Any, example_inputs: Sequence[Any], *, mode: str = "default", options: Any = None
) -> Callable[..., Any]:
    """The backend, for torch.compile: tensors on the CPU in, tensors on the CPU out. `mode`: of MODES.

    Raises AscendError E10001 for another mode, and for options: there are none.
    """
    if mode not in MODES:
        raise AscendError("E10001", mode, "mode", f"The modes are {', '.join(MODES)}.")
    if options:
        raise AscendError("E10001", ", ".join(map(str, options)), "options", "This backend has none.")
    from torch._dynamo.backends.common import aot_autograd
    from torch._functorch.aot_autograd import make_boxed_func  # type: ignore[attr-defined]

    constants = {i: t for i, t in enumerate(example_inputs) if _is_weight(t)}

    def compiled(aten: Any, _: Sequence[Any]) -> Any:
        return make_boxed_func(_Compiled(aten, {}, MODES[mode]))

    def frozen(aten: Any, given: Sequence[Any]) -> Any:
        alike = len(given) == len(example_inputs)
        return make_boxed_func(_Compiled(aten, constants if alike else {}, MODES[mode]))

    backend = aot_autograd(
        fw_compiler=compiled,
        bw_compiler=compiled,
        inference_compiler=frozen,
        decompositions=_decompositions(_is_trained(graph, example_inputs)),
    )
    return backend(graph, example_inputs)


def _is_weight(value: Any) -> bool:
    """Whether it is a parameter or a buffer whose changes are counted."""
    import torch

    static = isinstance(value, torch.nn.Parameter) or getattr(value, "_dynamo_static_input_type", None)
    return bool(static) and not value.is_inference()


def _is_trained(graph: Any, inputs: Sequence[Any]) -> bool:
    """Whether AOTAutograd may make a backward graph: the graph may switch gradients on itself."""
    import torch

    if not any(isinstance(t, torch.Tensor) and t.requires_grad for t in inputs):
        return False
    graphs = [module.graph for module in graph.modules() if isinstance(module, torch.fx.GraphModule)]
    switch = torch._C._set_grad_enabled
    return torch.is_grad_enabled() or any(node.target is switch for g in graphs for node in g.nodes)


def _decompositions(trained: bool) -> dict[Any, Any]:
    """ATen's core operators. Normalisation by a batch's own statistics is taken apart too: torch.onnx's
    translation of it takes the running ones. So is what it has no translation of, or one that means something
    else."""
    import torch
    from torch._decomp import core_aten_decompositions, get_decompositions

    aten = torch.ops.aten
    of_batch = get_decompositions([aten._native_batch_norm_legit_functional])
    with composites.looked_up_once():
        core = dict(core_aten_decompositions())
    return {
        **core,
        **of_batch,
        **decompositions(),
        **(attention_training.decompositions() if trained else {}),
    }


class _Compiled:
    """A graph that is compiled when it first runs, outside of PyTorch's tracing, with constants until one of
    them changes."""

    def __init__(self, graph: Any, constants: Mapping[int, Any], search_seconds: float | None) -> None:
        self.graph = graph
        self.constants = dict(constants)
        self.search_seconds = search_seconds
        self.seen: dict[int, State] = {}
        self.run: Callable[..., Any] | None = None
        self.lock = threading.Lock()

    def __call__(self, *arguments: Any) -> Any:
        import torch

        changed = [i for i, seen in self.seen.items() if seen.differs(arguments[i])]
        run = None if changed else self.run
        if run is None:
            with self.lock:
                same = {i: t for i, t in self.constants.items() if not State(t).differs(arguments[i])}
                self.constants = {i: t for i, t in same.items() if i not in changed}
                with torch.utils._python_dispatch._disable_current_modes(), torch._guards.tracing(None):
                    compile_now = torch.compiler.disable(_compiled)  # type: ignore[no-untyped-call]
                    run = self.run = compile_now(self.graph, self.constants, self.search_seconds)
                self.seen = {i: State(t) for i, t in self.constants.items()}
        return run(*arguments)


class State:
    """What a tensor is at a time, to see later whether it has changed. PyTorch counts changes but for those
    through `.data`, which elements spread over the tensor show."""

    #: More elements than this aren't compared.
    MOST = 64

    def __init__(self, tensor: Any) -> None:
        import torch

        self.counted = tensor.data_ptr(), tensor._version
        flat = tensor.detach()
        flat = flat.view(torch.int16) if flat.dtype == torch.bfloat16 else flat
        self.spread = flat.as_strided((self._count(flat),), (max(1, flat.numel() // self.MOST),)).numpy()
        self.bytes = self.spread.tobytes()

    @classmethod
    def _count(cls, flat: Any) -> int:
        """How many elements are compared; none of a tensor whose elements don't lie side by side."""
        import torch

        if not (flat.is_contiguous() or flat.is_contiguous(memory_format=torch.channels_last)):
            return 0
        step = max(1, flat.numel() // cls.MOST)
        count: int = -(-flat.numel() // step)
        return count

    def differs(self, tensor: Any) -> bool:
        """Whether this is another tensor, or has changed."""
        return (tensor.data_ptr(), tensor._version) != self.counted or self.spread.tobytes() != self.bytes


def _compiled(graph: Any, constants: Mapping[int, Any], search_seconds: float | None) -> Callable[..., Any]:
    """The graph with its parts as bundles."""
    report = Report()
    _reports.append(report)

    def make(part: Any, fixed: Mapping[int, Any]) -> Callable[..., Any]:
        return _program(part, fixed, report, search_seconds)

    whole = partitioned(graph, constants, make, report.eager)
    _log.info("%s", report)
    return whole


def _program(
    part: Any, fixed: Mapping[int, Any], report: Report, search_seconds: float | None
) -> Callable[..., Any]:
    """A part as a bundle, or as it is."""
    operators = [n for n in part.graph.nodes if n.op == "call_function"]
    try:
        program = GraphProgram(part, fixed, search_seconds)
    except (Unsupported, AscendError) as error:
        _left(report, _names(part), str(error))
        return part  # type: ignore[no-any-return]
    report.bundles += 1
    report.operators += len(operators)
    return _Checked(program, part, report)


#: How often results are looked at where no others than float64's speak for them.
LOOKS = 3


class _Checked:
    """A program whose first results are compared with PyTorch's: a translation that means something else goes
    back to PyTorch. Rounding may hide that at one call: until results agree, the next LOOKS are compared."""

    def __init__(self, program: GraphProgram, part: Any, report: Report) -> None:
        self.program: GraphProgram | None = program
        self.part = part
        self.report = report
        self.left = LOOKS

    def __call__(self, *arguments: Any) -> Any:
        if self.program is None:
            return self.part(*arguments)
        try:
            results = tuple(self.program(arguments))
        except AscendError as error:  # sizes that the export has fixed, say
            return self.give_up(str(error), arguments)
        if not self.left:
            return results
        expected = self.part(*arguments)
        if agree(results, expected):
            self.left = 0
        elif reason := objection(self.part, arguments, results, expected):
            return self.give_up(reason, arguments)
        else:
            self.left = max(self.left - 1, 0)
        return results

    def give_up(self, reason: str, arguments: Sequence[Any]) -> Any:
        """PyTorch's results, from now on."""
        self.report.bundles -= 1
        self.report.operators -= sum(n.op == "call_function" for n in self.part.graph.nodes)
        _left(self.report, _names(self.part), reason)
        self.program = None
        return self.part(*arguments)


def _names(part: Any) -> list[str]:
    """Of the operators in a part; picking one of several results is none."""
    targets = {n.target for n in part.graph.nodes if n.op == "call_function"}
    return sorted(str(t) for t in targets - {operator.getitem})


def _left(report: Report, names: Sequence[str], reason: str) -> None:
    shown = ", ".join(names[:3]) + ("..." if len(names) > 3 else "")
    report.eager[shown] = reason
    _log.warning("PyTorch runs %s itself: %s", shown, reason)
