"""What each module that files import has: the table of the stand-ins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ascend_ep.frontends.tbe.toolkit import (
    building,
    casts,
    checks,
    choice,
    moving,
    platform,
    shapes,
    shaping,
    shared,
    updates,
    vector,
)
from ascend_ep.frontends.tbe.toolkit import (
    register_decorators as registration,
)
from ascend_ep.frontends.tbe.toolkit import tensor_machine as tvm
from ascend_ep.frontends.tbe.toolkit.unknown import Unknown
from ascend_ep.frontends.tbe.toolkit.variables import Variable

_TWO = "vadd vsub vmul vdiv vmax vmin vmod vadds vmuls vmaxs vmins vsubs vdivs vand vor"
_ONE = "vexp vlog vsqrt vrsqrt vabs vrec vrelu vlrelu vnot vtanh vsigmoid vsin vcos"
_THREE = "vaxpy vmla vmadd vmaddrelu vaddrelu vsubrelu clip round_to"
_REDUCTIONS = "reduce_sum reduce_mean reduce_max reduce_min reduce_prod reduce_all reduce_any"

#: tbe.dsl and te.lang.cce.
DSL: dict[str, Any] = {
    **{name: getattr(vector, name) for name in f"{_TWO} {_ONE} {_THREE}".split()},
    **{name: getattr(shaping, name) for name in f"{_REDUCTIONS} broadcast tuple_sum set_value".split()},
    **{name: getattr(choice, name) for name in ("vcmp", "vsel", "vcmpsel", "vlogic")},
    **{name: casts.rounding(name, op) for name, op in {
        "floor": "floor", "ceil": "ceil", "round": "round", "trunc": "trunc",
        "round_half_up": "round_half_up",
    }.items()},
    **shaping.REFUSED,
    **{name: getattr(moving, name) for name in ("matmul", "concat", "transpose")},
    "sum": shaping.reduce_sum,
    "cast_to": casts.cast_to,
    "cast_to_round": casts.rounding("cast_to_round", "round"),
    "auto_schedule": building.auto_schedule,
    "build": building.build,
    "cce_build_code": building.build,
    "compute": building.context,
    "schedule": building.context,
    "classify": shapes.classify,
    "var": Variable,
}  # fmt: skip
_REGISTER = {
    "register_operator": registration.register_operator,
    "register_op": registration.register_operator,
    "register_op_compute": registration.register_op_compute,
    "register_operator_compute": registration.register_op_compute,
    "register_op_param_pass": registration.passes_through,
    "register_param_generalization": registration.passes_through,
    "register_pass_for_fusion": registration.passes_through,
    "register_fusion_pass": registration.passes_through,
    "set_fusion_buildcfg": lambda *_arguments, **_named: None,
}
_FUSION = {"fusion_manager": registration.FusionManager(), "register": registration.register_op_compute}
_CONTEXT = {
    "get_context": platform.get_context,
    "op_context": platform.Contexts(),
    "OpContext": platform.Context,
}
_MINDSPORE = {
    "op_info_register": registration.op_info_register,
    "custom_info_register": registration.op_info_register,
    "TBERegOp": registration.TBERegOp,
    "CustomRegOp": registration.TBERegOp,
    "DataType": registration.DataType(),
}
#: MindSpore, and what is made of it under another name with the same registration.
FRAMEWORKS = ("mindspore", "luojianet_ms")
_ERRORS = {"__missing__": platform.error_function}
_CHECKS = {**checks.NAMES, **shapes.NAMES, **platform.GENERATIONS}
_UTIL_COMPUTE = {
    "sign": shared.sign,
    "get_cof": shared.get_cof,
    "square": shared.square,
    "check_batchmatmul_fuse": lambda *_arguments: False,
    "only_static_support": registration.passes_through,
}
_SELECT = {
    **dict.fromkeys(("SplitInput", "SplitOutput", "ReduceInput", "ReduceOutput"), shared.Parameter),
    "gen_param": shared.Parameter,
    "get_dynamic_param_in_json": lambda params: "{}",
    "get_op_cal_info": lambda *_arguments, **_named: "{}",
}
_COMMON = {
    "uint8_int8_overflow_proc": shared.wrapped,
    "int_cast_to_b8": shared.to_eight_bits,
    "reduce_int_cast_to_b8": shared.to_eight_bits,
    "ceil": shared.ceil,
    "align": shared.align,
    "gen_range": shared.shape_range,
    "update_dtype_bool_to_int8": lambda dtype: "int8" if dtype == "bool" else dtype,
    "is_support_fractal_z_inputs": lambda *_arguments: False,
    "is_same_group": lambda *_arguments: True,
    "is_unknown": lambda *_arguments: False,
    "is_unknown_rank_input": lambda *_arguments: False,
    "is_dynamic_input": lambda *_arguments: False,
    "check_op_impl_mode": lambda *_arguments, **_named: None,
}
_TIK = Unknown("te.tik")
_GENERATIONS = {
    "after_v200": lambda: True,
    "is_v220": lambda: True,
    "is_v310": lambda: False,
    "is_v200": lambda: False,
    "is_v300": lambda: False,
}
_ADAPTER = {
    "intrinsic_check_support": platform.api_check_support,
    "tik": _TIK,
    "register_operator": registration.register_operator,
    "register_operator_compute": registration.register_op_compute,
    "classify": shapes.classify,
    "OpPatternMode": platform.WORDS,
    "OpImplMode": platform.WORDS,
    "OpTbeImplMode": platform.WORDS,
    "get_current_build_config": lambda *_arguments: False,
    "check_support_block_size_16": lambda *_arguments: True,
    "in_record": registration.passes_through,
    "tuple_sum": shaping.tuple_sum,
    "auto_schedule": building.auto_schedule,
    "build": building.build,
    "build_config": building.BuildConfig(),
}

_TVM = ("tvm", "te.tvm", "tbe.tvm")
#: Every module: its names.
TABLE: dict[str, Mapping[str, Any]] = {
    **{f"{package}.api": tvm.NAMES for package in _TVM},
    **{f"{package}._ffi": {"register_func": tvm.register_func} for package in _TVM},
    "te": {"tik": _TIK, **tvm.NAMES},
    "te.lang": {},
    "te.lang.cce": DSL,
    "te.lang.cce.api": DSL,
    "te.lang.cce.te_compute": DSL,
    "te.lang.cce.util": _CHECKS,
    "te.lang.dynamic": DSL,
    "te.lang.base": {"OpPatternMode": platform.WORDS, "classify": shapes.classify, **DSL},
    "te.tvm": tvm.NAMES,
    "te.tvm.topi": {},
    "te.tvm.topi.generic": {"auto_schedule": building.auto_schedule},
    "te.platform": {
        **platform.NAMES, "build_config": building.BuildConfig(), "build_config_update": building.updated,
    },
    "te.platform.cce_conf": platform.NAMES,
    "te.platform.cce_params": platform.NAMES,
    "te.platform.cce_policy": {"OpParamInfoKey": platform.WORDS, "disableL2": lambda *_a: None},
    "te.platform.cce_build": {
        "build_config": building.BuildConfig(), "build_config_update": building.updated,
    },
    "te.platform.fusion_manager": _FUSION,
    "te.platform.cce_runtime": {},
    "te.platform.insn_cmd": {"__missing__": platform.token},
    "te.utils": {},
    "te.utils.op_utils": _CHECKS,
    "te.utils.para_check": _CHECKS,
    "te.utils.shape_util": _CHECKS,
    "te.utils.cce": {},
    "te.utils.error_manager": {},
    "te.utils.error_manager.error_manager_vector": _ERRORS,
    "te.utils.error_manager.error_manager_util": _ERRORS,
    "tbe": {"tik": _TIK},
    "tbe.dsl": DSL,
    "tbe.dsl.api": DSL,
    "tbe.dsl.base": {},
    "tbe.dsl.base.operation": {
        "var": Variable, "get_context": platform.get_context, "add_compile_info": lambda *_arguments: None,
        "get_compile_info": dict, "add_exclude_bound_var": lambda *_arguments: None,
        "get_op_context": platform.get_context, "register_build_pointcut": registration.passes_through,
    },
    "tbe.tvm": tvm.NAMES,
    "tbe.tvm.topi": {},
    "tbe.tvm.topi.generic": {"auto_schedule": building.auto_schedule},
    "tbe.tvm.topi.cce": {},
    "tbe.tvm.topi.cce.util": _CHECKS,
    "tbe.common": {},
    "tbe.common.utils": _CHECKS,
    "tbe.common.utils.para_check": _CHECKS,
    "tbe.common.utils.shape_util": _CHECKS,
    "tbe.common.utils.errormgr": {"__missing__": platform.error_function},
    "tbe.common.utils.errormgr.error_manager_vector": _ERRORS,
    "tbe.common.utils.errormgr.error_manager_util": _ERRORS,
    "tbe.common.register": _REGISTER,
    "tbe.common.register.register_api": _REGISTER,
    "tbe.common.platform": platform.NAMES,
    "tbe.common.platform.platform_info": platform.NAMES,
    "tbe.common.platform.fusion_manager": _FUSION,
    "tbe.common.utils.log": {"__missing__": registration.silent},
    "tbe.common.buildcfg": {
        "build_config": building.BuildConfig(), "get_current_build_config": lambda *_arguments: False,
    },
    "tbe.common.context": {"get_context": platform.get_context},
    "tbe.common.context.op_context": _CONTEXT,
    "tbe.common.context.op_info": {},
    "topi": {},
    "topi.generic": {"auto_schedule": building.auto_schedule},
    "topi.cce": {},
    "topi.cce.util": _CHECKS,
    "tvm": tvm.NAMES,
    "tvm.te": tvm.NAMES,
    "impl": {},
    "impl.util": {},
    "impl.util.platform_adapter": _ADAPTER,
    "impl.util.util_select_op_base": _SELECT,
    "impl.constant_util": shared.CONSTANTS,
    "impl.common_util": {"constant": shared.Constants(), "get_data_size": shared.byte_size},
    "impl.bn_training_reduce": {"bn_training_reduce_schedule_nd": updates.reduction_schedule},
    "impl.util.util_apply_op_schedule": {
        "ApplyOpConfig": updates.ApplyOpConfig, "common_apply_op_process": updates.common_apply_op_process,
    },
    "impl.util.util_build": {"set_bool_storage_config": dict},
    "impl.util.fusion_util": {"reuse_input_as_output": updates.reuse_input_as_output},
    "impl.util.util_compute": _UTIL_COMPUTE,
    "impl.util.util_common": _COMMON,
    "impl.util.util_soc_common": _GENERATIONS,
    "impl.util.util_attr_common": {
        "OpAttr": shared.OpAttr, "get_attr_by_cls": shared.attribute_by_class,
        "__missing__": shared.attributes_of,
    },
    "impl.util.norm_pattern_adapter": {"NormPattern": platform.WORDS},
    "impl.util.reduce_pattern_adapter": {"ReducePattern": platform.WORDS},
    **{name: {} for name in FRAMEWORKS},
    **{f"{name}.ops": _MINDSPORE for name in FRAMEWORKS},
    **{f"{name}.ops.op_info_register": _MINDSPORE for name in FRAMEWORKS},
    "ops_nn": {},
    "ops_nn.auto_kernel": {"auto_schedule": building.auto_schedule},
}  # fmt: skip
#: Names that are modules of the table themselves.
LINKS = {
    "impl.util.platform_adapter": {
        "tbe": "tbe.dsl", "tvm": "tbe.tvm", "para_check": "tbe.common.utils.para_check",
        "shape_util": "tbe.common.utils.shape_util", "tbe_platform": "tbe.common.platform",
        "platform_info": "tbe.common.platform.platform_info", "tbe_context": "tbe.common.context.op_context",
        "tbe_register": "tbe.common.register", "operation": "tbe.dsl.base.operation",
        "error_manager_vector": "tbe.common.utils.errormgr.error_manager_vector",
        "error_manager_util": "tbe.common.utils.errormgr.error_manager_util",
        "tbe_build": "tbe.common.buildcfg", "buildcfg": "tbe.common.buildcfg",
        "error_manager": "tbe.common.utils.errormgr",
    },
    "te": {"platform": "te.platform", "utils": "te.utils", "lang": "te.lang", "tvm": "te.tvm"},
    "te.utils": {"para_check": "te.utils.para_check", "shape_util": "te.utils.shape_util"},
    "te.utils.cce": {"auto_schedule": "te.tvm.topi.generic"},
    "te.platform": {
        "cce_conf": "te.platform.cce_conf", "cce_params": "te.platform.cce_params",
        "fusion_manager": "te.platform.fusion_manager", "cce_build": "te.platform.cce_build",
    },
    "te.lang.cce": {"util": "te.lang.cce.util"},
    "tbe": {"dsl": "tbe.dsl", "tvm": "tbe.tvm"},
    "tbe.common.utils": {
        "para_check": "tbe.common.utils.para_check", "shape_util": "tbe.common.utils.shape_util",
        "error_manager": "tbe.common.utils.errormgr",
        "error_manager_vector": "tbe.common.utils.errormgr.error_manager_vector",
    },
    "tvm": {"api": "tvm.api", "_ffi": "tvm._ffi"},
    "te.tvm": {"topi": "te.tvm.topi", "api": "te.tvm.api", "_ffi": "te.tvm._ffi"},
    "tbe.tvm": {"topi": "tbe.tvm.topi", "api": "tbe.tvm.api", "_ffi": "tbe.tvm._ffi"},
    "tbe.common.platform": {"fusion_manager": "tbe.common.platform.fusion_manager"},
}  # fmt: skip
