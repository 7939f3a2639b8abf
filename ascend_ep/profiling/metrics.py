"""The groups of counters that `--aic-metrics` names, and the columns that they give op_summary on a chip.

Nothing here fills them: a CPU has no such units. They are there since readers look for them.
"""

from __future__ import annotations

from ascend_ep.errors import AscendError, nearest

DEFAULT = "PipeUtilization"


def _sides(names: str, sides: str = "aic aiv") -> list[str]:
    return [f"{side}_{name}" for side in sides.split() for name in names.split()]


def _pipe() -> list[str]:
    cube = ["mac", "scalar", "mte1", "mte2", "fixpipe"]
    vector = ["vec", "scalar", "mte2", "mte3"]
    pair = ("_time(us)", "_ratio")
    return [
        "aicore_time(us)",
        "aic_total_cycles",
        *(f"aic_{unit}{end}" for unit in cube for end in pair),
        "aic_icache_miss_rate",
        "aiv_time(us)",
        "aiv_total_cycles",
        *(f"aiv_{unit}{end}" for unit in vector for end in pair),
        "aiv_icache_miss_rate",
        "cube_utilization(%)",
    ]


_TIMES = ["aicore_time(us)", "aic_total_cycles", "aiv_time(us)", "aiv_total_cycles"]
GROUPS: dict[str, list[str]] = {
    "PipeUtilization": _pipe(),
    "ArithmeticUtilization": [
        *_TIMES,
        *_sides("mac_fp16_ratio mac_int8_ratio cube_fops", "aic"),
        *_sides("vec_fp32_ratio vec_fp16_ratio vec_int32_ratio vec_misc_ratio vector_fops", "aiv"),
    ],
    "Memory": [
        *_TIMES,
        *_sides("ub_read_bw(GB/s) ub_write_bw(GB/s) main_mem_read_bw(GB/s) main_mem_write_bw(GB/s)"),
        *_sides("l1_read_bw(GB/s) l1_write_bw(GB/s) l2_read_bw(GB/s) l2_write_bw(GB/s)", "aic"),
    ],
    "MemoryL0": [
        *_TIMES,
        *_sides(
            "l0a_read_bw(GB/s) l0a_write_bw(GB/s) l0b_read_bw(GB/s) l0b_write_bw(GB/s) "
            "l0c_read_bw_cube(GB/s) l0c_write_bw_cube(GB/s)",
            "aic",
        ),
    ],
    "MemoryUB": [
        *_TIMES,
        *_sides(
            "ub_read_bw_vector(GB/s) ub_write_bw_vector(GB/s) "
            "ub_read_bw_scalar(GB/s) ub_write_bw_scalar(GB/s)",
            "aiv",
        ),
    ],
    "ResourceConflictRatio": [
        *_TIMES,
        *_sides("vec_bankgroup_cflt_ratio vec_bank_cflt_ratio vec_resc_cflt_ratio", "aiv"),
    ],
    "L2Cache": [*_TIMES, *_sides("write_cache_hit write_cache_miss_allocate r0_read_cache_hit")],
    "PipelineExecuteUtilization": [*_TIMES, *_sides("mac_exe_ratio mte1_exe_ratio mte2_exe_ratio", "aic")],
    "MemoryAccess": [*_TIMES, *_sides("read_main_memory_datas(KB) write_main_memory_datas(KB)")],
}


def columns_of(group: str) -> list[str]:
    """Raises AscendError E10001 for a group that msprof hasn't."""
    if group not in GROUPS:
        near = nearest(group, GROUPS)
        reason = f"The value must be one of {', '.join(GROUPS)}."
        hint = [f"did you mean {', '.join(near)}?"] if near else []
        raise AscendError("E10001", group, "--aic-metrics", reason, details=hint)
    return GROUPS[group]
