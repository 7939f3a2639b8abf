"""All files that msprof makes of a profile."""

from __future__ import annotations

from pathlib import Path

from ascend_ep.cann.chip_rates import ChipRates
from ascend_ep.profiling.database import write_database
from ascend_ep.profiling.msprof_files import write_csv_files
from ascend_ep.profiling.profile import Profile, own
from ascend_ep.profiling.timeline import write_timeline

__all__ = ["write_database", "write_files"]


def write_files(profile: Profile, metrics: str, rates: ChipRates | None = None) -> list[Path]:
    """Into mindstudio_profiler_output of the profile's folder; returns their paths. rates: of the chip that
    columns model_... are of; None: there are none.

    Raises AscendError E40002, E44011, and E10001 for a group of metrics that there isn't.
    """
    own(profile)
    return [*write_csv_files(profile, metrics, rates=rates), write_timeline(profile)]
