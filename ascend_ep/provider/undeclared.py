"""What onnxruntime refuses because nobody declares an operator, said as ascend-atc says it.

onnxruntime ends at the first such operator, with its name. Here all of them are named, each with what it may
have been meant to be and a definition to fill in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ascend_ep.errors import AscendError

if TYPE_CHECKING:
    from ascend_ep.opdef.registry import Registry

#: onnxruntime's words for an operator without a schema: in its own domain, and in others.
_UNKNOWN = ("No Op registered for", "is not a registered function/op")

_OPTION = 'provider_options=[{{"custom_op_info": "{file}"}}]'


def is_of_onnxruntime(error: BaseException) -> bool:
    """Whether onnxruntime raised it."""
    return type(error).__module__.startswith("onnxruntime.")


def explain(error: Exception, model: str | bytes, registry: Registry) -> AscendError | None:
    """The error in place of onnxruntime's, if that was about operators that nobody declares, else None.

    It is an AscendError E19010, and of onnxruntime's class as well: programs that catch that still do.
    """
    if not is_of_onnxruntime(error) or not any(words in str(error) for words in _UNKNOWN):
        return None
    try:
        found = _undeclared(model, registry)
    except AscendError as other:  # the model can't be read, or a definition: that is what there is to mend
        found = other
    if found is None:
        return None
    both = type("AscendError", (AscendError, type(error)), {"__module__": AscendError.__module__})
    if found.details[:1] == (found.text,):  # said in the first line
        found.details = found.details[1:]
    found.__class__ = both
    return found


def _undeclared(model: str | bytes, registry: Registry) -> AscendError | None:
    from ascend_ep.compiler.claims import host_runs
    from ascend_ep.compiler.semantics import Semantics, undefined
    from ascend_ep.graph.load import load_model

    loaded = load_model(model)
    semantics = Semantics(loaded, registry)
    graphs = [loaded.graph, *loaded.graph.subgraphs(), *loaded.functions.values()]
    missing = {
        node: semantics.near_misses(node)
        for graph in graphs
        for node in graph
        if not host_runs(node, semantics) and semantics.definition(node) is None
    }
    if not missing:
        return None
    where = "the given bytes" if isinstance(model, bytes) else model
    return undefined(missing, where, {n: semantics.version(n) for n in missing}, _OPTION)
