/* Operators that onnxruntime has no schema for, declared at run time. Each declaration is an
 * OrtCustomOp with our data behind it; onnxruntime passes it back to every function.
 *
 * Declarations, sets and domains live as long as the process: sessions and session options keep
 * pointers to them and never say when they are done. Python declares a definition once. */
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

typedef struct declared {
    ort_custom_op base; /* first: what onnxruntime sees */
    uint32_t number;
    char *domain;
    char *op_type;
    int32_t since;
    uint32_t n_in, n_out, n_attrs;
    asc_ep_operand *in, *out;
    char **attrs;
} declared;

struct asc_ep_set {
    uint32_t number;
    uint32_t n;
    ort_domain **domains; /* one per different domain, made when first handed over */
    uint32_t n_domains;
    declared *ops[];
};

static struct {
    pthread_mutex_t lock;
    declared **ops;
    uint32_t n;
    uint32_t n_sets;
} declarations = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local asc_ep_set *next_set;

/* ---- what onnxruntime asks ----------------------------------------------------------------- */

static const char *op_name(const ort_custom_op *op) {
    return ((const declared *)op)->op_type;
}

static const char *op_provider(const ort_custom_op *op) {
    (void)op;
    return ASC_EP_NAME;
}

static size_t op_n_inputs(const ort_custom_op *op) {
    return ((const declared *)op)->n_in;
}
static size_t op_n_outputs(const ort_custom_op *op) {
    return ((const declared *)op)->n_out;
}
static int32_t op_input_type(const ort_custom_op *op, size_t i) {
    return ((const declared *)op)->in[i].dtype;
}
static int32_t op_output_type(const ort_custom_op *op, size_t i) {
    return ((const declared *)op)->out[i].dtype;
}
static int32_t op_input_mode(const ort_custom_op *op, size_t i) {
    return ((const declared *)op)->in[i].mode;
}
static int32_t op_output_mode(const ort_custom_op *op, size_t i) {
    return ((const declared *)op)->out[i].mode;
}

static int32_t op_input_memory(const ort_custom_op *op, size_t i) {
    (void)op, (void)i;
    return 0;
}

static const asc_ep_operand *variadic_of(const asc_ep_operand *operands, uint32_t n) {
    static const asc_ep_operand single = {ASC_UNDEFINED, ASC_EP_VARIADIC, 1, 1};
    return n && operands[n - 1].mode == ASC_EP_VARIADIC ? &operands[n - 1] : &single;
}

static int op_in_arity(const ort_custom_op *op) {
    return variadic_of(((const declared *)op)->in, ((const declared *)op)->n_in)->min_count;
}
static int op_in_homogeneous(const ort_custom_op *op) {
    return variadic_of(((const declared *)op)->in, ((const declared *)op)->n_in)->homogeneous;
}
static int op_out_arity(const ort_custom_op *op) {
    return variadic_of(((const declared *)op)->out, ((const declared *)op)->n_out)->min_count;
}
static int op_out_homogeneous(const ort_custom_op *op) {
    return variadic_of(((const declared *)op)->out, ((const declared *)op)->n_out)->homogeneous;
}

static int op_start(const ort_custom_op *op) {
    return ((const declared *)op)->since;
}

static int op_end(const ort_custom_op *op) {
    (void)op;
    return INT_MAX;
}

/* A declared operator has no kernel of its own: AscendEP compiles it, or the session says why not. */
static ort_status *op_create(const ort_custom_op *op, const ort_fn *api, const void *info, void **kernel) {
    (void)api, (void)info;
    *kernel = NULL;
    return fail(ORT_NOT_IMPLEMENTED, "operator declared but not compiled: ", op_name(op));
}

static ort_status *op_compute(void *kernel, ort_kernel_context *context) {
    (void)kernel, (void)context;
    return fail(ORT_NOT_IMPLEMENTED, "a declared operator has no kernel", NULL);
}

static void op_destroy(void *kernel) {
    (void)kernel;
}

static ort_status *op_infer(const ort_custom_op *op, ort_infer_context *context) {
    const declared *d = (const declared *)op;
    return infer_declared(d->number, d->n_out, d->attrs, d->n_attrs, context);
}

/* ---- declaring ----------------------------------------------------------------------------- */

static void *copy_of(const void *bytes, size_t size) {
    void *copy = malloc(size + 1);
    if (copy && size) memcpy(copy, bytes, size);
    return copy;
}

static void free_declared(declared *op) {
    for (uint32_t i = 0; op->attrs && i < op->n_attrs; i++) free(op->attrs[i]);
    free(op->attrs);
    free(op->in);
    free(op->out);
    free(op->domain);
    free(op->op_type);
    free(op);
}

