/* dump_file.c - writes dump files: names, folders, and the protobuf before the bytes. */
#include "dump_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dump_format.h"
#include "replaced_file.h"

/* Elements as toolkit.dumpdata numbers and names them. Those of less than a byte have one each here. */
static const struct {
    uint8_t number;
    const char *name;
} types[] = {
    [ASC_UNDEFINED] = {0, "DT_UNDEFINED"},
    [ASC_FLOAT32] = {1, "DT_FLOAT"},
    [ASC_UINT8] = {4, "DT_UINT8"},
    [ASC_INT8] = {3, "DT_INT8"},
    [ASC_UINT16] = {6, "DT_UINT16"},
    [ASC_INT16] = {5, "DT_INT16"},
    [ASC_INT32] = {7, "DT_INT32"},
    [ASC_INT64] = {8, "DT_INT64"},
    [ASC_STRING] = {13, "DT_STRING"},
    [ASC_BOOL] = {11, "DT_BOOL"},
    [ASC_FLOAT16] = {2, "DT_FLOAT16"},
    [ASC_FLOAT64] = {12, "DT_DOUBLE"},
    [ASC_UINT32] = {9, "DT_UINT32"},
    [ASC_UINT64] = {10, "DT_UINT64"},
    [ASC_BFLOAT16] = {27, "DT_BF16"},
    [ASC_FLOAT8E4M3FN] = {35, "DT_FLOAT8_E4M3FN"},
    [ASC_FLOAT8E5M2] = {34, "DT_FLOAT8_E5M2"},
    [ASC_UINT4] = {4, "DT_UINT8"},
    [ASC_INT4] = {3, "DT_INT8"},
    [ASC_UINT2] = {4, "DT_UINT8"},
    [ASC_INT2] = {3, "DT_INT8"},
};

static size_t type_row(int32_t dtype) {
    bool known = dtype >= 0 && (size_t)dtype < sizeof types / sizeof *types && types[dtype].name;
    return known ? (size_t)dtype : ASC_UNDEFINED;
}

const char *asc_dump_type_name(int32_t dtype) {
    return types[type_row(dtype)].name;
}

/* ---- protobuf ---------------------------------------------------------------------------------------- */

/* A message that grows. */
typedef struct message {
    uint8_t *bytes;
    size_t used, room;
    bool failed;
} message;

static void add_bytes(message *m, const void *bytes, size_t count) {
    if (m->used + count > m->room) {
        size_t room = (m->used + count) * 2;
        uint8_t *grown = realloc(m->bytes, room);
        m->failed |= !grown;
        if (!grown) return;
        m->bytes = grown;
        m->room = room;
    }
    if (count) memcpy(m->bytes + m->used, bytes, count);
    m->used += count;
}

static void add_varint(message *m, uint64_t value) {
    uint8_t byte;
    for (; value > 0x7F; value >>= 7) {
        byte = (uint8_t)(value | 0x80);
        add_bytes(m, &byte, 1);
    }
    byte = (uint8_t)value;
    add_bytes(m, &byte, 1);
}

static void add_number(message *m, uint32_t field, uint64_t value) {
    if (!value) return;
    add_varint(m, field << 3);
    add_varint(m, value);
}

static void add_block(message *m, uint32_t field, const void *bytes, size_t count) {
    add_varint(m, field << 3 | 2);
    add_varint(m, count);
    add_bytes(m, bytes, count);
}

/* Adds a message as a field of another, and frees it. */
static void add_message(message *m, uint32_t field, message *inner) {
    m->failed |= inner->failed;
    add_block(m, field, inner->bytes, inner->used);
    free(inner->bytes);
}

static void add_shape(message *m, uint32_t field, const asc_dump_value *v) {
    message dims = {0}, shape = {0};
    for (int32_t i = 0; i < v->rank; i++) add_varint(&dims, (uint64_t)v->dims[i]);
    if (v->rank) add_message(&shape, ASC_SHAPE_DIM, &dims);
    add_message(m, field, &shape);
}

