/* om.c - the life of a model's description. */
#include <stdlib.h>
#include <string.h>

#include "dump.h"
#include "model.h"
#include "run.h"

asc_om *asc_om_retain(asc_om *om) {
    atomic_fetch_add(&om->uses, 1);
    return om;
}

void asc_om_release(asc_om *om) {
    if (atomic_fetch_sub(&om->uses, 1) != 1) return;
    asc_dump_free(om->dump);
    if (om->fixed) asc_chain_free(om, om->fixed);
    if (om->model) asc_model_release(om->model);
    free(om->inputs);
    free(om->outputs);
    free(om->gears);
    free(om->columns);
    free(om->partitions);
    free(om);
}

uint32_t asc_om_chooser(const asc_om *om) {
    for (uint32_t i = 0; i < om->n_inputs; i++)
        if (om->inputs[i].edge == ASC_NONE && om->inputs[i].aipp_of == ASC_NONE) return i;
    return ASC_NONE;
}

const char *asc_meta_of(const asc_model *model, const char *key) {
    uint64_t count;
    const asc_meta *meta = asc_model_section(model, ASC_SEC_META, &count);
    for (uint64_t i = 0; i < count; i++)
        if (!strcmp(asc_model_string(model, meta[i].key), key)) return asc_model_string(model, meta[i].value);
    return NULL;
}
