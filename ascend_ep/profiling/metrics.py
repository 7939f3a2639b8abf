"""The groups of counters that `--aic-metrics` names, and the columns that they give op_summary on a chip.

Nothing here fills them: a CPU has no such units. They are there since readers look for them.
"""

from __future__ import annotations

from ascend_ep.errors import AscendError, nearest

DEFAULT = "PipeUtilization"


def _core(core: str, names: str) -> list[str]:
    """Time and cycles of one kind of core, then its counters."""
    time = "aicore_time(us)" if core == "aic" else "aiv_time(us)"
    return [time, f"{core}_total_cycles", *(f"{core}_{name}" for name in names.split())]


def _group(cube: str, vector: str) -> list[str]:
    return [*_core("aic", cube), *_core("aiv", vector)]


def _shares(units: str) -> str:
    return " ".join(f"{unit}{end}" for unit in units.split() for end in ("_time(us)", "_ratio"))


_UNITS = ("vec", "mac", "scalar", "mte1", "mte2", "mte3", "fixpipe")
_CACHE = (
    "write_cache_hit write_cache_miss_allocate r0_read_cache_hit r0_read_cache_miss_allocate "
    "r1_read_cache_hit r1_read_cache_miss_allocate"
)
_MAIN = "main_mem_read_bw(GB/s) main_mem_write_bw(GB/s) l2_read_bw(GB/s) l2_write_bw(GB/s)"
_SCALAR = "ub_read_bw_scalar(GB/s) ub_write_bw_scalar(GB/s)"
_DATAS = "read_main_memory_datas(KB) write_main_memory_datas(KB)"
#: In the order that msprof's own tests expect of its exports.
GROUPS: dict[str, list[str]] = {
    "PipeUtilization": [
        *_core("aic", _shares("mac scalar mte1 mte2 fixpipe") + " icache_miss_rate"),
        *_core("aiv", _shares("vec scalar mte2 mte3") + " icache_miss_rate"),
        "cube_utilization(%)",
    ],
    "ArithmeticUtilization": _group(
        "mac_fp16_ratio mac_int8_ratio cube_fops",
        "vec_fp32_ratio vec_fp16_ratio vec_int32_ratio vec_misc_ratio vector_fops",
    ),
    "Memory": _group(
        f"l1_read_bw(GB/s) l1_write_bw(GB/s) {_MAIN}", f"ub_read_bw(GB/s) ub_write_bw(GB/s) {_MAIN}"
    ),
    "MemoryL0": _group(
        "l0a_read_bw(GB/s) l0a_write_bw(GB/s) l0b_read_bw(GB/s) l0b_write_bw(GB/s) "
        "l0c_read_bw_cube(GB/s) l0c_write_bw_cube(GB/s)",
        "l0c_read_bw(GB/s) l0c_write_bw(GB/s)",
    ),
    "MemoryUB": _group(_SCALAR, f"ub_read_bw_vector(GB/s) ub_write_bw_vector(GB/s) {_SCALAR}"),
    "ResourceConflictRatio": _group("", "vec_bankgroup_cflt_ratio vec_bank_cflt_ratio vec_resc_cflt_ratio"),
    "L2Cache": _group(_CACHE, _CACHE),
    "PipelineExecuteUtilization": [
        "aicore_time(us)",
        "total_cycles",
        *(f"{unit}_exe{end}" for unit in _UNITS for end in ("_time(us)", "_ratio")),
        "memory_bound",
        "cube_utilization(%)",
    ],
    "MemoryAccess": _group(
        f"{_DATAS} GM_to_L1_datas(KB) L0C_to_L1_datas(KB) L0C_to_GM_datas(KB)",
        f"{_DATAS} GM_to_UB_datas(KB) UB_to_GM_datas(KB)",
    ),
}


def columns_of(group: str) -> list[str]:
    """Raises AscendError E10001 for a group that msprof hasn't."""
    if group not in GROUPS:
        near = nearest(group, GROUPS)
        reason = f"The value must be one of {', '.join(GROUPS)}."
        hint = [f"did you mean {', '.join(near)}?"] if near else []
        raise AscendError("E10001", group, "--aic-metrics", reason, details=hint)
    return GROUPS[group]
