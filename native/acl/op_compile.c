/* op_compile.c - aclop's compilation: the converter (ascend-atc --singleop) makes a bundle, which is loaded. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl_op_compiler.h"
#include "context.h"
#include "converter.h"
#include "memory.h"
#include "numbers.h"
#include "op_execute.h"
#include "settings.h"
#include "text.h"

/* ---- options ------------------------------------------------------------------------------------------ */

#define OPTIONS (ACL_OP_DEBUG_OPTION + 1)
static struct {
    pthread_mutex_t lock;
    char *values[OPTIONS];
} options = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Without a setting, and of those that change what is computed, the converter's flag. */
static const struct {
    const char *otherwise, *flag;
} about[OPTIONS] = {
    [ACL_PRECISION_MODE] = {"must_keep_origin_dtype", "--precision_mode="},
    [ACL_AUTO_TUNE_MODE] = {"", NULL},
    [ACL_OP_SELECT_IMPL_MODE] = {"high_precision", NULL},
    [ACL_OP_DEBUG_LEVEL] = {"0", NULL},
    [ACL_DEBUG_DIR] = {"./", NULL},
    [ACL_OP_COMPILER_CACHE_MODE] = {"disable", NULL},
    [ACL_OP_COMPILER_CACHE_DIR] = {"", NULL},
    [ACL_OP_JIT_COMPILE] = {"disable", NULL},
    [ACL_OP_DETERMINISTIC] = {"1", NULL},
    [ACL_ALLOW_HF32] = {"disable", NULL},
    [ACL_PRECISION_MODE_V2] = {"", "--precision_mode_v2="},
};

static aclError check_option(aclCompileOpt opt) {
    if (opt >= ACL_PRECISION_MODE && opt < OPTIONS) return ACL_SUCCESS;
    return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "opt is %d, no aclCompileOpt", (int)opt);
}

aclError aclSetCompileopt(aclCompileOpt opt, const char *value) {
    ASC_ENTER();
    ASC_NEED(value);
    aclError code = check_option(opt);
    if (code != ACL_SUCCESS) return code;
    char *copy = strdup(value);
    if (!copy) return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
    pthread_mutex_lock(&options.lock);
    free(options.values[opt]);
    options.values[opt] = copy;
    pthread_mutex_unlock(&options.lock);
    return ACL_SUCCESS;
}

/* The value, which the caller frees; NULL: no memory. An empty one, which torch_npu sets, is none. */
static char *option(aclCompileOpt opt) {
    pthread_mutex_lock(&options.lock);
    const char *given = options.values[opt], *value = given && *given ? given : about[opt].otherwise;
    char *copy = strdup(value ? value : "");
    pthread_mutex_unlock(&options.lock);
    return copy;
}

size_t aclGetCompileoptSize(aclCompileOpt opt) {
    ASC_ENTER();
    if (check_option(opt) != ACL_SUCCESS) return 0;
    char *value = option(opt);
    size_t size = value ? strlen(value) + 1 : 0;
    free(value);
    return size;
}

aclError aclGetCompileopt(aclCompileOpt opt, char *value, size_t length) {
    ASC_ENTER();
    ASC_NEED(value);
    aclError code = check_option(opt);
    if (code != ACL_SUCCESS) return code;
    char *found = option(opt);
    if (!found) return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
    size_t need = strlen(found) + 1;
    if (length >= need) memcpy(value, found, need);
    free(found);
    return length >= need ? ACL_SUCCESS
                          : asc_acl_fail(ACL_ERROR_INVALID_PARAM,
                                         "length is %zu; the value has %zu (aclGetCompileoptSize)", length, need);
}

aclError aclopSetCompileFlag(aclOpCompileFlag flag) {
    ASC_ENTER();
    if (flag == ACL_OP_COMPILE_DEFAULT || flag == ACL_OP_COMPILE_FUZZ)
        return ACL_SUCCESS; /* both compile for these dims */
    return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "flag is %d, no aclOpCompileFlag", (int)flag);
}

/* ---- the list of operators ------------------------------------------------------------------------------- */

