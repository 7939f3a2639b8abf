"""One benchmark on one device: warms up, runs every input, writes results and the summary."""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

from numpy.typing import NDArray

from ascend_ep import atomic_file
from ascend_ep.cann import aclruntime
from ascend_ep.cann.aclruntime.failure import Failure
from ascend_ep.cann.aclruntime.shape_choice import parse_shapes, shape_text

from .input_files import PURE, Run, read_input, runs_of
from .interface import InferSession
from .log import logger
from .output_files import write_outputs
from .summary import Summary

Array = NDArray[Any]


def run(
    given: argparse.Namespace, words: Sequence[str], summary: Summary, gate: Any = None
) -> tuple[float, float]:
    """One benchmark on one device: when it began and ended, warm-up aside. `gate` waits until others are
    ready, too. Raises Failure."""
    logger.setLevel(logging.DEBUG if given.debug else logging.INFO)
    summary.reset()
    benchmark = Benchmark(given, summary)
    benchmark.warm_up()
    if gate is not None:
        gate()
    began = time.time()
    benchmark.run_all()
    ended = time.time()
    benchmark.report(words)
    return began, ended


class Benchmark:
    """An open model with the shapes that the options choose, and the runs that they ask for."""

    def __init__(self, given: argparse.Namespace, summary: Summary) -> None:
        self.given, self.summary = given, summary
        self.automatic = given.auto_set_dymshape_mode or given.auto_set_dymdims_mode
        self.session = InferSession(given.device, given.model, _settings_file(given), given.debug, given.loop)
        self._choose_shapes()
        logger.debug(f"session info:{self.session.session}")
        self.inputs = self.session.get_inputs()
        if given.batchsize is None:
            given.batchsize = self._batch()
            logger.info(f"try get model batchsize:{given.batchsize}")
        self.folder = self._make_folder()
        self.runs = runs_of(given.input, self.inputs, self.automatic)

    def _choose_shapes(self) -> None:
        given, session = self.given, self.session
        if given.dymBatch:
            session.set_dynamic_batchsize(given.dymBatch)
        elif given.dymHW:
            session.set_dynamic_hw(*map(int, given.dymHW.split(",")))
        elif given.dymDims:
            session.set_dynamic_dims(given.dymDims)
        elif given.dymShape:
            session.set_dynamic_shape(given.dymShape)
        else:
            session.set_staticbatch()
        if given.outputSize:
            session.set_custom_outsize(given.outputSize)

    def _batch(self) -> int:
        """The first dim of the first input."""
        first = self.inputs[0]
        chosen = parse_shapes(self.given.dymDims or self.given.dymShape or "")
        if self.given.dymBatch:
            return int(self.given.dymBatch)
        shape = chosen.get(first.name, first.shape)
        return int(shape[0]) if shape else 1

    def _make_folder(self) -> str | None:
        if self.given.output is None:
            return None
        name = self.given.output_dirname or time.strftime("%Y_%m_%d-%H_%M_%S")
        folder = os.path.join(self.given.output, name)
        try:
            os.makedirs(folder, 0o755, exist_ok=True)
        except OSError as error:
            raise Failure("E45008", folder, error.strerror) from None
        logger.info(f"output path:{folder}")
        return folder

    # --- running ------------------------------------------------------------------------------

    def warm_up(self) -> None:
        """Runs the first input as often as asked, and forgets the times."""
        feeds = self._read(self.runs[0])
        self.session.set_loop_count(1)
        for _ in range(self.given.warmup_count):
            self._infer(feeds)
        self.session.set_loop_count(self.given.loop)
        self.session.reset_summaryinfo()
        self.summary.reset()
        aclruntime.MemorySummary.reset()
        logger.info(f"warm up {self.given.warmup_count} done")

    def run_all(self) -> None:
        """Runs every input and writes its outputs, as --run_mode and --pipeline say."""
        mode, given = self.given.run_mode, self.given
        if given.pipeline:
            return self._run_pipeline()
        if mode == "full":
            feeds = [self._read(run) for run in self.runs]
            results = [self._infer(feed) for feed in _shown(feeds, "Inference Processing full")]
            for i, outputs in enumerate(results):
                self._write(outputs, i)
            return None
        for i, run in enumerate(_shown(self.runs, f"Inference {mode} Processing")):
            self._write(self._infer(self._read(run)), i)
        return None

    def _run_pipeline(self) -> None:
        """The next files are read while a run computes; with several threads, several runs compute."""
        count = self.given.threads
        with ThreadPoolExecutor(count) as workers:
            if count == 1:
                read = (workers.submit(self._read, run) for run in self.runs)
                for i, feeds in enumerate(_shown(_one_ahead(read), "Inference pipeline Processing")):
                    self._write(self._infer(feeds.result()), i)
                return
            if self.automatic:
                raise Failure(
                    "E45002", "several threads can't choose shapes at once", fix="Leave out --threads."
                )
            jobs = [workers.submit(self._whole_run, run) for run in self.runs]
            for i, job in enumerate(_shown(jobs, "Inference pipeline Processing")):
                self._write(job.result(), i)

    def _whole_run(self, run: Run) -> list[Array]:
        return self._infer(self._read(run))

    def _read(self, run: Run) -> list[Array]:
        given = self.given
        if given.run_mode == "files":
            named = [file for files in run for file in files]
            if PURE in named or any(file.lower().endswith(".npy") for file in named):
                raise Failure(
                    "E45002", "--run_mode files takes .bin files", fix="Leave it out, or give .bin files."
                )
        return [
            read_input(files, desc, given.pure_data_type, self.automatic)
            for files, desc in zip(run, self.inputs, strict=True)
        ]

    def _infer(self, feeds: list[Array]) -> list[Array]:
        if self.automatic:
            text = shape_text([d.name for d in self.inputs], [a.shape for a in feeds])
            if self.given.auto_set_dymshape_mode:
                self.session.set_dynamic_shape(text)
            else:
                self.session.set_dynamic_dims(text)
            if feeds[0].ndim:
                self.summary.add_batchsize(feeds[0].shape[0])
        given: Sequence[Any] = feeds
        if self.given.run_mode in ("tensor", "full"):
            given = [self.session.create_tensor_from_arrays_to_device(a) for a in feeds]
        outputs = self.session.run(given)
        self.session.convert_tensors_to_host(outputs)
        return self.session.convert_tensors_to_arrays(outputs)

    def _write(self, outputs: list[Array], number: int) -> None:
        if self.folder is not None:
            given = self.given
            run = self.runs[number]
            axis = given.output_batchsize_axis
            write_outputs(outputs, self.folder, run, number, given.outfmt, axis, self.summary)

    # --- reporting ----------------------------------------------------------------------------

    def report(self, words: Sequence[str]) -> None:
        """The summary's lines and file; the model is closed."""
        summary, given = self.summary, self.given
        summary.add_args([sys.argv[0], *words])
        times = self.session.summary().exec_time_list
        several = given.pipeline and given.threads > 1
        summary.npu_compute_time_list, summary.npu_compute_time_interval_list = (
            times,
            times if several else [],
        )
        summary.h2d_latency_list = aclruntime.MemorySummary.H2D_time_list
        summary.d2h_latency_list = aclruntime.MemorySummary.D2H_time_list
        summary.report(given.batchsize, self.folder, given.display_all_summary, several)
        self.session.finalize()


