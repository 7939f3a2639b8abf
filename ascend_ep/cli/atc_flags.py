"""The flags of atc: one row each, and what each does here.

Names, kinds, defaults and values are facts of the real tool (8.x); the two extensions and `--explain`
say so. `effect` is ACTS, or the reason why a flag that the real tool has changes nothing on a CPU. A flag
that asks for what is so anyway is `kept`: its value is checked and nothing more need be said.
"""

from __future__ import annotations

from dataclasses import dataclass

from ascend_ep.element_types import ELEMENT_TYPES

ACTS = "acts"


@dataclass(frozen=True)
class Flag:
    name: str
    #: text | optional | file | config (a file that must be there) | int | bool | switch (0 or 1) | profiles
    kind: str
    help: str
    default: str = ""
    values: tuple[str, ...] = ()
    effect: str = ACTS
    kept: bool = False
    #: Given again, it adds to what was given, as if it stood behind a semicolon.
    adds: bool = False

    @property
    def acts(self) -> bool:
        return self.effect == ACTS


def _idle(name: str, kind: str, reason: str, default: str = "", values: tuple[str, ...] = ()) -> Flag:
    return Flag(name, kind, reason, default, values, reason)


def _kept(name: str, kind: str, reason: str, default: str = "", values: tuple[str, ...] = ()) -> Flag:
    return Flag(name, kind, reason, default, values, reason, kept=True)


_DEVICE = "concerns the device's compiler; the CPU runtime has no such stage"
_DYNAMIC = "dynamic-shape profiles are not built yet: use --input_shape with -1 or a range"

PRECISION_MODES = (
    "force_fp16",
    "force_fp32",
    "cube_fp16in_fp32out",
    "allow_mix_precision",
    "allow_fp32_to_fp16",
    "must_keep_origin_dtype",
    "allow_mix_precision_fp16",
    "allow_mix_precision_bf16",
    "allow_fp32_to_bf16",
)
PRECISION_MODES_V2 = (
    "fp16",
    "origin",
    "cube_fp16in_fp32out",
    "mixed_float16",
    "mixed_bfloat16",
    "cube_hif8",
    "mixed_hif8",
)
OUTPUT_TYPES = tuple(row.atc for row in ELEMENT_TYPES.values() if row.atc)
CORE_TYPES = ("AiCore", "VectorCore")
IMPLEMENTATION_MODES = (
    "high_precision",
    "high_performance",
    "high_precision_for_all",
    "high_performance_for_all",
)

