"""AMCT's config.json: made for a model, edited by hand, and read into the quantiser's settings."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ascend_ep import regular_file
from ascend_ep.accuracy.quantization.choice import Product, choose
from ascend_ep.accuracy.quantization.prepare import prepared, read
from ascend_ep.accuracy.quantization.settings import Settings
from ascend_ep.errors import AscendError, did_you_mean
from ascend_ep.graph.load import load_model
from ascend_ep.graph.naming import label
from ascend_ep.opdef.jsontext import strict_json
from ascend_ep.opdef.registry import Registry

from .definition_file import read_definition
from .members import DEFINITION, GLOBAL, LAYER, check

log = logging.getLogger("ascend_ep.amct")

_IFMR = {
    "max_percentile": 0.999999,
    "min_percentile": 0.999999,
    "search_range": [0.7, 1.3],
    "search_step": 0.01,
    "act_algo": "ifmr",
}
#: Members that change nothing here unless they have these values, and what holds instead.
_WITHOUT_EFFECT = {
    "do_fusion": (True, "the converter decides what is fused"),
    "skip_fusion_layers": ([], "the converter decides what is fused"),
    "joint_quant": (False, "each product has scales of its own"),
    "fakequant_precision_mode": ("DEFAULT", "the model computes in float32 beside its integers"),
    "nuq_config": (None, "weights keep 8 bits in equal steps"),
    "tensor_quantize": ([], "what lies between integers stays integers by itself"),
    "num_of_bins": (4096, "the number of elements that samples have decides"),
    "asymmetric": (None, "activation_offset says for all layers whether activations have offsets"),
}
#: What an algorithm of AMCT is here.
_METHODS = {"ifmr": "ifmr", "hfmg": "entropy"}


@dataclass(frozen=True)
class Configuration:
    """What a config.json says. `products`: the layers that are quantised."""

    settings: Settings
    batch_num: int
    products: tuple[Product, ...]


def layers_of(model: str | os.PathLike[str], registry: Registry) -> list[Product]:
    """The products of a model that can be quantised."""
    settings = Settings()
    proto = prepared(os.fspath(model), settings, registry, {})
    return choose(*read(proto, registry), settings)[0]


def create(
    model: str | os.PathLike[str],
    registry: Registry,
    skip_layers: Sequence[str] = (),
    batch_num: int = 1,
    activation_offset: bool = True,
    definition: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """The contents of a config.json. With `definition`, a .cfg, the other settings are its. Raises
    AscendError E10001."""
    where = os.fspath(definition) if definition else ""
    given: dict[str, Any] = {"skip_layers": skip_layers, "batch_num": batch_num}
    given["activation_offset"] = activation_offset
    check(given, DEFINITION, "", "")
    if definition:
        if given != {"skip_layers": (), "batch_num": 1, "activation_offset": True}:
            log.warning("with config_defination, skip_layers, batch_num and activation_offset change nothing")
        given = read_definition(Path(definition))
    check(given, DEFINITION, "", where)
    _say_without_effect(given)
    products = layers_of(model, registry)
    names = [p.name for p in products]
    skipped = given.get("skip_layers", [])
    _others(skipped, names, model, "skip_layers", where)
    overridden = [o["layer_name"] for o in given.get("override_layer_configs", ())]
    _say_float(_others(overridden, names, model, "layer_name", where))
    types = {p.node.op_type for p in products}
    for each in sorted({o["layer_type"] for o in given.get("override_layer_types", ())} - types):
        log.warning(
            "override_layer_types of %s changes nothing: the model has no such layer to quantise", each
        )
    found: dict[str, Any] = {
        "version": 1,
        "batch_num": given.get("batch_num", 1),
        "activation_offset": given.get("activation_offset", True),
        "do_fusion": given.get("do_fusion", True),
        "skip_fusion_layers": given.get("skip_fusion_layers", []),
    }
    for product in products:
        is_skipped = product.name in skipped or product.node.op_type in given.get("skip_layer_types", ())
        found[product.name] = {"quant_enable": not is_skipped, **_layer(product, given)}
        check(found[product.name], LAYER, product.name, where)
    return found


def _layer(product: Product, given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a layer: of all, of its kind, of its operator, and of itself; the last holds."""
    own = "conv_calibration_config" if product.node.op_type == "Conv" else "fc_calibration_config"
    sources = [given.get("common_config", {}), given.get(own, {})]
    sources += [
        o["calibration_config"]
        for key, field, name in (
            ("override_layer_types", "layer_type", product.node.op_type),
            ("override_layer_configs", "layer_name", product.name),
        )
        for o in given.get(key, ())
        if o[field] == name
    ]
    activation: dict[str, Any] = {**_IFMR}
    weight: dict[str, Any] = {"num_bits": 8, "wts_algo": "arq_quantize", "channel_wise": True}
    found: dict[str, Any] = {}
    for source in sources:
        _activation(source, activation)
        if "channel_wise" in source.get("arq_quantize", {}):
            weight["channel_wise"] = source["arq_quantize"]["channel_wise"]
        if "dmq_balancer" in source:
            found["dmq_balancer_param"] = source["dmq_balancer"].get("migration_strength", 0.5)
    activation = {"num_bits": 8, **activation}
    return found | {"activation_quant_params": activation, "weight_quant_params": weight}