def _settings_file(given: argparse.Namespace) -> str | None:
    """--acl_json_path, or the file that --profiler or --dump writes."""
    if given.acl_json_path is not None or not (given.profiler or given.dump):
        return cast(str | None, given.acl_json_path)
    folder = os.path.join(given.output, "profiler" if given.profiler else "dump")
    path = os.path.join(given.output, "acl.json")
    try:
        os.makedirs(folder, 0o755, exist_ok=True)
        atomic_file.write(Path(path), json.dumps(_asked(given, folder), indent=4))
    except OSError as error:
        raise Failure("E45008", path, error.strerror) from None
    return path


def _asked(given: argparse.Namespace, folder: str) -> dict[str, Any]:
    """The settings that --profiler or --dump stands for."""
    if given.profiler:
        return {"profiler": {"switch": "on", "aicpu": "on", "output": folder, "aic_metrics": ""}}
    model = os.path.splitext(os.path.basename(given.model))[0]
    return {"dump": {"dump_path": folder, "dump_mode": "all", "dump_list": [{"model_name": model}]}}


def _one_ahead(items: Iterable[Any]) -> Iterator[Any]:
    """The items, each taken before the one ahead of it is used."""
    waiting: list[Any] = []
    for item in items:
        waiting.append(item)
        if len(waiting) > 1:
            yield waiting.pop(0)
    yield from waiting


def _shown(items: Sequence[Any] | Iterable[Any], title: str) -> Iterator[Any]:
    """The items, with a line of progress: one that changes on a terminal, one at the end elsewhere."""
    count, done = (len(items) if isinstance(items, Sequence) else None), 0
    changes = sys.stdout.isatty()
    for item in items:
        yield item
        done += 1
        if changes:
            print(f"\r{title}: {done}{'' if count is None else f'/{count}'}", end="", flush=True)
    print(f"{chr(13) if changes else ''}{title}: 100%| {done}/{count or done}", flush=True)
