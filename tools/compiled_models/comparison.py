"""A model under `torch.compile(backend="ascend")` beside eager PyTorch, and beside inductor."""

from __future__ import annotations

import copy
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from ascend_ep.frameworks.torch.backend import ascend, reports
from compiled_models.model import Model, tensors, without_dropping

ALLOWED, STEPS, SLOTS, RATE = 1e-4, 20, 7, 1e-3
BATCHES = (2, 3, 5)
#: Seconds of processor time of each way in a slot, at least.
SLOT = 0.1
#: Graphs for them: of the first size, and of all.
USUAL = 2
#: bfloat16 under autocast: of the largest magnitude, what eager may be off from float32 is added.
ALLOWED_NARROW = 0.02
#: How much further from float64 than eager a result may be where eager itself is off by more than ALLOWED.
TIMES = 3


@dataclass
class Found:
    """What a way of running gave: errors by what they are of, and what PyTorch runs with the reason."""

    errors: dict[str, float] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    left: dict[str, str] = field(default_factory=dict)
    graphs: int = 0
    #: So many has PyTorch itself, with a backend that compiles nothing; 0 where it wasn't asked.
    captured: int = 0


def off(found: Any, expected: Any) -> float:
    """The largest difference of any tensor, of that tensor's largest magnitude."""
    a, b = tensors(found), tensors(expected)
    if [t.shape for t in a] != [t.shape for t in b] or [t.dtype for t in a] != [t.dtype for t in b]:
        return float("inf")
    return max((_off(x, y) for x, y in zip(a, b, strict=True) if y.numel()), default=0.0)


def _off(a: torch.Tensor, b: torch.Tensor) -> float:
    wide = torch.complex128 if b.is_complex() else torch.float64
    x, y = a.detach().to(wide), b.detach().to(wide)
    same = (x == y) | (x.isnan() & y.isnan())
    largest = torch.where(y.isfinite(), y, 0).abs().max().clamp(min=1e-30)
    return float((torch.where(same, 0, x - y).abs().max() / largest).nan_to_num(float("inf")))


def compiled(function: Any, found: Found, run: Callable[[Any], None]) -> None:
    """Runs the compiled function, and notes what became of its graphs."""
    torch._dynamo.reset()
    before = len(reports())
    run(torch.compile(function, backend=ascend))
    made = reports()[before:]
    found.graphs = len(made)
    found.left = {name: reason for r in made for name, reason in r.eager.items()}