def _activation(source: Mapping[str, Any], activation: dict[str, Any]) -> None:
    """Changes the settings of an activation to what `source` says of them."""
    if "hfmg_quantize" in source:
        activation.clear()
        activation |= {"act_algo": "hfmg", "num_of_bins": source["hfmg_quantize"].get("num_of_bins", 4096)}
    if "ifmr_quantize" in source and activation["act_algo"] != "ifmr":
        activation.clear()
        activation |= _IFMR
    for key, value in source.get("ifmr_quantize", {}).items():
        if key in ("search_range_start", "search_range_end"):
            pair = list(activation["search_range"])
            pair[key == "search_range_end"] = value
            activation["search_range"] = pair
        elif key in _IFMR:
            activation[key] = value


def load(path: str | os.PathLike[str], model: str | os.PathLike[str], registry: Registry) -> Configuration:
    """Reads a config.json that belongs to `model`. Raises AscendError E10001."""
    try:
        found = strict_json(regular_file.read(path), once=True)
    except (OSError, ValueError) as error:
        raise AscendError("E10001", os.fspath(path), "config_file", f"It can't be read: {error}.") from error
    if not isinstance(found, dict):
        raise AscendError("E10001", os.fspath(path), "config_file", "It is no object of JSON.")
    return understood(found, model, registry, os.fspath(path))


def understood(
    found: Mapping[str, Any], model: str | os.PathLike[str], registry: Registry, path: str = ""
) -> Configuration:
    """What the contents of a config.json, as `create` makes them, say of a model. Raises AscendError."""
    check({k: v for k, v in found.items() if k in GLOBAL}, GLOBAL, "", path)
    layers = {k: v for k, v in found.items() if k not in GLOBAL}
    products = layers_of(model, registry)
    others = _others(layers, [p.name for p in products], model, "config_file", path, GLOBAL)
    for name, members in layers.items():
        check(members, LAYER, name, path)
    _say_without_effect(found)
    enabled = {n: v for n, v in layers.items() if v.get("quant_enable", True)}
    _say_float(n for n in others if enabled.pop(n, None) is not None)
    if not enabled:
        raise AscendError("E10001", path, "config_file", "It quantises no layer.")
    skipped = frozenset(p.name for p in products if p.name not in enabled)
    settings = _settings(enabled, found.get("activation_offset", True), skipped)
    return Configuration(settings, found.get("batch_num", 1), tuple(p for p in products if p.name in enabled))


def _settings(layers: Mapping[str, Any], offset: bool, skipped: frozenset[str]) -> Settings:
    """The quantiser's settings are those of all layers: of layers that differ, the most precise."""
    activations = [v.get("activation_quant_params", {}) for v in layers.values()]
    weights = [v.get("weight_quant_params", {}) for v in layers.values()]
    methods = [a.get("act_algo", "ifmr") for a in activations]
    others = {"ifmr": ("num_of_bins",), "hfmg": tuple(k for k in _IFMR if k != "act_algo")}
    for name in sorted({k for a, m in zip(activations, methods, strict=True) for k in others[m] if k in a}):
        log.warning("%s changes nothing where act_algo is another", name)
    shares = [a.get(k, _IFMR[k]) for a in activations for k in ("max_percentile", "min_percentile")]
    wise = [w.get("channel_wise", True) for w in weights]
    searches = {str([a.get(k, _IFMR[k]) for k in ("search_range", "search_step")]) for a in activations}
    if searches != {str([_IFMR["search_range"], _IFMR["search_step"]])}:
        log.warning(
            "scales are searched from 0.7 to 1.3 by 0.01 here, whatever search_range and search_step say"
        )
    balances = [v.get("dmq_balancer_param", 0.0) for v in layers.values()]
    if len(set(balances)) > 1:
        log.warning("layers differ in dmq_balancer_param; the largest holds for all of them here")
    for name, values in (("act_algo", methods), ("percentile", shares), ("channel_wise", wise)):
        if len(set(values)) > 1:
            log.warning("layers differ in %s; one holds for all of them here, the most precise", name)
    return Settings(
        method=_METHODS["ifmr" if "ifmr" in methods else methods[0]],
        percentile=100 * max(shares),
        activation_offset=offset,
        channel_wise=any(wise),
        migration_strength=max(balances, default=0.0),
        skip_layers=skipped,
    )


def _say_without_effect(given: Mapping[str, Any]) -> None:
    """Warns of what a file says, at any depth, and nothing here takes notice of."""
    said = {
        name
        for members in _members(given)
        for name, (harmless, _) in _WITHOUT_EFFECT.items()
        if name in members and members[name] != harmless
    }
    for name in sorted(said):
        log.warning("%s changes nothing here: %s", name, _WITHOUT_EFFECT[name][1])


def _members(given: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(given, Mapping):
        yield given
    for inner in given.values() if isinstance(given, Mapping) else given if isinstance(given, list) else ():
        yield from _members(inner)


def _others(
    given: Iterable[str],
    quantised: Sequence[str],
    model: str | os.PathLike[str],
    name: str,
    where: str,
    members: Iterable[str] = (),
) -> list[str]:
    """Those of the given layers that stay in float anyway. Raises AscendError E10001 for one that the model
    doesn't have; `members`: what else may have been meant."""
    others = [each for each in given if each not in quantised]
    known = {label(node) for node in load_model(os.fspath(model)).graph} if others else set()
    for each in others:
        if each not in known:
            near = did_you_mean(each, [*members, *quantised, *known])
            raise AscendError("E10001", each, name, f"The model has no such layer.{near}", where=where)
    return others


def _say_float(layers: Iterable[str]) -> None:
    for each in layers:
        log.warning("%s stays in float, whatever is said of it: it isn't quantised here", each)