static const char *format_name(aclFormat format) {
    switch (format) {
        case ACL_FORMAT_NCHW: return "NCHW";
        case ACL_FORMAT_NHWC: return "NHWC";
        case ACL_FORMAT_HWCN: return "HWCN";
        case ACL_FORMAT_NDHWC: return "NDHWC";
        case ACL_FORMAT_NCDHW: return "NCDHW";
        default: return "ND";
    }
}

static void add_tensor(asc_text *text, const asc_desc *desc) {
    if (desc->type == ACL_DT_UNDEFINED) { /* an optional input that isn't given */
        asc_text_add(text, "{\"format\":\"RESERVED\",\"type\":\"UNDEFINED\",\"shape\":[]}");
        return;
    }
    asc_text_add(text, "{\"format\":\"%s\",\"type\":\"%s\",\"shape\":[", format_name(desc->format),
                 asc_type_name(desc->type));
    for (int i = 0; i < desc->shape.rank; i++)
        asc_text_add(text, "%s%lld", i ? "," : "", (long long)desc->shape.dims[i]);
    asc_text_add(text, "]");
    if (desc->constant) {
        size_t count = asc_desc_elements(desc);
        asc_text_add(text, ",\"is_const\":true,\"const_value\":[");
        for (size_t i = 0; i < count; i++)
            asc_text_add(text, "%s%.17g", i ? "," : "", asc_number_at(desc->constant, i, desc->type));
        asc_text_add(text, "]");
    }
    asc_text_add(text, "}");
}

static char *describe(const asc_op *op) {
    asc_text text = {0};
    asc_text_add(&text, "[{\"op\":\"%s\",\"input_desc\":[", op->type);
    for (uint32_t i = 0; i < op->n_in; i++) {
        if (i) asc_text_add(&text, ",");
        add_tensor(&text, op->inputs[i]);
    }
    asc_text_add(&text, "],\"output_desc\":[");
    for (uint32_t i = 0; i < op->n_out; i++) {
        if (i) asc_text_add(&text, ",");
        add_tensor(&text, op->outputs[i]);
    }
    asc_text_add(&text, "],\"attr\":[");
    for (uint32_t i = 0; i < op->attrs->count; i++)
        asc_text_add(&text, "%s{\"name\":\"%s\",\"type\":\"%s\",\"value\":%s}", i ? "," : "", op->attrs->items[i].name,
                     op->attrs->items[i].kind, op->attrs->items[i].json);
    asc_text_add(&text, "]}]\n");
    return asc_text_take(&text);
}

/* ---- the converter ------------------------------------------------------------------------------------------ */

static bool write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "we");
    if (!file) return false;
    bool written = fputs(text, file) >= 0;
    return fclose(file) == 0 && written;
}

static aclError convert(const char *folder) {
    char list[ASC_FOLDER_BYTES + 30], output[ASC_FOLDER_BYTES + 30], soc[100], precision[200];
    snprintf(list, sizeof list, "--singleop=%s/op.json", folder);
    snprintf(output, sizeof output, "--output=%s/out", folder);
    snprintf(soc, sizeof soc, "--soc_version=%s", asc_get_settings()->soc);
    char *newer = option(ACL_PRECISION_MODE_V2), *older = option(ACL_PRECISION_MODE);
    bool use_newer = newer && *newer;
    snprintf(precision, sizeof precision, "%s%s", about[use_newer ? ACL_PRECISION_MODE_V2 : ACL_PRECISION_MODE].flag,
             use_newer ? newer
             : older   ? older
                       : "must_keep_origin_dtype");
    free(newer);
    free(older);
    return asc_convert(folder, (const char *const[]){list, output, soc, precision, NULL}, "the operator");
}

static aclError compile(const asc_op *op) {
    char folder[ASC_FOLDER_BYTES], path[ASC_FOLDER_BYTES + 30];
    char *text = describe(op);
    if (!text) return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
    aclError code = asc_make_folder(folder);
    if (code == ACL_SUCCESS) {
        snprintf(path, sizeof path, "%s/op.json", folder);
        code =
            write_file(path, text) ? convert(folder) : asc_acl_fail(ACL_ERROR_WRITE_FILE, "%s can't be written", path);
        snprintf(path, sizeof path, "%s/out", folder);
        if (code == ACL_SUCCESS) code = asc_op_add_folder(path);
        asc_remove_folder(folder);
    }
    free(text);
    return code;
}