static declared *copy_declaration(const asc_ep_declaration *from) {
    declared *op = calloc(1, sizeof *op);
    if (!op) return NULL;
    op->since = from->since_version;
    op->n_in = from->n_in;
    op->n_out = from->n_out;
    op->n_attrs = from->n_attrs;
    op->domain = text_copy(from->domain);
    op->op_type = text_copy(from->op_type);
    op->in = copy_of(from->in, from->n_in * sizeof *from->in);
    op->out = copy_of(from->out, from->n_out * sizeof *from->out);
    op->attrs = calloc(from->n_attrs + 1, sizeof *op->attrs);
    int whole = op->domain && op->op_type && op->in && op->out && op->attrs;
    for (uint32_t i = 0; whole && i < from->n_attrs; i++) whole = (op->attrs[i] = text_copy(from->attrs[i])) != NULL;
    if (whole) return op;
    free_declared(op);
    return NULL;
}

static const ort_custom_op functions = {
    .version = ORT_CUSTOM_OP_VERSION,
    .name = op_name,
    .provider = op_provider,
    .input_type = op_input_type,
    .n_inputs = op_n_inputs,
    .output_type = op_output_type,
    .n_outputs = op_n_outputs,
    .destroy = op_destroy,
    .input_mode = op_input_mode,
    .output_mode = op_output_mode,
    .input_memory = op_input_memory,
    .variadic_input_arity = op_in_arity,
    .variadic_input_homogeneous = op_in_homogeneous,
    .variadic_output_arity = op_out_arity,
    .variadic_output_homogeneous = op_out_homogeneous,
    .create_kernel_v2 = op_create,
    .compute_v2 = op_compute,
    .infer = op_infer,
    .start_version = op_start,
    .end_version = op_end,
};

uint32_t asc_ep_declare(const asc_ep_declaration *declaration) {
    declared *op = copy_declaration(declaration);
    if (!op) return ASC_NONE;
    op->base = functions;
    pthread_mutex_lock(&declarations.lock);
    declared **ops = realloc(declarations.ops, (declarations.n + 1) * sizeof *ops);
    uint32_t number = ops ? declarations.n : ASC_NONE;
    if (ops) {
        declarations.ops = ops;
        op->number = number;
        ops[declarations.n++] = op;
    }
    pthread_mutex_unlock(&declarations.lock);
    if (number == ASC_NONE) free_declared(op);
    return number;
}

asc_ep_set *asc_ep_set_new(const uint32_t *numbers, uint32_t n) {
    asc_ep_set *set = calloc(1, sizeof *set + n * sizeof *set->ops);
    int whole = set != NULL;
    pthread_mutex_lock(&declarations.lock);
    for (uint32_t i = 0; whole && i < n; i++) {
        whole = numbers[i] < declarations.n;
        if (whole) set->ops[set->n++] = declarations.ops[numbers[i]];
    }
    if (whole) set->number = declarations.n_sets++;
    pthread_mutex_unlock(&declarations.lock);
    if (whole) return set;
    free(set);
    return NULL;
}

uint32_t asc_ep_set_number(const asc_ep_set *set) {
    return set->number;
}

void asc_ep_set_next(asc_ep_set *set) {
    next_set = set;
}

/* ---- handing over -------------------------------------------------------------------------- */

static int is_first_of_domain(const asc_ep_set *set, uint32_t op) {
    for (uint32_t i = 0; i < op; i++)
        if (strcmp(set->ops[i]->domain, set->ops[op]->domain) == 0) return 0;
    return 1;
}

static ort_status *make_domain(asc_ep_set *set, const char *name, ort_domain **out) {
    TRY(ort_create_domain(name, out));
    for (uint32_t i = 0; i < set->n; i++)
        if (strcmp(set->ops[i]->domain, name) == 0) TRY(ort_add_op(*out, &set->ops[i]->base));
    return NULL;
}

static ort_status *make_domains(asc_ep_set *set) {
    if (set->domains) return NULL;
    set->domains = calloc(set->n + 1, sizeof *set->domains);
    if (!set->domains) return fail_memory();
    for (uint32_t i = 0; i < set->n; i++)
        if (is_first_of_domain(set, i)) TRY(make_domain(set, set->ops[i]->domain, &set->domains[set->n_domains++]));
    return NULL;
}

ASC_API ort_status *RegisterCustomOps(ort_session_options *options, const ort_api_base *base);

/* The export that onnxruntime's register_custom_ops_library calls. */
ort_status *RegisterCustomOps(ort_session_options *options, const ort_api_base *base) {
    return asc_ep_register(options, base);
}

ort_status *asc_ep_register(ort_session_options *options, const ort_api_base *base) {
    TRY(plugin_bind(base));
    TRY(calibration_register(options));
    const asc_ep_callbacks *callbacks = plugin_callbacks();
    asc_ep_set *set = next_set;
    if (!set && callbacks && callbacks->default_set) set = callbacks->default_set();
    if (!set) return NULL;
    pthread_mutex_lock(&declarations.lock);
    ort_status *status = make_domains(set);
    pthread_mutex_unlock(&declarations.lock);
    for (uint32_t i = 0; !status && i < set->n_domains; i++) status = ort_add_domain(options, set->domains[i]);
    char number[16] = "";
    text_add_number(number, sizeof number, set->number);
    return status ? status : ort_add_config(options, "ascend_ep.declared", number);
}
