"""torch_npu's own profiler, by the lines of public programs; prints the folders that it made, as JSON.

A schedule with a trace handler, as kernels are timed; the timeline of one step, as benchmarks read it; and
both kinds of export with memory and stacks, around a training step.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
import torch_npu
from torch_npu.profiler import (
    AiCMetrics,
    ExportType,
    ProfilerActivity,
    ProfilerLevel,
    _ExperimentalConfig,
    profile,
    schedule,
    tensorboard_trace_handler,
)

BOTH = [ProfilerActivity.CPU, ProfilerActivity.NPU]


def scheduled(folder: Path) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.Linear(128, 8)).npu()
    x = torch.randn(32, 64).npu()
    config = _ExperimentalConfig(
        profiler_level=ProfilerLevel.Level2,
        aic_metrics=AiCMetrics.PipeUtilization,
        data_simplification=False,
    )
    with (
        torch.no_grad(),
        profile(
            activities=BOTH,
            schedule=schedule(wait=1, warmup=1, active=5, repeat=1),
            on_trace_ready=tensorboard_trace_handler(str(folder), analyse_flag=True),
            record_shapes=True,
            experimental_config=config,
        ) as prof,
    ):
        for _ in range(7):
            model(x)
            torch_npu.npu.synchronize()
            prof.step()


def timeline(file: Path) -> None:
    x = torch.randn(64, 64).npu()
    with profile(
        activities=[ProfilerActivity.NPU], schedule=schedule(wait=1, warmup=0, active=1, repeat=1)
    ) as prof:
        for _ in range(2):
            for _ in range(3):
                torch.softmax(x, -1)
            torch.npu.synchronize()
            prof.step()
    prof.export_chrome_trace(str(file))


def trained(folder: Path) -> None:
    model = torch.nn.Linear(32, 8).npu()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    config = _ExperimentalConfig(
        export_type=[ExportType.Text, ExportType.Db], profiler_level=ProfilerLevel.Level1
    )
    prof = profile(
        activities=BOTH,
        with_stack=True,
        profile_memory=True,
        experimental_config=config,
        on_trace_ready=tensorboard_trace_handler(str(folder)),
    )
    prof.start()
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.randn(4, 32).npu()).square().mean().backward()
        optimizer.step()
        prof.step()
    torch.npu.synchronize()
    prof.stop()


if __name__ == "__main__":
    here = Path(sys.argv[1])
    scheduled(here / "scheduled")
    timeline(here / "timeline.json")
    trained(here / "trained")
    print(json.dumps(sorted(str(p) for p in here.glob("*/*_ascend_pt"))))