def captured(function: Any, run: Callable[[Any], None]) -> int:
    """How many graphs Dynamo makes of it: breaks, and sizes that the program's own decisions fix."""
    graphs: list[Any] = []

    def counted(graph: Any, _: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    torch._dynamo.reset()
    run(torch.compile(function, backend=counted))
    return len(graphs)


def infers(model: Model, narrow: bool = False) -> Found:
    """At three batch sizes, with at most as many graphs as PyTorch makes: one more for sizes that are free.
    `narrow`: under autocast to bfloat16."""
    found, module = Found(), model.module.eval()

    def run(made: Any) -> None:
        for batch in BATCHES:
            inputs = model.make(batch)
            with torch.autocast("cpu", torch.bfloat16, enabled=narrow):
                result, expected = made(**inputs), module(**inputs)
            error = off(result, expected)
            allowed = ALLOWED
            if narrow:
                exact = module(**inputs)
                allowed = ALLOWED_NARROW + off(_like(expected, exact), exact)
            elif error > ALLOWED and not (own := far(module, inputs, result, expected)):
                found.errors["eager is off from float64 as much"] = error
                continue
            elif error > ALLOWED:
                found.wrong.append(own)
            found.errors[f"batch {batch}"] = error
            if narrow and not error <= allowed:
                found.wrong.append(f"batch {batch}: {error:.1e}, allowed {allowed:.1e}")

    def called(made: Any) -> None:
        for batch in BATCHES:
            made(**model.make(batch))

    with torch.no_grad():
        compiled(module, found, run)
        if found.graphs > USUAL and not narrow:
            found.captured = captured(module, called)
            if found.graphs > found.captured:
                found.wrong.append(f"{found.graphs} graphs, of which PyTorch makes {found.captured}")
    return found


def _like(result: Any, exact: Any) -> list[torch.Tensor]:
    return [a.to(b.dtype) for a, b in zip(tensors(result), tensors(exact), strict=True)]


def far(module: torch.nn.Module, inputs: Any, result: Any, expected: Any) -> str:
    """How much further from float64 the result is than eager's; "" where not much."""
    wide = {k: _wide(v) for k, v in inputs.items()}
    try:
        exact = _like(copy.deepcopy(module).double()(**wide), expected)
    except Exception as error:  # a model that fixes float32
        return f"{off(result, expected):.1e} from eager; {type(error).__name__} in float64"
    own, eager = off(result, exact), off(expected, exact)
    return "" if own <= max(ALLOWED, TIMES * eager) else f"{own:.1e} from float64, eager {eager:.1e}"


def _wide(value: Any) -> Any:
    if isinstance(value, list):
        return [_wide(v) for v in value]
    return value.double() if value.is_floating_point() else value


def breaks(model: Model) -> Found:
    """With a graph break in the middle of the modules."""
    found, module = Found(), model.module.eval()
    parts = [m for m in module.modules() if not list(m.children())]
    hook = parts[len(parts) // 2].register_forward_pre_hook(lambda *_: torch._dynamo.graph_break())
    inputs = model.make(2)

    def run(made: Any) -> None:
        expected = module(**inputs)
        found.errors["with a break"] = error = off(result := made(**inputs), expected)
        if not error <= ALLOWED and (own := far(module, inputs, result, expected)):
            found.wrong.append(own)

    try:
        with torch.no_grad():
            compiled(module, found, run)
    finally:
        hook.remove()
    return found


def trains(model: Model, steps: int = STEPS) -> Found:
    """Losses of some steps of descent, and the first step's slopes of the largest slope."""
    found, inputs, start = Found(), model.make(2), without_dropping(copy.deepcopy(model.module)).train()
    runs: dict[str, tuple[list[float], list[torch.Tensor | None]]] = {}
    torch.manual_seed(1)
    runs["eager"] = _descended(copy.deepcopy(start), None, inputs, steps)
    other = copy.deepcopy(start)
    compiled(other, found, lambda made: runs.update(ascend=_descended(other, made, inputs, steps)))
    errors = _apart(runs["ascend"], runs["eager"])
    if max(errors.values()) > ALLOWED:
        try:
            wide = {k: _wide(v) for k, v in inputs.items()}
            exact = _descended(copy.deepcopy(start).double(), None, wide, steps)
        except Exception as error:  # a model that fixes float32
            found.wrong.append(f"{type(error).__name__} in float64")
        else:
            own, eager = _apart(runs["ascend"], exact), _apart(runs["eager"], exact)
            for what, share in own.items():
                if errors[what] > ALLOWED and share > max(ALLOWED, TIMES * eager[what]):
                    found.wrong.append(f"{what} {share:.1e} from float64, eager {eager[what]:.1e}")
    found.errors = errors
    return found


def _apart(a: Any, b: Any) -> dict[str, float]:
    losses = max(abs(x - y) / max(abs(y), 1e-30) for x, y in zip(a[0], b[0], strict=True))
    pairs = [(x, y) for x, y in zip(a[1], b[1], strict=True) if x is not None and y is not None]
    if [x is None for x in a[1]] != [y is None for y in b[1]]:
        return {"losses": losses, "slopes": float("inf")}
    largest = max((float(y.abs().max()) for _, y in pairs if y.numel()), default=0.0)
    apart = max((float((x.to(y.dtype) - y).abs().max()) for x, y in pairs if y.numel()), default=0.0)
    return {"losses": losses, "slopes": apart / max(largest, 1e-30)}


def _descended(module: torch.nn.Module, made: Any, inputs: Any, steps: int) -> Any:
    optimizer = torch.optim.SGD(module.parameters(), RATE)
    function = module if made is None else made
    losses, slopes = [], []
    for step in range(steps):
        optimizer.zero_grad()
        results = tensors(function(**inputs))
        smooth = [y for y in results if y.requires_grad]
        loss = torch.stack([y.abs().square().mean() for y in smooth]).sum()
        loss.backward()
        if step == 0:
            slopes = [None if p.grad is None else p.grad.clone() for p in module.parameters()]
        optimizer.step()
        losses.append(loss.item())
    return losses, slopes


def ratio(model: Model, training: bool = False) -> float:
    """Inductor's time over ours: the median of slots that alternate, with pauses for the pools' threads."""
    inputs, ways = model.make(2), {}
    for backend in (ascend, "inductor"):
        torch._dynamo.reset()
        module = without_dropping(copy.deepcopy(model.module)).train(training)
        ways[backend] = _step(torch.compile(module, backend=backend), module, inputs, training)
        for _ in range(2):
            ways[backend]()
    count = max(map(_calls, ways.values()))
    taken: dict[Any, list[float]] = {w: [] for w in ways}
    for _ in range(SLOTS):
        for way, function in ways.items():
            time.sleep(0.1)
            function()
            start = time.process_time()
            for _ in range(count):
                function()
            taken[way].append(time.process_time() - start)
    return statistics.median(b / a for a, b in zip(taken[ascend], taken["inductor"], strict=True))


def _calls(function: Callable[[], Any]) -> int:
    """How many take SLOT seconds: of a process with a limit, processor time goes by the system's ticks."""
    count, start = 0, time.process_time()
    while time.process_time() - start < SLOT:
        function()
        count += 1
    return count


def _step(made: Any, module: torch.nn.Module, inputs: Any, training: bool) -> Callable[[], None]:
    def infer() -> None:
        with torch.no_grad():
            made(**inputs)

    def train() -> None:
        module.zero_grad()
        smooth = [y for y in tensors(made(**inputs)) if y.requires_grad]
        torch.stack([y.abs().square().mean() for y in smooth]).sum().backward()

    return train if training else infer
