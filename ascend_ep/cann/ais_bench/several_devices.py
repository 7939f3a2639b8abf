"""--device 0,1: a process for each device, which all begin when the last one is ready."""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import time
from collections.abc import Sequence
from typing import Any

from ascend_ep.cann.aclruntime.descriptions import tensor_desc
from ascend_ep.errors import AscendError

from .benchmark import run
from .input_files import files_in, split
from .interface import InferSession
from .log import logger
from .summary import Summary

#: Seconds that a device waits for the others.
PATIENCE = 60


def run_devices(given: argparse.Namespace, words: Sequence[str]) -> int:
    """Runs on all devices, and prints the throughput of each and the sum; 1 when one failed."""
    devices: list[int] = given.device
    logger.info(f"multidevice:{devices} run begin")
    shares = (
        _shares(given, len(devices)) if given.input and given.divide_input else [given.input] * len(devices)
    )
    stamp = time.strftime("%Y_%m_%d-%H_%M_%S")
    context = multiprocessing.get_context("spawn")
    ready, results = context.Barrier(len(devices)), context.Queue()
    workers = []
    for i, device in enumerate(devices):
        mine = argparse.Namespace(**vars(given))
        mine.device, mine.input = device, shares[i]
        mine.output_dirname = (
            os.path.join(given.output_dirname or stamp, f"device{device}") if given.output else None
        )
        workers.append(context.Process(target=_work, args=(i, mine, list(words), ready, results)))
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    found = sorted(results.get() for worker in workers if worker.exitcode == 0)
    status = 0 if len(found) == len(devices) else 1
    logger.info(f"multidevice run end qsize:{len(found)} result:{status}")
    for i, throughput, began, ended in found:
        print(f"i:{i} device_{devices[i]} throughput:{throughput} start_time:{began} end_time:{ended}")
    logger.info(f"summary throughput:{sum(throughput for _, throughput, _, _ in found)}")
    return status


def _work(number: int, given: argparse.Namespace, words: list[str], ready: Any, results: Any) -> None:
    summary = Summary()

    def wait() -> None:
        logger.info(f"subprocess_{number} ready to infer run")
        ready.wait(PATIENCE)

    try:
        began, ended = run(given, words, summary, wait)
    except AscendError as error:
        ready.abort()
        logger.error(str(error))
        raise SystemExit(1) from None
    except RuntimeError:  # the barrier is broken: another device failed
        raise SystemExit(1) from None
    results.put((number, summary.infodict["throughput"], began, ended))


def _shares(given: argparse.Namespace, count: int) -> list[str | None]:
    """The files of --input for each device: an equal share of those of every input."""
    session = InferSession(given.device[0], given.model)
    inputs: Sequence[tensor_desc] = session.get_inputs()
    session.finalize()
    named = given.input.split(",")
    files = [f for n in named for f in (files_in(n) if os.path.isdir(n) else [n])]
    each = [list(c) for c in split(files, math.ceil(len(files) / len(inputs)), None)]
    parts = [list(split(c, math.ceil(len(c) / count), None)) for c in each]
    return [",".join(f for p in parts if i < len(p) for f in p[i]) or None for i in range(count)]
