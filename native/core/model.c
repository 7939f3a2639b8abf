/* Reading what is in an open bundle, and which of its partitions run. */
#include "model.h"

#include <string.h>

void asc_model_log(const asc_model *model, int32_t level, const char *text) {
    if (model->log) model->log(model->log_user, level, text);
}

const void *asc_model_section(const asc_model *model, uint32_t kind, uint64_t *count) {
    const asc_table *table = kind < ASC_SECTION_KINDS ? &model->plan.tables[kind] : NULL;
    uint64_t n = table ? table->count : 0;
    if (count) *count = n;
    return n ? table->data : NULL;
}

const void *asc_model_part(const asc_model *model, uint32_t type, uint64_t *size) {
    const asc_part *part = asc_frame_part(&model->frame, type);
    if (size) *size = part ? part->size : 0;
    return part ? model->region.bytes + part->offset : NULL;
}

const char *asc_model_string(const asc_model *model, uint32_t offset) {
    return asc_plan_string(&model->plan, offset);
}

uint32_t asc_model_find_partition(const asc_model *model, const char *name) {
    for (uint32_t i = 0; i < asc_plan_n_partitions(&model->plan); i++)
        if (strcmp(asc_model_string(model, asc_plan_partitions(&model->plan)[i].name), name) == 0) return i;
    return ASC_NONE;
}

/* The first library that a partition needs and that isn't loaded, or NULL. */
static const asc_library *missing_library(const asc_model *model, const asc_partition *p) {
    for (uint32_t i = 0; i < p->n_insns; i++) {
        uint32_t native = asc_plan_insns(&model->plan)[p->first_insn + i].native;
        if (native != ASC_NONE && !model->libraries[native].handle) return &model->libraries[native];
    }
    return NULL;
}

uint32_t asc_model_partition_in_use(const asc_model *model, uint32_t partition) {
    if (partition >= asc_plan_n_partitions(&model->plan)) return ASC_NONE;
    const asc_partition *p = &asc_plan_partitions(&model->plan)[partition];
    return p->fallback && missing_library(model, p) ? p->fallback : partition;
}

int32_t asc_model_native_loaded(const asc_model *model, uint32_t index) {
    return index < asc_plan_n_natives(&model->plan) && model->libraries[index].handle != NULL;
}

void asc_model_log_fallbacks(const asc_model *model) {
    for (uint32_t i = 0; model->log && i < asc_plan_n_partitions(&model->plan); i++) {
        if (asc_model_partition_in_use(model, i) == i) continue;
        const asc_partition *p = &asc_plan_partitions(&model->plan)[i];
        char text[512];
        asc_format(text, sizeof text, "partition %s runs interpreted: %s", asc_model_string(model, p->name),
                   missing_library(model, p)->why.text);
        asc_model_log(model, model->flags & ASC_OPEN_NO_NATIVE ? 0 : 1, text);
    }
}
