"""A quantisation: calibrate, insert nodes, measure, and keep in float what an accuracy needs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import onnx
import onnx_ir as ir
from onnx_ir.passes import common

from ascend_ep.accuracy.keep_search import Accuracy, shortest_list
from ascend_ep.accuracy.node_errors import Measure
from ascend_ep.compiler.convert_options import Source
from ascend_ep.errors import AscendError
from ascend_ep.graph.naming import label
from ascend_ep.opdef.registry import Registry

from .bias_correction import last_products, own_shifts, shifts_at_the_end, take_off
from .choice import Product, choose, quantised_values
from .insertion import quantise_values, quantise_weights
from .observe import Array, Floats, Sample, Seen, count_elements, ranges_seen, second_moments, session_of
from .own_errors import cut_model, own_errors
from .prepare import inputs_of, prepared, read
from .ranges import Scale, scale_of
from .settings import Settings
from .smoothing import smooth

log = logging.getLogger("ascend_ep.quantization")


@dataclass(frozen=True)
class Row:
    """A product: quantised, or why not. `error`: of the product alone, of the root mean squares of its
    result."""

    name: str
    op_type: str
    quantised: bool
    reason: str
    error: float | None


class Quantization:
    """Of one model. `calibrate` first; then `model` inserts the nodes, but at those kept in float."""

    def __init__(
        self,
        source: Source,
        settings: Settings,
        registry: Registry | None = None,
        shapes: dict[str, list[int | str]] | None = None,
        progress: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.settings = settings
        self.registry = registry or Registry.from_options()
        self.float_model = prepared(source, settings, self.registry, shapes or {})
        self.inputs = inputs_of(self.float_model)
        self.progress = progress
        self._smoothed = self.float_model
        self._samples: Sequence[Sample] = ()
        self._seen: dict[str, Seen] = {}
        self._errors: dict[str, float] | None = None
        self._known: tuple[Sequence[Sample], dict[str, Array]] | None = None

    def calibrate(self, samples: Sequence[Sample]) -> None:
        """Runs the float model on the samples, twice but for min-max, and once more for GPTQ. Raises
        AscendError E40001 where they show nothing of an activation."""
        self._samples = samples
        model, facts = read(self.float_model, self.registry)
        products, _ = choose(model, facts, self.settings)
        if not self.settings.activations or not products:
            return
        if self.settings.migration_strength > 0 and any(p.is_matrix for p in products):
            wanted = {str(p.x.name): True for p in products if p.is_matrix}
            self.progress("channels of activations")
            seen = self._ranges(self.float_model, wanted, products)
            smooth(model.graph, products, seen, self.settings.migration_strength)
            self._smoothed = ir.to_proto(model)
            model, facts = read(self._smoothed, self.registry)
            products, _ = choose(model, facts, self.settings)
        names = dict.fromkeys((str(v.name) for v in quantised_values(model.graph, products)), False)
        self.progress(f"ranges of {len(names)} activations over {len(samples)} samples")
        self._seen = self._ranges(self._smoothed, names, products)
        if self.settings.method != "min-max":
            self.progress("histograms of activations")
            count_elements(self._smoothed, self._seen, samples, self.registry)

    def model(self, kept: Sequence[str] = ()) -> onnx.ModelProto:
        """The quantised model; products of these names stay in float."""
        model, products = self._inserted(frozenset(kept), self._shifts)
        proto = ir.to_proto(model)
        ends = {result: products[result] for result in last_products(model.graph, products)}
        if not ends or not self.settings.bias_correction:
            return proto
        more = shifts_at_the_end(self._smoothed, proto, ends, self._samples, self.registry)
        # the own shift has left the bias of these results already, but for a MatMul's, which is an Add's
        for result in (r for r in more if products[r].node.op_type != "MatMul"):
            more[result] = more[result] + self._shifts.get(result, 0.0)
        return ir.to_proto(self._inserted(frozenset(kept), self._shifts | more)[0])

    def measures(self, model: onnx.ModelProto, samples: Sequence[Sample]) -> dict[str, Measure]:
        """The floating outputs of a model of this one's inputs, in our runtime, against the float model's."""
        session = session_of(model, self.registry)
        names = [o.name for o in session.session.get_outputs()]
        found: dict[str, list[Array]] = {name: [] for name in names}
        for sample in samples:
            for name, array in zip(names, session.run(names, dict(sample)), strict=True):
                found[name].append(_rows(array))
        return {
            name: Measure.of(np.concatenate(arrays), wanted, 0)
            for name, arrays in found.items()
            if (wanted := self._expected(samples).get(name)) is not None and wanted.dtype.kind == "f"
        }

    def search(self, accuracy: Accuracy, samples: Sequence[Sample]) -> list[str]:
        """The fewest products to keep in float that reach `accuracy`, those with the largest errors of their
        own first. Raises AscendError E41024 when none do."""
        errors = self.errors(samples)
        names = sorted(errors, key=lambda name: -errors[name])

        def holds(kept: Sequence[str]) -> bool:
            return all(accuracy.holds(m) for m in self.measures(self.model(kept), samples).values())

        return shortest_list(names, holds, lambda text: self.progress(f"search: {text}"), "E41024")

    def errors(self, samples: Sequence[Sample]) -> dict[str, float]:
        """Of every product, by name, the error of its result when the float model's activations come in."""
        if self._errors is None:
            model, products = self._inserted(frozenset(), self._shifts)
            results = {p.name: result for result, p in products.items()}
            given = cut_model(model, set(products))
            self.progress(f"errors of {len(results)} products by themselves")
            found = own_errors(
                self._smoothed, model, given, list(results.values()), samples[:4], self.registry
            )
            self._errors = {name: found[result] for name, result in results.items()}
        return self._errors

    def rows(self, kept: Sequence[str], samples: Sequence[Sample]) -> list[Row]:
        """Every product of the model, in order."""
        model, facts = read(self._smoothed, self.registry)
        products, refused = choose(model, facts, self.settings)
        errors = self.errors(samples)
        why = {r.name: r for r in refused}
        names = {p.name: p for p in products}
        found = []
        for node in model.graph:
            name = label(node)
            if name in names:
                reason = "the accuracy needs it in float" if name in kept else ""
                found.append(Row(name, node.op_type, not reason, reason, errors.get(name)))
            elif name in why:
                found.append(Row(name, node.op_type, False, why[name].reason, None))
        return found

    def _expected(self, samples: Sequence[Sample]) -> dict[str, Array]:
        """The float model's outputs, rows of all samples one after another; of the samples asked for last."""
        if self._known is None or self._known[0] is not samples:
            session = session_of(self.float_model, self.registry)
            names = [o.name for o in session.session.get_outputs()]
            runs = [session.run(names, dict(sample)) for sample in samples]
            joined = [np.concatenate([_rows(a) for a in arrays]) for arrays in zip(*runs, strict=True)]
            self._known = (samples, dict(zip(names, joined, strict=True)))
        return self._known[1]

    def _inserted(
        self, kept: frozenset[str], shifts: Mapping[str, Floats]
    ) -> tuple[ir.Model, dict[str, Product]]:
        """The model, and its quantised products by the names of their results. `shifts` leave biases."""
        model, facts = read(self._smoothed, self.registry)
        products = [p for p in choose(model, facts, self.settings)[0] if p.name not in kept]
        roots = quantised_values(model.graph, products) if self.settings.activations else {}
        scales = {str(v.name): self._scales[str(v.name)] for v in {*roots, *roots.values()}}
        for product in products:
            shift = shifts.get(str(product.node.outputs[0].name))
            if shift is not None:
                take_off(model.graph, product, shift)
            x = scales[str(roots[product.x].name)] if product.x in roots else None
            moment = self._moments.get(str(product.x.name))
            quantise_weights(model.graph, product, x, self.settings, moment)
        quantise_values(model.graph, roots, scales)
        common.RemoveUnusedNodesPass()(model)  # and the float weights
        return model, {str(p.node.outputs[0].name): p for p in products}

    def _ranges(
        self, proto: onnx.ModelProto, values: Mapping[str, bool], products: Sequence[Product]
    ) -> dict[str, Seen]:
        """What `ranges_seen` finds. Raises AscendError E40001 where no element is finite."""
        found = ranges_seen(proto, values, self._samples, self.registry)
        for name, seen in found.items():
            if seen.low > seen.high:
                raise self._unseen(name, products)
            if seen.strange:
                said = "%d of %d elements of [%s] aren't finite, and don't count"
                log.warning(said, seen.strange, seen.size, name)
        return found

    def _unseen(self, name: str, products: Sequence[Product]) -> AscendError:
        readers = [f", which [{p.name}] reads," for p in products if str(p.x.name) == name] or [""]
        return AscendError(
            "E40001",
            f"no element of [{name}]{readers[0]} is finite in any of {len(self._samples)} samples",
            fix="Calibrate by samples that reach it, or leave the layer in float: skip_layers.",
        )

    @cached_property
    def _scales(self) -> dict[str, Scale]:
        return {name: scale_of(seen, self.settings) for name, seen in self._seen.items()}

    @cached_property
    def _shifts(self) -> dict[str, Floats]:
        """What quantisation adds to the mean of each channel, by the names of products' results."""
        if not self.settings.bias_correction:
            return {}
        model, products = self._inserted(frozenset(), {})
        given = cut_model(model, set(products))
        self.progress(f"shifts of {len(products)} products' means")
        return own_shifts(self._smoothed, model, given, products, self._samples, self.registry)

    @cached_property
    def _moments(self) -> dict[str, Floats]:
        if not self.settings.gptq:
            return {}
        model, facts = read(self._smoothed, self.registry)
        products = [p for p in choose(model, facts, self.settings)[0] if p.is_matrix]
        names = list(dict.fromkeys(str(p.x.name) for p in products))
        self.progress("second moments of activations")
        found = second_moments(self._smoothed, names, self._samples, self.registry)
        for name in names:
            if name not in found:
                raise self._unseen(name, products)
        return found


def _rows(array: Array) -> Array:
    """As a matrix, whose rows are along the last axis."""
    return array.reshape(-1, array.shape[-1] if array.ndim and array.shape[-1] else 1)
