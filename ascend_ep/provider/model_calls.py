"""onnxruntime's session of a model, for programs with `import ascend_ep as ort`: it takes the values and the
options of runs that such a program makes, which are this package's own.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from ascend_ep.runtime.options import RunOptions, onnxruntime
from ascend_ep.runtime.ort_value import OrtValue


@functools.cache
def session_class() -> Any:
    """A subclass of onnxruntime's InferenceSession."""
    sessions: Any = onnxruntime().InferenceSession
    bindings: Any = onnxruntime().IOBinding

    class InferenceSession(sessions):  # type: ignore[misc]
        def run(self, output_names: Any, input_feed: Mapping[str, Any], run_options: Any = None) -> Any:
            return super().run(output_names, _values(input_feed), _options(run_options))

        def run_async(
            self, output_names: Any, input_feed: Any, callback: Any, user_data: Any, run_options: Any = None
        ) -> None:
            super().run_async(output_names, _values(input_feed), callback, user_data, _options(run_options))

        def run_with_ort_values(
            self, output_names: Any, input_dict_ort_values: Mapping[str, Any], run_options: Any = None
        ) -> Any:
            return super().run_with_ort_values(
                output_names, _values(input_dict_ort_values), _options(run_options)
            )

        def run_with_iobinding(self, iobinding: Any, run_options: Any = None) -> None:
            super().run_with_iobinding(iobinding, _options(run_options))

        def run_with_ortvaluevector(
            self, run_options: Any, feed_names: Any, feeds: Any, fetch_names: Any, fetches: Any, devices: Any
        ) -> None:
            super().run_with_ortvaluevector(
                _options(run_options), feed_names, feeds, fetch_names, fetches, devices
            )

        def io_binding(self) -> Any:
            return Binding(self)

    class Binding(bindings):  # type: ignore[misc]
        def bind_ortvalue_input(self, name: str, ortvalue: Any) -> None:
            super().bind_ortvalue_input(name, _value(ortvalue))

        def bind_ortvalue_output(self, name: str, ortvalue: Any) -> None:
            super().bind_ortvalue_output(name, _value(ortvalue))

    return InferenceSession


def _options(given: Any) -> Any:
    return given.for_host() if isinstance(given, RunOptions) else given


def _value(given: Any) -> Any:
    """Of one memory with ours: what is written to the one is in the other."""
    return onnxruntime().OrtValue.ortvalue_from_numpy(given.numpy()) if isinstance(given, OrtValue) else given


def _values(given: Any) -> Any:
    return {name: _value(value) for name, value in given.items()} if isinstance(given, Mapping) else given
