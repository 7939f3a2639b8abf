"""Shape rules of operators that hold only for the shapes, or the number of dimensions, of their recording."""

from __future__ import annotations

from collections.abc import Sequence

from ascend_ep.frontends.tbe.generality import Sample


def static_rules(base: Sample) -> dict[str, str]:
    """Each output's dims as numbers, for inputs of exactly these shapes."""
    needed = _requirements(base, [list(s) for s in base.shapes])
    return {t.name: f"[{', '.join([*needed, *map(str, t.shape)])}]" for t in base.recording.outputs}


def rank_rules(base: Sample, others: Sequence[Sample]) -> dict[str, str] | None:
    """Each output's dims as those of inputs with this number of dimensions; None when some is neither a
    dimension of an input nor the same everywhere."""
    samples = [base, *others]
    needed = _requirements(base, [[-1] * len(s) for s in base.shapes])
    rules = {}
    for i, tensor in enumerate(base.recording.outputs):
        dims = []
        for axis in range(len(tensor.shape)):
            values = [s.recording.outputs[i].shape[axis : axis + 1] for s in samples]
            found = _dimension([v[0] if v else -1 for v in values], samples)
            if found is None:
                return None
            dims.append(found)
        rules[tensor.name] = f"[{', '.join([*needed, *dims])}]"
    return rules


def _requirements(base: Sample, wanted: Sequence[Sequence[int]]) -> list[str]:
    """Parts of a list of dims that are empty, and fail for other shapes."""
    names = [t.name for t in base.recording.inputs]
    return [f"*{name}.require({list(dims)})[:0]" for name, dims in zip(names, wanted, strict=True) if dims]


def _dimension(values: Sequence[int], samples: Sequence[Sample]) -> str | None:
    for i, tensor in enumerate(samples[0].recording.inputs):
        for axis in range(len(samples[0].shapes[i])):
            if [s.shapes[i][axis] for s in samples] == list(values) and values[0] != 1:
                return f"{tensor.name}.shape[{axis}]"
    return str(values[0]) if len(set(values)) == 1 else None