static void add_tensor(message *m, const asc_dump_value *v, bool output) {
    uint64_t type = types[type_row(v->dtype)].number;
    uint64_t format = v->known && v->rank == 4 ? ASC_FORMAT_NCHW : ASC_FORMAT_ND;
    message tensor = {0}, original = {0};
    add_number(&tensor, ASC_TENSOR_TYPE, type);
    add_number(&tensor, ASC_TENSOR_FORMAT, format);
    add_shape(&tensor, ASC_TENSOR_SHAPE, v);
    if (output && v->def) {
        add_block(&original, ASC_ORIGINAL_NAME, v->def->op, v->def->op_bytes);
        add_number(&original, ASC_ORIGINAL_OUTPUT, v->def->output);
        add_number(&original, ASC_ORIGINAL_TYPE, type);
        add_number(&original, ASC_ORIGINAL_FORMAT, format);
        add_message(&tensor, ASC_OUTPUT_ORIGINAL_OP, &original);
    }
    add_number(&tensor, output ? ASC_OUTPUT_SIZE : ASC_INPUT_SIZE, v->bytes);
    add_shape(&tensor, output ? ASC_OUTPUT_ORIGINAL_SHAPE : ASC_INPUT_ORIGINAL_SHAPE, v);
    add_message(m, output ? ASC_DATA_OUTPUT : ASC_DATA_INPUT, &tensor);
}

static message describe(const asc_dumped *d) {
    message m = {0};
    add_block(&m, ASC_DATA_VERSION, "2.0", 3);
    add_number(&m, ASC_DATA_TIME, d->time);
    for (uint32_t i = 0; i < d->n_out; i++) add_tensor(&m, &d->out[i], true);
    for (uint32_t i = 0; i < d->n_in; i++) add_tensor(&m, &d->in[i], false);
    add_block(&m, ASC_DATA_OP_NAME, d->name, d->name_bytes);
    return m;
}

/* ---- files --------------------------------------------------------------------------------------------- */

void asc_dump_file_name(char *text) {
    static const char kept[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    for (; *text; text++)
        if (!strchr(kept, *text)) *text = '_';
}

/* The number that stands for a name that is too long for a file, noted beside it. */
static bool note_long_name(const char *folder, const asc_dumped *d, const char *name, char *number, size_t room) {
    char path[PATH_MAX];
    snprintf(number, room, "%" PRIu64 "%06" PRIu64, d->time, d->task);
    if ((size_t)snprintf(path, sizeof path, "%s/mapping.csv", folder) >= sizeof path) {
        errno = ENAMETOOLONG;
        return false;
    }
    FILE *mapping = fopen(path, "ae");
    if (!mapping) return false;
    bool written = fprintf(mapping, "%s,%s\n", number, name) > 0;
    return fclose(mapping) == 0 && written;
}

FILE *asc_dump_open(const char *folder, const asc_dumped *d, const char *suffix) {
    char path[PATH_MAX], number[64];
    size_t room = strlen(d->type) + d->name_bytes + 128;
    char *name = malloc(room);
    FILE *file = NULL;
    if (!name || !asc_make_folders(folder)) {
        free(name);
        return NULL;
    }
    int typed = snprintf(name, room, "%s", d->type);
    asc_dump_file_name(name);
    snprintf(name + typed, room - (size_t)typed, ".%.*s", (int)d->name_bytes, d->name);
    asc_dump_file_name(name + typed + 1);
    size_t used = strlen(name);
    snprintf(name + used, room - used, ".%" PRIu64 ".%" PRIu64 ".%" PRIu64 "%s", d->task, d->stream, d->time, suffix);
    bool is_long = strlen(name) > NAME_MAX;
    bool ready = !is_long || note_long_name(folder, d, name, number, sizeof number);
    if (ready && (size_t)snprintf(path, sizeof path, "%s/%s", folder, is_long ? number : name) < sizeof path) {
        int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
        file = descriptor < 0 ? NULL : fdopen(descriptor, "wb");
    } else if (ready)
        errno = ENAMETOOLONG;
    free(name);
    return file;
}

static bool write_values(FILE *file, const asc_dump_value *values, uint32_t count) {
    bool written = true;
    for (uint32_t i = 0; written && i < count; i++)
        written = !values[i].bytes || fwrite(values[i].data, values[i].bytes, 1, file) == 1;
    return written;
}

bool asc_dump_write(const char *folder, const asc_dumped *dumped) {
    message m = describe(dumped);
    uint64_t length = m.used;
    FILE *file = m.failed ? NULL : asc_dump_open(folder, dumped, "");
    if (m.failed) errno = ENOMEM;
    bool written = file && fwrite(&length, sizeof length, 1, file) == 1 && fwrite(m.bytes, m.used, 1, file) == 1;
    written = written && write_values(file, dumped->in, dumped->n_in);
    written = written && write_values(file, dumped->out, dumped->n_out);
    free(m.bytes);
    return file && fclose(file) == 0 && written;
}
