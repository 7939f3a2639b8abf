/* Profiles: the only sets of sizes at which a model with --dynamic_batch_size and its kind runs. */
#include <string.h>

#include "dims.h"

static uint32_t sizes_per_profile(const asc_plan *plan) {
    const asc_profile_size *s = asc_plan_profile_sizes(plan);
    uint32_t n = asc_plan_n_profile_sizes(plan), width = 0;
    while (width < n && s[width].profile == 0) width++;
    return width;
}

int32_t asc_verify_profiles(const asc_plan *plan, asc_status *status) {
    const asc_profile_size *s = asc_plan_profile_sizes(plan);
    uint32_t n = asc_plan_n_profile_sizes(plan), width = sizes_per_profile(plan);
    if (n && (!width || n % width)) return asc_fail(status, ASC_E_FORMAT, "the profiles don't have equal lengths");
    for (uint32_t i = 0; i < n; i++) {
        int good =
            s[i].profile == i / width && s[i].symbol < asc_plan_n_symbols(plan) && s[i].symbol == s[i % width].symbol;
        const asc_symbol *symbol = good ? asc_plan_symbols(plan) + s[i].symbol : NULL;
        if (!good || s[i].size < symbol->min || s[i].size > symbol->max)
            return asc_failf(status, ASC_E_FORMAT, "size %u of the profiles is malformed", i);
    }
    return ASC_OK;
}

static int is_profile(const asc_dims *dims, const asc_profile_size *s, uint32_t width) {
    for (uint32_t i = 0; i < width; i++)
        if (dims->symbol_known[s[i].symbol] && dims->symbols[s[i].symbol] != s[i].size) return 0;
    return 1;
}

/* "8; 16; ..." or "416,416; 832,832", as many as have room. */
static void list_profiles(char *text, size_t room, const asc_plan *plan, uint32_t width) {
    const asc_profile_size *s = asc_plan_profile_sizes(plan);
    uint32_t n = asc_plan_n_profile_sizes(plan);
    for (uint32_t i = 0; i < n; i++) {
        size_t used = strlen(text);
        const char *before = i == 0 ? "" : i % width ? "," : "; ";
        if (room - used < 32) {
            asc_format(text + used, room - used, "%s...", before);
            return;
        }
        asc_format(text + used, room - used, "%s%ld", before, s[i].size);
    }
}

static int32_t refuse(const asc_dims *dims, const asc_plan *plan, uint32_t width, asc_status *status) {
    const asc_profile_size *s = asc_plan_profile_sizes(plan);
    char given[128] = "", allowed[192] = "";
    for (uint32_t i = 0; i < width; i++) {
        const char *name = asc_plan_string(plan, asc_plan_symbols(plan)[s[i].symbol].name);
        size_t used = strlen(given);
        if (!dims->symbol_known[s[i].symbol]) continue;
        asc_format(given + used, sizeof given - used, "%s'%s' = %ld", used ? ", " : "", name,
                   dims->symbols[s[i].symbol]);
    }
    list_profiles(allowed, sizeof allowed, plan, width);
    return asc_failf(status, ASC_E_SHAPE, "%s: none of the model's profiles (%s)", given, allowed);
}

int32_t asc_check_profiles(const asc_dims *dims, const asc_plan *plan, asc_status *status) {
    const asc_profile_size *s = asc_plan_profile_sizes(plan);
    uint32_t n = asc_plan_n_profile_sizes(plan);
    if (!n) return ASC_OK;
    uint32_t width = sizes_per_profile(plan);
    for (uint32_t i = 0; i < n; i += width)
        if (is_profile(dims, s + i, width)) return ASC_OK;
    return refuse(dims, plan, width, status);
}