/* Compiles unless it was before. */
static aclError prepare(const asc_op *op) {
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    asc_om *om = NULL;
    pthread_mutex_lock(&one_at_a_time);
    aclError code = asc_op_is_known(op) ? ACL_SUCCESS : compile(op);
    pthread_mutex_unlock(&one_at_a_time);
    if (code == ACL_SUCCESS) code = asc_op_find(op, &om);
    if (om) asc_om_release(om);
    return code;
}

/* ---- the interface -------------------------------------------------------------------------------------------- */

static aclError check_path(aclopCompileType flag, const char *path) {
    if (flag == ACL_COMPILE_SYS) return ACL_SUCCESS;
    if (flag != ACL_COMPILE_UNREGISTERED)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "compileFlag is %d, no aclopCompileType", (int)flag);
    return asc_acl_fail(
        ACL_ERROR_FEATURE_UNSUPPORTED,
        "the operator in %s is source for a chip's compiler; make it known with ascend-op, and compile with "
        "ACL_COMPILE_SYS",
        path ? path : "opPath");
}

aclError aclopCompile(const char *opType, int numInputs, const aclTensorDesc *const inputDesc[], int numOutputs,
                      const aclTensorDesc *const outputDesc[], const aclopAttr *attr, aclopEngineType engineType,
                      aclopCompileType compileFlag, const char *opPath) {
    ASC_ENTER();
    (void)engineType; /* there is one kind of core */
    asc_op_arguments arguments;
    aclError code = check_path(compileFlag, opPath);
    if (code == ACL_SUCCESS)
        code = asc_op_begin(&arguments, opType, numInputs, inputDesc, numOutputs, outputDesc, attr);
    if (code != ACL_SUCCESS) return code;
    code = prepare(&arguments.op);
    asc_op_end(&arguments);
    return code;
}

static aclError compile_and_execute(const char *type, int n_in, const aclTensorDesc *const input_desc[],
                                    const aclDataBuffer *const inputs[], int n_out,
                                    const aclTensorDesc *const output_desc[], aclDataBuffer *const outputs[],
                                    const aclopAttr *attr, aclopCompileType flag, const char *path,
                                    aclrtStream stream) {
    asc_op_arguments arguments;
    aclError code = check_path(flag, path);
    if (code == ACL_SUCCESS) code = asc_op_begin(&arguments, type, n_in, input_desc, n_out, output_desc, attr);
    if (code != ACL_SUCCESS) return code;
    code = prepare(&arguments.op);
    if (code == ACL_SUCCESS) code = asc_op_execute(&arguments.op, inputs, outputs, stream);
    asc_op_end(&arguments);
    return code;
}

aclError aclopCompileAndExecute(const char *opType, int numInputs, const aclTensorDesc *const inputDesc[],
                                const aclDataBuffer *const inputs[], int numOutputs,
                                const aclTensorDesc *const outputDesc[], aclDataBuffer *const outputs[],
                                const aclopAttr *attr, aclopEngineType engineType, aclopCompileType compileFlag,
                                const char *opPath, aclrtStream stream) {
    ASC_ENTER();
    (void)engineType;
    return asc_stream_launched(stream, compile_and_execute(opType, numInputs, inputDesc, inputs, numOutputs, outputDesc,
                                                           outputs, attr, compileFlag, opPath, stream));
}

aclError aclopCompileAndExecuteV2(const char *opType, int numInputs, aclTensorDesc *inputDesc[],
                                  aclDataBuffer *inputs[], int numOutputs, aclTensorDesc *outputDesc[],
                                  aclDataBuffer *outputs[], aclopAttr *attr, aclopEngineType engineType,
                                  aclopCompileType compileFlag, const char *opPath, aclrtStream stream) {
    ASC_ENTER();
    (void)engineType;
    return asc_stream_launched(
        stream,
        compile_and_execute(opType, numInputs, (const aclTensorDesc *const *)inputDesc,
                            (const aclDataBuffer *const *)inputs, numOutputs, (const aclTensorDesc *const *)outputDesc,
                            (aclDataBuffer *const *)outputs, attr, compileFlag, opPath, stream));
}
