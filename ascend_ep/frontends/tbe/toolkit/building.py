"""Schedules and builds: what a file builds is recorded; how it would be scheduled is ours to choose."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ascend_ep.frontends.tbe.toolkit.failure import DSL, WARNINGS, DslError
from ascend_ep.frontends.tbe.toolkit.tensors import SESSION, Tensor


class Schedule:
    """What auto_schedule and create_schedule give."""

    def __init__(self, outputs: Any) -> None:
        self.outs = outputs if isinstance(outputs, list | tuple) else [outputs]
        self.stages: list[Any] = []
        self.cce_special: dict[str, Any] = {"tensor_list": (), "real_out_tensor": self.outs}

    def __getitem__(self, _tensor: object) -> Stage:
        return Stage()

    def __getattr__(self, name: str) -> Any:
        return _primitive(name)


#: The primitives of tvm's schedules. None changes what is computed, so none is recorded.
_PRIMITIVES = frozenset(
    [
        "split",
        "fuse",
        "reorder",
        "tile",
        "vectorize",
        "unroll",
        "parallel",
        "bind",
        "compute_at",
        "compute_inline",
        "compute_root",
        "pragma",
        "double_buffer",
        "set_scope",
        "emit_insn",
        "buffer_align",
        "storage_align",
        "set_buffer_size",
        "buffer_tile",
        "mem_unique",
        "reused_by",
        "allocate_at",
        "set_value_shape",
        "cache_read",
        "cache_write",
        "rfactor",
        "normalize",
        "preload",
        "env_threads",
        "prefetch",
        "bind_buffer",
        "partial_write",
        "hierarchy_split",
    ]
)


def _primitive(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    if name not in _PRIMITIVES:
        raise DslError(DSL, f"schedules have no primitive {name[:40]}")
    if name in ("cache_read", "cache_write"):
        return lambda tensor, *_arguments, **_named: tensor
    two = name in ("split", "tile")
    return lambda *_arguments, **_named: (Axis(), Axis()) if two else Axis()


class Stage:
    """`schedule[tensor]`: primitives have no effect on results."""

    def __getattr__(self, name: str) -> Any:
        return (
            self
            if name == "op"
            else _Axes()
            if name in ("axis", "reduce_axis", "leaf_iter_vars")
            else _primitive(name)
        )


class Axis:
    """A loop of a schedule."""


class _Axes:
    def __getitem__(self, index: object) -> Any:
        return [Axis()] * 8 if isinstance(index, slice) else Axis()

    def __iter__(self) -> Iterator[Axis]:
        return iter([Axis()] * 8)


def create_schedule(operations: Any) -> Schedule:
    """tvm.create_schedule of tensors or their operations."""
    listed = operations if isinstance(operations, list | tuple) else [operations]
    return Schedule([getattr(o, "_tensor", o) for o in listed])


def auto_schedule(outs: Any, option: object = None, **_ignored: object) -> Schedule:
    """The schedule of one or several outputs."""
    for tensor in _flat(outs):
        if not isinstance(tensor, Tensor):
            raise DslError(DSL, f"auto_schedule takes tensors, not a {type(tensor).__name__}")
    return Schedule(outs)


def build(sch: Any, config_map: Any = None, *arguments: Any, **named: Any) -> Function:
    """dsl.build(schedule, {"name", "tensor_list"}), and tvm.build(schedule, tensors, "cce", name=...)."""
    if isinstance(config_map, dict):
        tensors, name = config_map.get("tensor_list"), config_map.get("name", "")
    else:
        tensors, name = config_map, named.get("name", "")
    if not isinstance(tensors, list | tuple):
        raise DslError(DSL, 'build takes a schedule and {"name": ..., "tensor_list": [...]}')
    SESSION.builds.append((str(name)[:128], list(tensors)))
    return Function(str(name))


class Function:
    """What a build gives."""

    def __init__(self, name: str) -> None:
        self.entry_name = name

    def export_library(self, path: str, *_ignored: object) -> None:
        """The kernel is written by the one who runs the file, under the name that was asked for there."""
        WARNINGS.add(
            f"export_library({str(path)[:80]!r}) writes nothing: the operator's own files are written instead"
        )

    save = export_library


def _flat(values: Any) -> Iterator[Any]:
    if isinstance(values, list | tuple):
        for v in values:
            yield from _flat(v)
    else:
        yield values


def cases_of(tensors: list[Any]) -> list[list[Tensor]]:
    """The tensor lists of a build: one, or one for each case of a file with run-time shapes."""
    if tensors and all(isinstance(t, list | tuple) for t in tensors):
        return [list(_flat(case)) for case in tensors]
    return [list(_flat(tensors))]


@contextlib.contextmanager
def context(*_arguments: object, **_named: object) -> Iterator[None]:
    """`with tvm.target.cce():`, `with tbe.compute():`, `with build_config():`."""
    yield


class BuildConfig:
    """te.platform's build_config: a context by itself and when called."""

    def __call__(self, *_arguments: object, **_named: object) -> BuildConfig:
        return self

    def __enter__(self) -> BuildConfig:
        return self

    def __exit__(self, *_error: object) -> None:
        return None


def updated(config: Any, *_settings: object) -> Any:
    """build_config_update(config, key, value): the configuration, of which nothing depends."""
    return config


class Target:
    """tvm.target: every target is the expression form."""

    def __getattr__(self, name: str) -> Any:
        if name in ("cce", "ascend", "create", "Target", "llvm"):
            return context
        raise AttributeError(name)

    def __call__(self, *_arguments: object) -> Any:
        return context()
