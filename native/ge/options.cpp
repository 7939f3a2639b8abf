/* options.cpp - one row for each option. */
#include "options.h"

#include <cstdio>
#include <cstring>

#include "ge/ge_api_types.h"
extern "C" {
#include "error.h"
}

namespace asc {
namespace {

struct Row {
    const char *name, *flag; /* flag "": changes nothing in what is computed here */
    Stage stage;
};

constexpr Row ROWS[] = {
    {ge::ir_option::SOC_VERSION, "soc_version", Stage::initialize},
    {ge::ir_option::PRECISION_MODE, "precision_mode", Stage::initialize},
    {ge::ir_option::PRECISION_MODE_V2, "precision_mode_v2", Stage::initialize},
    {ge::ir_option::OP_SELECT_IMPL_MODE, "op_select_implmode", Stage::initialize},
    {ge::ir_option::OPTYPELIST_FOR_IMPLMODE, "optypelist_for_implmode", Stage::initialize},
    {ge::ir_option::OP_PRECISION_MODE, "op_precision_mode", Stage::initialize},
    {ge::ir_option::MODIFY_MIXLIST, "modify_mixlist", Stage::initialize},
    {ge::ir_option::CUSTOMIZE_DTYPES, "customize_dtypes", Stage::initialize},
    {ge::ir_option::BUFFER_OPTIMIZE, "buffer_optimize", Stage::initialize},
    {ge::ir_option::FUSION_SWITCH_FILE, "fusion_switch_file", Stage::initialize},
    {ge::ir_option::CORE_TYPE, "core_type", Stage::initialize},
    {ge::ir_option::AICORE_NUM, "aicore_num", Stage::initialize},
    {ge::ir_option::ENABLE_SMALL_CHANNEL, "enable_small_channel", Stage::initialize},
    {ge::ir_option::ENABLE_SINGLE_STREAM, "enable_single_stream", Stage::initialize},
    {ge::ir_option::ENABLE_COMPRESS_WEIGHT, "enable_compress_weight", Stage::initialize},
    {ge::ir_option::ENABLE_SPARSE_MATRIX_WEIGHT, "sparsity", Stage::initialize},
    {ge::ir_option::COMPRESSION_OPTIMIZE_CONF, "compression_optimize_conf", Stage::initialize},
    {ge::ir_option::VIRTUAL_TYPE, "virtual_type", Stage::initialize},
    {ge::ir_option::EXEC_DISABLE_REUSED_MEMORY, "disable_reuse_memory", Stage::initialize},
    {ge::ir_option::EXTERNAL_WEIGHT, "external_weight", Stage::initialize},
    {ge::ir_option::DETERMINISTIC, "deterministic", Stage::initialize},
    {ge::ir_option::JIT_COMPILE, "jit_compile", Stage::initialize},
    {ge::ir_option::OO_LEVEL, "oo_level", Stage::initialize},
    {ge::ir_option::AUTO_TUNE_MODE, "auto_tune_mode", Stage::initialize},
    {ge::ir_option::MDL_BANK_PATH_FLAG, "mdl_bank_path", Stage::initialize},
    {ge::ir_option::OP_BANK_PATH_FLAG, "op_bank_path", Stage::initialize},
    {ge::ir_option::OP_DEBUG_LEVEL, "op_debug_level", Stage::initialize},
    {ge::ir_option::OP_DEBUG_CONFIG, "op_debug_config", Stage::initialize},
    {ge::ir_option::DEBUG_DIR, "debug_dir", Stage::initialize},
    {ge::ir_option::OP_COMPILER_CACHE_DIR, "op_compiler_cache_dir", Stage::initialize},
    {ge::ir_option::OP_COMPILER_CACHE_MODE, "op_compiler_cache_mode", Stage::initialize},
    {ge::ir_option::INPUT_FORMAT, "input_format", Stage::build},
    {ge::ir_option::INPUT_SHAPE, "input_shape", Stage::build},
    {ge::ir_option::INPUT_SHAPE_RANGE, "input_shape_range", Stage::build},
    {ge::ir_option::DYNAMIC_BATCH_SIZE, "dynamic_batch_size", Stage::build},
    {ge::ir_option::DYNAMIC_IMAGE_SIZE, "dynamic_image_size", Stage::build},
    {ge::ir_option::DYNAMIC_DIMS, "dynamic_dims", Stage::build},
    {ge::ir_option::INSERT_OP_FILE, "insert_op_conf", Stage::build},
    {ge::ir_option::OUTPUT_TYPE, "output_type", Stage::build},
    {ge::ir_option::LOG_LEVEL, "log", Stage::build},
    {ge::ir_option::INPUT_FP16_NODES, "input_fp16_nodes", Stage::parse},
    {ge::ir_option::OUT_NODES, "out_nodes", Stage::parse},
    {ge::ir_option::IS_INPUT_ADJUST_HW_LAYOUT, "is_input_adjust_hw_layout", Stage::parse},
    {ge::ir_option::IS_OUTPUT_ADJUST_HW_LAYOUT, "is_output_adjust_hw_layout", Stage::parse},
    {ge::ir_option::OUTPUT, "", Stage::parse},
    {ge::ir_option::ENABLE_SCOPE_FUSION_PASSES, "", Stage::parse},
};

const Row *find(const char *name) {
    for (const Row &row : ROWS)
        if (!std::strcmp(row.name, name)) return &row;
    return nullptr;
}

/* Where all models' options are taken, one's are too, and the other way round: they are about compiling. */
bool taken(const Row &row, Stage stage) {
    return (row.stage == Stage::parse) == (stage == Stage::parse);
}

/* onnxruntime's provider writes an input of no dims as "name", where "name:" is meant. Sizes without a name are those
 * of an input by its place. */
std::string with_colons(const std::string &shapes) {
    std::string text;
    for (size_t at = 0; at <= shapes.size();) {
        const size_t end = std::min(shapes.find(';', at), shapes.size());
        const std::string item = shapes.substr(at, end - at);
        text += (text.empty() && at == 0 ? "" : ";") + item;
        if (item.find(':') == std::string::npos && item.find_first_not_of("0123456789,-~ ") != std::string::npos)
            text += ":";
        at = end + 1;
    }
    return text;
}

}  // namespace

ge::graphStatus check_options(const char *function, Stage stage, const Options &options) {
    for (const auto &option : options) {
        const Row *row = find(option.first.GetString());
        if (row && taken(*row, stage)) continue;
        std::string names;
        for (const Row &other : ROWS)
            if (taken(other, stage)) names += std::string(names.empty() ? "" : ", ") + other.name;
        return fail(function, ge::GRAPH_PARAM_INVALID,
                    std::string("there is no option [") + option.first.GetString() + "]; there are " + names);
    }
    return ge::GRAPH_SUCCESS;
}

void add_flags(const Options &options, std::vector<std::string> &flags) {
    for (const auto &option : options) {
        const Row *row = find(option.first.GetString());
        std::string value = option.second.GetString();
        if (!row || !*row->flag || value.empty()) continue;
        if (row->name == std::string(ge::ir_option::INPUT_SHAPE)) value = with_colons(value);
        flags.push_back(std::string("--") + row->flag + "=" + value);
    }
}

ge::graphStatus fail(const char *function, ge::graphStatus status, const std::string &why) {
    std::fprintf(stderr, "[ERROR] %s: %s\n", function, why.c_str());
    asc_enter(function, nullptr);
    asc_acl_fail(status == ge::GRAPH_PARAM_INVALID ? ACL_ERROR_INVALID_PARAM : ACL_ERROR_GE_FAILURE, "%s", why.c_str());
    return status;
}

}  // namespace asc
