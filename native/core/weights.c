/* Where the weights of a model are in memory, and whether they are what was written. */
#include <stdlib.h>
#include <string.h>

#include "model.h"
#include "sha256.h"

/* Goes through the weights in order: the file of weights that comes next or is being read, and where its bytes
 * begin. */
typedef struct weight_walk {
    uint32_t file;
    uint64_t start;
} weight_walk;

/* The file that weight i lies in, or NULL. */
static const asc_weight_file *file_of(const asc_plan *plan, weight_walk *walk, uint32_t i) {
    const asc_weight_file *files = asc_plan_weight_files(plan);
    uint32_t n = asc_plan_n_weight_files(plan);
    if (walk->file < n && i == files[walk->file].first_weight + files[walk->file].n_weights)
        walk->start += asc_weight_file_room(&files[walk->file++]);
    return walk->file < n && i >= files[walk->file].first_weight ? &files[walk->file] : NULL;
}

/* Under AddressSanitizer each weight has an allocation of its own, so that a kernel that reads past one is caught. */
int32_t asc_weights_place(asc_model *m, const char *path, asc_status *status) {
    const asc_part *part = asc_frame_part(&m->frame, ASC_PART_WEIGHTS);
    uint32_t n = asc_plan_n_weights(&m->plan);
    weight_walk walk = {0};
    int32_t code = asc_weight_files_open(&m->outside, &m->plan, path, m->flags, status);
    if (code != ASC_OK) return code;
    m->weights = calloc(n + 1, sizeof *m->weights);
    if (!m->weights) return asc_fail(status, ASC_E_MEMORY, "no memory for the model");
    for (uint32_t i = 0; i < n; i++) {
        const asc_weight *w = &asc_plan_weights(&m->plan)[i];
        const uint8_t *at = file_of(&m->plan, &walk, i) ? m->outside.bytes + walk.start + w->offset
                                                        : m->region.bytes + (part ? part->offset + w->offset : 0);
#if defined(__SANITIZE_ADDRESS__)
        void *copy;
        if (posix_memalign(&copy, ASC_ALIGN, w->bytes) != 0)
            return asc_fail(status, ASC_E_MEMORY, "no memory for the weights");
        m->weights[i] = memcpy(copy, at, w->bytes);
#else
        m->weights[i] = at;
#endif
    }
    return ASC_OK;
}

void asc_weights_free(asc_model *m) {
#if defined(__SANITIZE_ADDRESS__)
    for (uint32_t i = 0; m->weights && i < asc_plan_n_weights(&m->plan); i++) free((void *)m->weights[i]);
#endif
    free(m->weights);
    asc_region_free(&m->outside);
}

static int32_t verify_file(const asc_model *m, const asc_weight_file *f, uint64_t start, asc_status *status) {
    uint8_t digest[32];
    asc_sha256(m->outside.bytes + start, f->bytes, digest);
    if (memcmp(digest, f->sha256, sizeof digest) == 0) return ASC_OK;
    return asc_failf(status, ASC_E_CHECKSUM, "a file of weights was changed after it was written: [%s]",
                     asc_plan_string(&m->plan, f->name));
}

int32_t asc_model_verify_weights(const asc_model *model, asc_status *status) {
    const asc_part *part = asc_frame_part(&model->frame, ASC_PART_WEIGHTS);
    const uint8_t *bytes = model->region.bytes + (part ? part->offset : 0);
    weight_walk walk = {0};
    uint64_t end = 0;
    for (uint32_t i = 0; i < asc_plan_n_weights(&model->plan); i++) {
        const asc_weight *w = &asc_plan_weights(&model->plan)[i];
        const asc_weight_file *f = file_of(&model->plan, &walk, i);
        uint8_t digest[32];
        if (f) {
            int32_t code = i == f->first_weight ? verify_file(model, f, walk.start, status) : ASC_OK;
            if (code != ASC_OK) return code;
            continue;
        }
        asc_sha256(bytes + w->offset, w->bytes, digest);
        if (!asc_all_zero(bytes + end, w->offset - end) || memcmp(digest, w->sha256, sizeof digest) != 0)
            return asc_failf(status, ASC_E_CHECKSUM, "weight %u was changed after it was written", i);
        end = w->offset + w->bytes;
    }
    return asc_files_unchanged(model, status);
}
