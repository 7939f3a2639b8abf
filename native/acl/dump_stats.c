/* dump_stats.c - numbers about dumped tensors, as a table. */
#include <math.h>

#include "dump_file.h"
#include "model.h"
#include "numbers.h"

typedef struct numbers {
    double least, most, sum; /* of the finite elements */
    uint64_t count, finite, nan, below, above;
} numbers;

static numbers measure(const asc_dump_value *v, aclDataType type) {
    numbers n = {.least = INFINITY, .most = -INFINITY};
    n.count = v->bytes / asc_dtype_bytes(v->dtype);
    for (uint64_t i = 0; i < n.count; i++) {
        double x = asc_number_at(v->data, i, type);
        n.nan += isnan(x) != 0;
        n.below += x == -INFINITY;
        n.above += x == INFINITY;
        if (!isfinite(x)) continue;
        n.finite++;
        n.sum += x;
        n.least = x < n.least ? x : n.least;
        n.most = x > n.most ? x : n.most;
    }
    return n;
}

static void write_line(FILE *file, const char *side, uint32_t index, const asc_dump_value *v) {
    aclDataType type = asc_acl_type(v->dtype);
    fprintf(file, "%s,%u,%zu,%s,%s,", side, index, v->bytes, asc_dump_type_name(v->dtype),
            v->known && v->rank == 4 ? "NCHW" : "ND");
    for (int32_t i = 0; i < v->rank; i++) fprintf(file, "%s%lld", i ? "x" : "", (long long)v->dims[i]);
    if (!asc_is_number(type) || !v->bytes) {
        fputs(",,,,,,,\n", file);
        return;
    }
    numbers n = measure(v, type);
    double mean = n.finite ? n.sum / (double)n.finite : NAN;
    fprintf(file, ",%.9g,%.9g,%.9g,%llu,%llu,%llu,%llu\n", n.finite ? n.most : NAN, n.finite ? n.least : NAN, mean,
            (unsigned long long)n.count, (unsigned long long)n.nan, (unsigned long long)n.below,
            (unsigned long long)n.above);
}

bool asc_dump_write_stats(const char *folder, const asc_dumped *dumped) {
    FILE *file = asc_dump_open(folder, dumped, ".csv");
    if (!file) return false;
    fputs(
        "Input/Output,Index,Data Size,Data Type,Format,Shape,Max Value,Min Value,Avg Value,Count,Nan Count,"
        "Negative Inf Count,Positive Inf Count\n",
        file);
    for (uint32_t i = 0; i < dumped->n_in; i++) write_line(file, "Input", i, &dumped->in[i]);
    for (uint32_t i = 0; i < dumped->n_out; i++) write_line(file, "Output", i, &dumped->out[i]);
    bool written = !ferror(file);
    return fclose(file) == 0 && written;
}
