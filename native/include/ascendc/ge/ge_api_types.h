/* Names of the options of aclgrphBuildInitialize, aclgrphBuildModel and aclgrphParseONNX. Our own implementation of
 * public names. */
#pragma once
#pragma GCC system_header

namespace ge {
namespace ir_option {

/* Of all models. */
constexpr const char *SOC_VERSION = "ge.socVersion";
constexpr const char *PRECISION_MODE = "ge.exec.precision_mode";
constexpr const char *PRECISION_MODE_V2 = "ge.exec.precision_mode_v2";
constexpr const char *OP_SELECT_IMPL_MODE = "ge.opSelectImplmode";
constexpr const char *OPTYPELIST_FOR_IMPLMODE = "ge.optypelistForImplmode";
constexpr const char *OP_PRECISION_MODE = "ge.exec.op_precision_mode";
constexpr const char *MODIFY_MIXLIST = "ge.exec.modify_mixlist";
constexpr const char *CUSTOMIZE_DTYPES = "ge.customizeDtypes";
constexpr const char *BUFFER_OPTIMIZE = "ge.bufferOptimize";
constexpr const char *FUSION_SWITCH_FILE = "ge.fusionSwitchFile";
constexpr const char *CORE_TYPE = "ge.engineType";
constexpr const char *AICORE_NUM = "ge.aicoreNum";
constexpr const char *ENABLE_SMALL_CHANNEL = "ge.enableSmallChannel";
constexpr const char *ENABLE_SINGLE_STREAM = "ge.enableSingleStream";
constexpr const char *ENABLE_COMPRESS_WEIGHT = "ge.enableCompressWeight";
constexpr const char *ENABLE_SPARSE_MATRIX_WEIGHT = "ge.enableSparseMatrixWeight";
constexpr const char *COMPRESSION_OPTIMIZE_CONF = "ge.compressionOptimizeConf";
constexpr const char *VIRTUAL_TYPE = "ge.virtual_type";
constexpr const char *EXEC_DISABLE_REUSED_MEMORY = "ge.exec.disableReuseMemory";
constexpr const char *EXTERNAL_WEIGHT = "ge.externalWeight";
constexpr const char *DETERMINISTIC = "ge.deterministic";
constexpr const char *JIT_COMPILE = "ge.jit_compile";
constexpr const char *OO_LEVEL = "ge.oo.level";
constexpr const char *AUTO_TUNE_MODE = "ge.autoTuneMode";
constexpr const char *MDL_BANK_PATH_FLAG = "ge.mdl_bank_path";
constexpr const char *OP_BANK_PATH_FLAG = "ge.op_bank_path";
constexpr const char *OP_DEBUG_LEVEL = "ge.opDebugLevel";
constexpr const char *OP_DEBUG_CONFIG = "op_debug_config";
constexpr const char *DEBUG_DIR = "ge.debugDir";
constexpr const char *OP_COMPILER_CACHE_DIR = "ge.op_compiler_cache_dir";
constexpr const char *OP_COMPILER_CACHE_MODE = "ge.op_compiler_cache_mode";

/* Of one model. */
constexpr const char *INPUT_FORMAT = "input_format";
constexpr const char *INPUT_SHAPE = "input_shape";
constexpr const char *INPUT_SHAPE_RANGE = "input_shape_range";
constexpr const char *DYNAMIC_BATCH_SIZE = "ge.dynamicBatchSize";
constexpr const char *DYNAMIC_IMAGE_SIZE = "ge.dynamicImageSize";
constexpr const char *DYNAMIC_DIMS = "ge.dynamicDims";
constexpr const char *INSERT_OP_FILE = "ge.insertOpFile";
constexpr const char *OUTPUT_TYPE = "ge.outputDatatype";
constexpr const char *LOG_LEVEL = "log";

/* Of reading a model. */
constexpr const char *INPUT_FP16_NODES = "ge.INPUT_NODES_SET_FP16";
constexpr const char *OUT_NODES = "ge.outputNodeName";
constexpr const char *IS_INPUT_ADJUST_HW_LAYOUT = "is_input_adjust_hw_layout";
constexpr const char *IS_OUTPUT_ADJUST_HW_LAYOUT = "is_output_adjust_hw_layout";
constexpr const char *OUTPUT = "output";
constexpr const char *ENABLE_SCOPE_FUSION_PASSES = "enable_scope_fusion_passes";

}  // namespace ir_option
}  // namespace ge
