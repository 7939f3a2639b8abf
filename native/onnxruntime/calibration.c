/* The operator `Record` of models that amct_onnx's quantize_model writes: it keeps the values of the model's inputs
 * in a folder, a file for each of the first batches, which the quantiser reads afterwards. It runs on the CPU
 * provider of any session whose options have registered this library. Sessions, one after another or at once, count
 * their batches together: a batch has the first number that no file of the folder has.
 *
 * Inputs: the folder, as uint8; [batches to keep, how many tensors follow], as int64; the tensors. Its output, the
 * number of the batch, nobody needs. A file has for each tensor the element type (ONNX's), the rank and the dims as
 * int64, then the bytes. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin.h"

enum { MAX_RANK = 16, MAX_PATH = 4096 };
enum { IN_FOLDER, IN_NUMBERS, IN_VALUES, N_INPUTS };

typedef struct recorder {
    _Atomic int64_t batch;
} recorder;

typedef struct tensor {
    int32_t dtype;
    size_t rank, bytes;
    int64_t dims[MAX_RANK];
    const void *data;
} tensor;

/* ---- what onnxruntime asks ----------------------------------------------------------------- */

static const char *op_name(const ort_custom_op *op) {
    (void)op;
    return "Record";
}
static const char *op_provider(const ort_custom_op *op) {
    (void)op;
    return "CPUExecutionProvider";
}
static size_t op_n_inputs(const ort_custom_op *op) {
    (void)op;
    return N_INPUTS;
}
static size_t op_n_outputs(const ort_custom_op *op) {
    (void)op;
    return 1;
}
static int32_t op_input_type(const ort_custom_op *op, size_t i) {
    (void)op;
    return i == IN_FOLDER ? ASC_UINT8 : i == IN_NUMBERS ? ASC_INT64 : ASC_UNDEFINED;
}
static int32_t op_output_type(const ort_custom_op *op, size_t i) {
    (void)op, (void)i;
    return ASC_INT64;
}
static int32_t op_input_mode(const ort_custom_op *op, size_t i) {
    (void)op;
    return i == IN_VALUES ? ORT_VARIADIC : ORT_REQUIRED;
}
static int32_t op_output_mode(const ort_custom_op *op, size_t i) {
    (void)op, (void)i;
    return ORT_REQUIRED;
}
static int32_t op_input_memory(const ort_custom_op *op, size_t i) {
    (void)op, (void)i;
    return 0;
}
static int op_arity(const ort_custom_op *op) {
    (void)op;
    return 1;
}
static int op_homogeneous(const ort_custom_op *op) {
    (void)op;
    return 0;
}
static int op_first_version(const ort_custom_op *op) {
    (void)op;
    return 1;
}

static ort_status *op_create(const ort_custom_op *op, const ort_fn *api, const void *info, void **kernel) {
    (void)op, (void)api, (void)info;
    *kernel = calloc(1, sizeof(recorder));
    return *kernel ? NULL : fail_memory();
}

/* ---- recording ----------------------------------------------------------------------------- */

static ort_status *read_shape(const ort_shape_info *shape, tensor *t) {
    TRY(ort_get_dtype(shape, &t->dtype));
    TRY(ort_get_rank(shape, &t->rank));
    if (t->rank > MAX_RANK) return fail(ORT_INVALID_ARGUMENT, "a tensor to record has more than 16 axes", NULL);
    return ort_get_dims(shape, t->dims, t->rank);
}

static ort_status *read_tensor(const ort_kernel_context *context, size_t index, tensor *t) {
    const ort_value *value = NULL;
    ort_shape_info *shape = NULL;
    void *data = NULL;
    *t = (tensor){0};
    TRY(ort_context_input(context, index, &value));
    ort_value *writable = (ort_value *)(uintptr_t)value; /* onnxruntime's only accessor; we just read */
    TRY(ort_tensor_shape(value, &shape));
    ort_status *status = read_shape(shape, t);
    ort_release_shape(shape);
    if (!status) status = ort_tensor_bytes(value, &t->bytes);
    if (!status) status = ort_tensor_data(writable, &data);
    t->data = data;
    return status;
}

static int write_all(int file, const void *bytes, size_t size) {
    const uint8_t *at = bytes;
    while (size) {
        ssize_t done = write(file, at, size);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return 0;
        at += done;
        size -= (size_t)done;
    }
    return 1;
}

