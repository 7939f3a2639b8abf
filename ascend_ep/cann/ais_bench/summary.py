"""The summary of a benchmark: its lines, and the file `..._summary.json`."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ascend_ep import atomic_file
from ascend_ep.cann.aclruntime.failure import Failure

from .log import logger

#: The percentile that is shown.
SCALE = 99


class Summary:
    """Times in milliseconds, and which files went in and came out."""

    def __init__(self) -> None:
        self.infodict: dict[str, Any] = {"filesinfo": {}}
        self.reset()

    def reset(self) -> None:
        """Forgets the times."""
        self.h2d_latency_list: Sequence[float] = []
        self.d2h_latency_list: Sequence[float] = []
        self.npu_compute_time_list: Sequence[float] = []
        #: start and end of each run of several threads
        self.npu_compute_time_interval_list: Sequence[Any] = []
        self._batchsizes: list[int] = []

    def add_batchsize(self, size: int) -> None:
        """The batch of one run; the mean of them counts instead of the one that `report` is given."""
        self._batchsizes.append(size)

    def add_args(self, args: Sequence[str]) -> None:
        self.infodict["args"] = list(args)

    def add_sample_id_infiles(self, sample_id: int, infiles: Sequence[str]) -> None:
        """The files of a sample's inputs, unless it has some."""
        found = self._sample(sample_id)["infiles"]
        if not found:
            found.extend(map(str, infiles))

    def append_sample_id_outfile(self, sample_id: int, outfile: str) -> None:
        self._sample(sample_id)["outfiles"].append(outfile)

    def _sample(self, sample_id: int) -> Any:
        return self.infodict["filesinfo"].setdefault(sample_id, {"infiles": [], "outfiles": []})

    def report(
        self,
        batchsize: float,
        output_prefix: str | None,
        display_all_summary: bool = False,
        multi_threads: bool = False,
    ) -> None:
        """Prints the lines and writes `<output_prefix>_summary.json`.

        multi_threads: runs overlap, so the throughput is over the time from the first start to the last end.
        Raises Failure E45008.
        """
        if self._batchsizes:
            batchsize = sum(self._batchsizes) / len(self._batchsizes)
        if multi_threads:
            self.npu_compute_time_list = [end - start for start, end in self.npu_compute_time_interval_list]
        times = {
            "NPU_compute_time": self.npu_compute_time_list,
            "H2D_latency": self.h2d_latency_list,
            "D2H_latency": self.d2h_latency_list,
        }
        found = {name: _statistics(values) for name, values in times.items()}
        mean = self._mean_of_threads() if multi_threads else found["NPU_compute_time"]["mean"]
        throughput = 1000 * batchsize / mean if mean else 0.0
        pid = os.getpid()
        computed = [float(t) for t in self.npu_compute_time_list]
        self.infodict |= {**found, "throughput": throughput, "npu_compute_time_list": computed, "pid": pid}
        logger.info("-----------------Performance Summary------------------")
        shown = (
            ("H2D_latency", "NPU_compute_time", "D2H_latency")
            if display_all_summary
            else ("NPU_compute_time",)
        )
        for name in shown:
            logger.info(f"{name} (ms): {_line(found[name])}")
        logger.info(
            f"throughput 1000*batchsize.mean({batchsize})/NPU_compute_time.mean({mean}): {throughput}"
        )
        logger.info("------------------------------------------------------")
        if output_prefix is not None:
            self.write(f"{output_prefix}_summary.json")

    def _mean_of_threads(self) -> float:
        intervals = self.npu_compute_time_interval_list
        if not intervals:
            return 0.0
        return float(max(end for _, end in intervals) - min(start for start, _ in intervals)) / len(intervals)

    def write(self, path: str) -> None:
        """Writes all that is known as JSON. Raises Failure E45008."""
        try:
            atomic_file.write(Path(path), json.dumps(self.infodict))
        except OSError as error:
            raise Failure("E45008", path, error.strerror) from None


def _statistics(values: Sequence[float]) -> dict[str, float]:
    if not len(values):
        found = dict.fromkeys(("min", "max", "mean", "median", f"percentile({SCALE}%)"), 0.0)
    else:
        array = np.array([float(v) for v in values])
        found = {
            "min": float(array.min()),
            "max": float(array.max()),
            "mean": float(array.mean()),
            "median": float(np.median(array)),
            f"percentile({SCALE}%)": float(np.percentile(array, SCALE)),
        }
    return {**found, "count": len(values)}


def _line(found: dict[str, float]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in found.items() if name != "count")


#: The one of the process.
summary = Summary()
