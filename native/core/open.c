/* Opening a bundle, and letting go of it. */
#include <stdlib.h>
#include <string.h>

#include "model.h"
#include "pool.h"
#include "trace.h"

#define KNOWN_FLAGS (ASC_OPEN_VERIFY_WEIGHTS | ASC_OPEN_NO_NATIVE | ASC_OPEN_NO_MMAP | ASC_OPEN_LOW_MEMORY)
#define DEFAULT_BOUND 16

/* Reads the caller's options, which may be of an older or newer header. */
static int32_t take_options(const asc_options *given, asc_options *o, asc_status *status) {
    *o = (asc_options){.struct_bytes = sizeof *o};
    if (!given) return ASC_OK;
    if (given->struct_bytes < 8) return asc_fail(status, ASC_E_ARGUMENT, "asc_options.struct_bytes is not set");
    memcpy(o, given, given->struct_bytes < sizeof *o ? given->struct_bytes : sizeof *o);
    if (o->flags & ~(uint32_t)KNOWN_FLAGS)
        return asc_fail(status, ASC_E_ARGUMENT, "asc_options.flags has unknown bits");
    if (!asc_trust_option_ok(o->trust))
        return asc_fail(status, ASC_E_ARGUMENT, "trust must be \"all\" or \"sha256:<64 hex digits>[,...]\"");
    return ASC_OK;
}

static int32_t open_parts(asc_model *m, const char *path, const asc_options *o, asc_status *status) {
    const uint8_t *file = m->region.bytes;
    const asc_part *plan = asc_frame_part(&m->frame, ASC_PART_PLAN),
                   *native = asc_frame_part(&m->frame, ASC_PART_NATIVE);
    int32_t code = asc_frame_check(&m->frame, file, status);
    if (code == ASC_OK) code = asc_plan_parse(&m->plan, file + plan->offset, plan->size, status);
    if (code == ASC_OK) code = asc_plan_verify(&m->plan, &m->frame, file, m->isa, status);
    if (code == ASC_OK) code = asc_weights_place(m, path, status);
    if (code == ASC_OK)
        code = asc_libraries_open(&m->libraries, &m->plan, native ? file + native->offset : file, o, status);
    if (code == ASC_OK && o->flags & ASC_OPEN_VERIFY_WEIGHTS) code = asc_model_verify_weights(m, status);
    if (code != ASC_OK) return code;
    asc_model_log_fallbacks(m);
    m->caches = calloc(asc_plan_n_partitions(&m->plan) + 1, sizeof *m->caches);
    return m->caches ? asc_apart_open(m, status) : asc_fail(status, ASC_E_MEMORY, "no memory for the model");
}

struct asc_image {
    asc_region region;
    asc_populating populating;
};

/* Where a bundle comes from: a path, else an image, else bytes. */
typedef struct source {
    const char *path;
    asc_image *image;
    const void *bytes;
    uint64_t size;
} source;

static int32_t load(asc_model *m, const source *from, uint32_t flags, asc_status *status) {
    if (from->path) return asc_region_load(&m->region, &m->frame, from->path, flags, status);
    if (!from->image) return asc_region_copy(&m->region, &m->frame, from->bytes, from->size, status);
    m->region = from->image->region;
    from->image->region = (asc_region){0};
    return asc_region_finish(&m->region, &m->frame, status);
}

static int32_t open_model(const source *from, const asc_options *options, asc_model **out, asc_status *status) {
    asc_options o;
    asc_status_begin(status);
    *out = NULL;
    asc_trace_from_environment();
    int32_t code = take_options(options, &o, status);
    if (code != ASC_OK) return code;
    asc_model *m = calloc(1, sizeof *m);
    if (!m) return asc_fail(status, ASC_E_MEMORY, "no memory for the model");
    m->references = 1;
    m->path = from->path ? strdup(from->path) : NULL;
    m->isa = asc_isa_current();
    m->threads = o.num_threads > 0 ? o.num_threads : asc_threads_default();
    if (m->threads > ASC_MAX_THREADS) m->threads = ASC_MAX_THREADS;
    m->max_bound = o.max_bound > 0 ? o.max_bound : DEFAULT_BOUND;
    m->flags = o.flags;
    m->max_memory = o.max_memory;
    m->log = o.log;
    m->log_user = o.log_user;
    pthread_mutex_init(&m->lock, NULL);
    code = load(m, from, o.flags, status);
    if (code == ASC_OK) code = open_parts(m, from->path, &o, status);
    if (code == ASC_OK)
        *out = m;
    else
        asc_model_release(m);
    return code;
}

int32_t asc_model_open(const char *path, const asc_options *options, asc_model **out, asc_status *status) {
    return open_model(&(source){.path = path}, options, out, status);
}

int32_t asc_model_from_memory(const void *bytes, uint64_t size, const asc_options *options, asc_model **out,
                              asc_status *status) {
    return open_model(&(source){.bytes = bytes, .size = size}, options, out, status);
}

asc_image *asc_image_new(uint64_t size, asc_status *status) {
    asc_status_begin(status);
    asc_image *image = calloc(1, sizeof *image);
    if (!image) {
        asc_fail(status, ASC_E_MEMORY, "no memory for a bundle");
    } else if (asc_region_new(&image->region, size, status) != ASC_OK) {
        free(image);
        image = NULL;
    }
    return image;
}

void *asc_image_bytes(asc_image *image) {
    return image->region.bytes;
}

void asc_image_populate(asc_image *image, uint64_t end) {
    if (image->region.bytes) asc_region_populate(&image->region, &image->populating, end);
}

void asc_image_shrink(asc_image *image, uint64_t size) {
    if (image->region.bytes) asc_region_shrink(&image->region, &image->populating, size);
}

void asc_image_free(asc_image *image) {
    if (image) asc_region_free(&image->region);
    free(image);
}

int32_t asc_image_open(asc_image *image, const asc_options *options, asc_model **out, asc_status *status) {
    if (image->region.bytes) return open_model(&(source){.image = image}, options, out, status);
    asc_status_begin(status);
    *out = NULL;
    return asc_fail(status, ASC_E_ARGUMENT, "the image was opened before");
}

asc_model *asc_model_retain(asc_model *model) {
    atomic_fetch_add_explicit(model->owner ? &model->owner->references : &model->references, 1, memory_order_relaxed);
    return model;
}

void asc_model_release(asc_model *m) {
    if (m && m->owner) m = m->owner;
    if (!m || atomic_fetch_sub_explicit(&m->references, 1, memory_order_acq_rel) != 1) return;
    asc_apart_free(m);
    asc_caches_free(m);
    asc_libraries_close(m->libraries, asc_plan_n_natives(&m->plan));
    asc_weights_free(m);
    asc_plan_free(&m->plan);
    asc_region_free(&m->region);
    pthread_mutex_destroy(&m->lock);
    free(m->path);
    free(m);
}