static ort_status *fail_write(const char *path) {
    return fail(ORT_FAIL, "can't write a batch of the calibration: ", path);
}

static ort_status *write_tensor(int file, const tensor *t, const char *path) {
    int64_t head[2 + MAX_RANK] = {t->dtype, (int64_t)t->rank};
    memcpy(head + 2, t->dims, t->rank * sizeof *t->dims);
    int whole = write_all(file, head, (2 + t->rank) * sizeof *head) && write_all(file, t->data, t->bytes);
    return whole ? NULL : fail_write(path);
}

static ort_status *write_values(const ort_kernel_context *context, size_t n, int file, const char *path) {
    ort_status *status = NULL;
    for (size_t i = 0; i < n && !status; i++) {
        tensor t;
        status = read_tensor(context, IN_VALUES + i, &t);
        if (!status) status = write_tensor(file, &t, path);
    }
    return status;
}

/* Opens the file of the first batch that has none, and leaves its path; -1 when there are enough, or with errno. */
static int open_batch(recorder *r, const tensor *folder, int64_t n_batches, char path[MAX_PATH], int64_t *batch) {
    int file = -1;
    do {
        *batch = atomic_fetch_add(&r->batch, 1);
        errno = 0;
        if (*batch >= n_batches) return -1;
        memcpy(path, folder->data, folder->bytes);
        path[folder->bytes] = 0;
        text_add(path, MAX_PATH, "/");
        text_add_number(path, MAX_PATH, *batch);
        file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    } while (file < 0 && errno == EEXIST);
    return file;
}

static ort_status *record(recorder *r, const ort_kernel_context *context, int64_t *batch) {
    tensor folder, numbers;
    int64_t number[2];
    char path[MAX_PATH] = "";
    TRY(read_tensor(context, IN_FOLDER, &folder));
    TRY(read_tensor(context, IN_NUMBERS, &numbers));
    if (folder.bytes + 64 > sizeof path || numbers.bytes != sizeof number)
        return fail(ORT_INVALID_ARGUMENT, "Record wants the folder and two numbers", NULL);
    memcpy(number, numbers.data, sizeof number);
    int file = open_batch(r, &folder, number[0], path, batch);
    if (file < 0) return errno ? fail_write(path) : NULL;
    ort_status *status = write_values(context, (size_t)number[1], file, path);
    if (close(file) != 0 && !status) status = fail_write(path);
    if (status) unlink(path);
    const asc_ep_callbacks *callbacks = plugin_callbacks();
    path[folder.bytes] = 0;
    if (!status && callbacks && callbacks->recorded) callbacks->recorded(path);
    return status;
}

static ort_status *op_compute(void *kernel, ort_kernel_context *context) {
    int64_t batch = 0;
    ort_value *value = NULL;
    void *data = NULL;
    TRY(record(kernel, context, &batch));
    TRY(ort_context_output(context, 0, NULL, 0, &value));
    TRY(ort_tensor_data(value, &data));
    memcpy(data, &batch, sizeof batch);
    return NULL;
}

static const ort_custom_op recording = {
    .version = ORT_CUSTOM_OP_VERSION,
    .name = op_name,
    .provider = op_provider,
    .input_type = op_input_type,
    .n_inputs = op_n_inputs,
    .output_type = op_output_type,
    .n_outputs = op_n_outputs,
    .destroy = free,
    .input_mode = op_input_mode,
    .output_mode = op_output_mode,
    .input_memory = op_input_memory,
    .variadic_input_arity = op_arity,
    .variadic_input_homogeneous = op_homogeneous,
    .variadic_output_arity = op_arity,
    .variadic_output_homogeneous = op_arity,
    .create_kernel_v2 = op_create,
    .compute_v2 = op_compute,
    .start_version = op_first_version,
    .end_version = op_first_version,
};

ort_status *calibration_register(ort_session_options *options) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static ort_domain *domain; /* sessions keep it, and never say when they are done */
    ort_status *status = NULL;
    pthread_mutex_lock(&lock);
    if (!domain) {
        ort_domain *made = NULL;
        status = ort_create_domain("ascend_ep.calibration", &made);
        if (!status) status = ort_add_op(made, &recording);
        if (!status) domain = made;
    }
    pthread_mutex_unlock(&lock);
    return status ? status : ort_add_domain(options, domain);
}
