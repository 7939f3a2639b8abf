/* rank_table.c - {"server_list": [{"device": [{"device_id": "0", "rank_id": "0", ...}, ...], ...}], ...} */
#include "rank_table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "failure.h"
#include "json.h"
#include "regular_file.h"

#define MOST_BYTES ((size_t)16 << 20)

#define FAIL(...) asc_hccl_fail(ASC_EI_RANK_TABLE, HCCL_E_PARA, __VA_ARGS__)

static HcclResult read_text(const char *path, char **text, size_t *bytes) {
    struct stat status;
    FILE *file = asc_open_regular(path);
    size_t used = 0;
    *text = NULL;
    if (file && fstat(fileno(file), &status) == 0 && (size_t)status.st_size <= MOST_BYTES) {
        *text = malloc((size_t)status.st_size + 1);
        if (*text) used = fread(*text, 1, (size_t)status.st_size, file);
        if (*text) (*text)[used] = 0;
    } else if (file)
        errno = EFBIG;
    if (file) fclose(file);
    *bytes = used;
    if (*text) return HCCL_SUCCESS;
    return asc_hccl_fail(ASC_EI_RANK_TABLE, HCCL_E_OPEN_FILE_FAILURE, "the rank table %s can't be read: %s", path,
                         errno == EINVAL ? "it is no regular file" : strerror(errno));
}

/* A number that stands in a string, or for itself. */
static bool read_number(const char *object, const char *key, long most, long *value) {
    char text[32], *end;
    if (!asc_json_find(object, key, text, sizeof text)) return false;
    *value = strtol(text, &end, 10);
    return end != text && !*end && *value >= 0 && *value <= most;
}

static HcclResult read_device(const char *path, const char *object, asc_rank_table *table) {
    long rank, device;
    if (!read_number(object, "rank_id", ASC_MAX_RANKS - 1, &rank))
        return FAIL("%s: a device has no rank_id from 0 to %u", path, ASC_MAX_RANKS - 1);
    if (!read_number(object, "device_id", INT32_MAX, &device))
        return FAIL("%s: the device of rank %ld has no device_id", path, rank);
    if (table->devices[rank] >= 0) return FAIL("%s: rank_id %ld is there twice", path, rank);
    table->devices[rank] = (int32_t)device;
    table->ranks++;
    return HCCL_SUCCESS;
}

static HcclResult read_ranks(const char *path, const char *text, size_t bytes, asc_rank_table *table) {
    size_t line;
    const char *why;
    if (!asc_json_check(text, bytes, &line, &why))
        return FAIL("%s isn't JSON from line %zu on: there is %s", path, line, why);
    const char *servers = asc_json_find(text, "server_list", NULL, 0);
    const char *server = servers ? asc_json_element(servers, 0) : NULL;
    if (!server) return FAIL("%s has no server_list with a server", path);
    if (asc_json_element(servers, 1))
        return asc_hccl_fail(ASC_EI_RANK_TABLE, HCCL_E_NOT_SUPPORT,
                             "%s lists several servers; ranks are on one host here", path);
    const char *devices = asc_json_find(server, "device", NULL, 0), *device;
    HcclResult code = HCCL_SUCCESS;
    for (size_t i = 0; devices && code == HCCL_SUCCESS && (device = asc_json_element(devices, i)); i++)
        code = read_device(path, device, table);
    if (code != HCCL_SUCCESS) return code;
    if (!table->ranks) return FAIL("%s has no device", path);
    for (uint32_t rank = 0; rank < table->ranks; rank++)
        if (table->devices[rank] < 0) return FAIL("%s has %u devices, but no rank_id %u", path, table->ranks, rank);
    return HCCL_SUCCESS;
}

HcclResult asc_rank_table_read(const char *path, asc_rank_table *table) {
    char *text;
    size_t bytes;
    memset(table, 0, sizeof *table);
    memset(table->devices, -1, sizeof table->devices);
    HcclResult code = read_text(path, &text, &bytes);
    if (code == HCCL_SUCCESS) code = read_ranks(path, text, bytes, table);
    free(text);
    return code;
}