FLAGS: tuple[Flag, ...] = (
    Flag("mode", "int", "0: model to .om; 1: .om or model to JSON; 3: pre-check only; 6: show an .om", "0"),
    Flag("model", "file", "The model to convert"),
    Flag("framework", "int", "5: ONNX"),
    Flag("output", "text", "The path of the .om to write, without its suffix"),
    Flag("soc_version", "text", "The chip the model is meant for, e.g. Ascend910B3"),
    Flag("input_shape", "text", '"name1:n,c,h,w;name2:..."; -1 or 1~10 leaves a dimension free'),
    Flag("dynamic_batch_size", "profiles", '"1,2,4,8": the sizes of the -1 batches of --input_shape'),
    Flag("dynamic_image_size", "profiles", '"h1,w1;h2,w2": the sizes of its -1 heights and widths'),
    Flag("dynamic_dims", "profiles", '"a1,b1;a2,b2": the sizes of all its -1 dimensions, in their order'),
    Flag("out_nodes", "text", '"node1:0;node2:1", or output names "out1;out2"'),
    Flag("output_type", "text", 'The type of the outputs, or "node:0:FP16;..."'),
    Flag(
        "precision_mode",
        "text",
        "Element types of operators: float16 unless another mode is given; must_keep_origin_dtype is exact",
        "force_fp16",
        PRECISION_MODES,
    ),
    Flag(
        "precision_mode_v2",
        "text",
        "As --precision_mode, instead of it; origin is exact",
        "fp16",
        PRECISION_MODES_V2,
    ),
    Flag("keep_dtype", "config", "Operators that keep the model's types: a name, or OpType::TYPE, a line"),
    Flag("modify_mixlist", "config", "JSON of operators that mixed precision makes float16, or doesn't"),
    Flag("customize_dtypes", "config", "Types of operators: NAME::InputDtype:t,..,OutputDtype:t a line"),
    Flag(
        "op_select_implmode",
        "text",
        "high_performance: Gelu by tanh (.._for_all: exact products in bfloat16, too), or the listed ones",
        "",
        IMPLEMENTATION_MODES,
    ),
    Flag("optypelist_for_implmode", "text", '"Op1,Op2" that --op_select_implmode is for'),
    Flag("op_precision_mode", "config", "Lines OpType=high_performance, enable_float_32_execution, ..."),
    Flag("input_fp16_nodes", "text", '"input1;input2": inputs of the model that become float16'),
    Flag("is_weight_clip", "switch", "1: weights beyond float16 become 65504, not infinity", "1", ("0", "1")),
    Flag(
        "log",
        "text",
        "info and debug show every step, error hides warnings",
        "null",
        ("debug", "info", "warning", "error", "null"),
    ),
    Flag("om", "file", "The .om, or with --framework the model, to read in mode 1 and 6"),
    Flag(
        "json",
        "text",
        "Mode 1: the JSON to write. Mode 0: the partition table as JSON (- for stdout; our extension)",
    ),
    Flag("html", "text", "A page to write: graphs, fusion, fallbacks, weights, memory (our extension)"),
    Flag("check_report", "text", "The report that mode 3 writes", "check_result.json"),
    Flag("display_model_info", "switch", "Show the .om after writing it", "0", ("0", "1")),
    Flag("custom_op_info", "file", "JSON of custom operators, a.json[;...] (our extension)", adds=True),
    Flag(
        "custom_op",
        "text",
        "Type:./library.so[;...]: a custom operator from a library (our extension)",
        adds=True,
    ),
    Flag("dump", "text", "A folder for the text of every conversion step (our extension)"),
    Flag(
        "self_check",
        "switch",
        "0: don't compare the bundle with a float64 reference; 1: refuse any difference (our extension)",
        "",
        ("0", "1"),
    ),
    Flag("insert_op_conf", "file", "AIPP: aipp_op {...} for inputs that become bytes"),
    Flag("fusion_switch_file", "file", "JSON that switches fusion rules; writes fusion_result.json"),
    Flag("fusion_report", "optional", "Show what each fusion would save and why it is made; =FILE for JSON"),
    Flag("input_shape_range", "text", '"name:[1~10,3,..]" or "[..],[..]"; deprecated --input_shape'),
    Flag("input_hint_shape", "text", '"0:[..];1:[..]": sizes of free dimensions, for the stored samples'),
    Flag("singleop", "file", "JSON of operators, each of which becomes a .om in the folder --output"),
    Flag("save_original_model", "bool", "Also write OUTPUT_original.om, every operator on its own", "false"),
    Flag(
        "external_weight",
        "int",
        "Weights in the folder weight beside the .om: 1: each in a file of its own, 2: all in one",
        "0",
        ("0", "1", "2"),
    ),
    Flag("core_type", "text", "The cores to use; VectorCore where the chip has them", "AiCore", CORE_TYPES),
    Flag("aicore_num", "text", "The cores to use, at most the chip's"),
    Flag("op_debug_level", "int", "From 1 on the steps are kept as text in --debug_dir", "0", tuple("01234")),
    Flag("debug_dir", "text", "The folder for --op_debug_level", "./kernel_meta"),
    Flag(
        "op_compiler_cache_mode",
        "text",
        "disable: compile anew, keep nothing; force: anew and keep; absent: as enable",
        "",
        ("enable", "disable", "force"),
    ),
    Flag("op_compiler_cache_dir", "text", "The folder of compiled operators, instead of $ASCEND_EP_CACHE"),
    Flag(
        "buffer_optimize",
        "text",
        "off_optimize: no kernel fuses its neighbours (the rules of UBFusion are off)",
        "l2_optimize",
        ("l1_optimize", "l2_optimize", "off_optimize"),
    ),
    Flag(
        "host_env_cpu",
        "text",
        "The host that runs the bundle; for another than this one no code is compiled into it",
        "",
        ("x86_64", "aarch64"),
    ),
    Flag("disable_reuse_memory", "switch", "1: every value between operators keeps memory of its own", "0"),
    Flag("oo_level", "text", "O1: nothing is fused", "O3", ("O1", "O3")),
    Flag("explain", "text", "Print what an error code means and exit (our extension)"),
    Flag("help", "switch", "Show this text; all: with the rules of fusion, and flags without effect"),
    # --- recognised and checked; no effect here --------------------------------------------------
    _kept("input_format", "text", "an ONNX model says its own layout", "", ("NCHW", "ND", "NCDHW")),
    _idle("weight", "file", "Caffe weights; only ONNX models are converted"),
    _idle("op_name_map", "file", "Caffe only; only ONNX models are converted"),
    _idle("is_input_adjust_hw_layout", "text", _DEVICE),
    _idle("is_output_adjust_hw_layout", "text", _DEVICE),
    _idle("compression_optimize_conf", "file", _DEVICE),
    _idle("op_debug_config", "file", _DEVICE),
    _kept("dump_mode", "switch", "mode 1 always writes inferred shapes", "0", ("0", "1")),
    _idle("enable_single_stream", "bool", _DEVICE),
    _idle("virtual_type", "switch", _DEVICE, "0", ("0", "1")),
    _kept("enable_small_channel", "switch", "first convolutions always read few channels as they lie", "0"),
    _idle("enable_compress_weight", "bool", _DEVICE, "false"),
    _idle("sparsity", "switch", _DEVICE, "0", ("0", "1")),
    _idle("jit_compile", "int", _DEVICE, "1", ("0", "1", "2")),
    _kept("deterministic", "switch", "results never depend on threads or batch here", "0", ("0", "1")),
    _kept(
        "deterministic_level",
        "int",
        "results never depend on threads or batch here",
        "0",
        ("0", "1", "2", "3"),
    ),
    _kept("host_env_os", "text", "bundles are for Linux hosts, as the runtime is", "linux", ("linux",)),
    _idle("status_check", "switch", _DEVICE, "0", ("0", "1")),
    _idle("atomic_clean_policy", "switch", _DEVICE, "0", ("0", "1")),
    _idle("quant_dumpable", "switch", _DEVICE, "0", ("0", "1")),
    _idle("enable_attr_compression", "bool", _DEVICE, "true"),
    _idle("ac_parallel_enable", "switch", _DEVICE, "0", ("0", "1")),
    _idle("tiling_schedule_optimize", "switch", _DEVICE, "0", ("0", "1")),
    _idle("raw_ge_options", "file", _DEVICE),
    _idle(
        "auto_tune_mode", "text", "it is deprecated, tuning is not atc's; ascend-op build measures variants"
    ),
    _idle("mdl_bank_path", "text", _DEVICE),
    _idle("op_bank_path", "text", _DEVICE),
)

BY_NAME: dict[str, Flag] = {flag.name: flag for flag in FLAGS}


def rule_lines() -> list[str]:
    """A line for each fusion rule."""
    from ascend_ep.opdef.fusion_rules import RULES

    return [f"  {rule.group:<12} {rule.name:<32} {rule.summary}" for rule in RULES]
