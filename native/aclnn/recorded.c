/* recorded.c - an operator's run in a trace: aclnnInplaceAdd is a call of type Add, named as msprof names it. */
#include "recorded.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asc_trace.h"

static const char *type_of(const asc_operator *row) {
    const char *type = strncmp(row->name, "aclnn", 5) == 0 ? row->name + 5 : row->name;
    return strncmp(type, "Inplace", 7) == 0 && type[7] ? type + 7 : type;
}

/* Appends the tensors of arguments of these kinds. */
static uint32_t gather(const asc_argument *arguments, uint32_t n, const char *kinds, asc_tensor *to) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++)
        for (int32_t k = 0; strchr(kinds, arguments[i].kind) && k < arguments[i].count; k++) {
            if (to) to[count] = arguments[i].tensors[k];
            count++;
        }
    return count;
}

bool asc_recorded_begin(void) {
    return asc_trace_begin_call() != 0;
}

void asc_recorded_end(const asc_operator *row, const asc_argument *arguments, uint32_t n, int32_t code) {
    const char *type = type_of(row);
    char name[256];
    snprintf(name, sizeof name, "%s_%sAiCore_%s", row->name, type, type);
    uint32_t n_in = gather(arguments, n, "TRLQ", NULL), n_out = gather(arguments, n, "ORMQ", NULL);
    bool fits = n_in <= UINT16_MAX && n_out <= UINT16_MAX;
    asc_tensor *operands = fits ? malloc((n_in + n_out + 1) * sizeof *operands) : NULL;
    if (operands) {
        gather(arguments, n, "TRLQ", operands);
        gather(arguments, n, "ORMQ", operands + n_in);
    } else {
        n_in = n_out = 0; /* its time is recorded all the same */
    }
    asc_trace_end_call(&(asc_traced_call){.name = name,
                                          .kernel = row->name,
                                          .op_type = type,
                                          .operands = operands,
                                          .n_in = n_in,
                                          .n_out = n_out,
                                          .blocks = 1,
                                          .code = code});
    free(operands);
}
