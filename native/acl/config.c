/* config.c - what acl.json asks for: a default device, a trace; the rest is said to change nothing here. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "json.h"
#include "profile.h"
#include "regular_file.h"

#define MOST_BYTES (10u << 20)

/* Whether the text is one object of JSON. An empty file asks for nothing. */
static aclError check(const char *path, const char *text, size_t bytes) {
    size_t line = 1;
    const char *why = "no object", *first = text + strspn(text, " \t\r\n");
    bool whole = first == text + bytes || asc_json_check(text, bytes, &line, &why);
    if (whole && (!*first || *first == '{')) return ACL_SUCCESS;
    return asc_acl_fail(ACL_ERROR_PARSE_FILE, "configPath (%s) is not one JSON object: in line %zu is %s", path, line,
                        whole ? "no object" : why);
}

aclError asc_config_read(const char *path, char **text) {
    FILE *file = asc_open_regular(path);
    if (!file)
        return asc_acl_fail(ACL_ERROR_INVALID_FILE, "configPath (%s) can't be opened: %s", path,
                            errno == EINVAL ? "it is no regular file" : strerror(errno));
    char *bytes = malloc(MOST_BYTES + 1);
    size_t n = bytes ? fread(bytes, 1, MOST_BYTES + 1, file) : 0;
    fclose(file);
    if (!bytes) return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
    aclError code = ACL_SUCCESS;
    if (n > MOST_BYTES)
        code = asc_acl_fail(ACL_ERROR_INVALID_FILE_SIZE, "configPath (%s) has more than 10 MB", path);
    else {
        bytes[n] = 0;
        bool marked = n >= 3 && !memcmp(bytes, "\xEF\xBB\xBF", 3); /* as UTF-8 */
        if (marked) memmove(bytes, bytes + 3, n - 2);
        code = check(path, bytes, marked ? n - 3 : n);
    }
    if (code != ACL_SUCCESS)
        free(bytes);
    else
        *text = bytes;
    return code;
}

/* What CANN's file may ask for that has no effect on a CPU, and what serves instead. */
static const struct {
    const char *key, *instead;
} without_effect[] = {
    {"max_opqueue_num", "single operators aren't cached by the queue"},
    {"err_msg_mode", "texts are always those of the thread"},
    {"GeFinalize", "nothing of the graph engine is kept"},
    {"StackSize", "kernels use the program's stack"},
    {"device_limit", "a device has the machine's memory (ASCEND_EP_DEVICE_MEMORY)"},
};

/* Entries that are acted upon, here and in dump_settings.c. */
static const char *const with_effect[] = {"profiler", "dump", "defaultDevice"};

static bool is_known(const char *key) {
    for (size_t i = 0; i < sizeof with_effect / sizeof *with_effect; i++)
        if (asc_json_is(key, with_effect[i], strlen(with_effect[i]))) return true;
    for (size_t i = 0; i < sizeof without_effect / sizeof *without_effect; i++)
        if (asc_json_is(key, without_effect[i].key, strlen(without_effect[i].key))) return true;
    return false;
}

static void tell_unknown(const char *text, const char *path) {
    const char *key;
    char shown[256];
    for (size_t i = 0; (key = asc_json_key(text, i)); i++) {
        if (is_known(key)) continue;
        asc_json_text(key, shown, sizeof shown);
        fprintf(stderr, "[WARNING] %s: [%s] is no entry of this file\n", path, shown);
    }
}

/* {"switch": "on", "output": FOLDER}; without a folder the trace is written where the program runs. */
static void apply_profiler(const char *settings, const char *path) {
    char on[8] = "", output[1024] = "", key[64], value[64] = "";
    asc_trace_options how = {.struct_bytes = sizeof how};
    const char *member;
    if (!settings) return;
    asc_json_find(settings, "switch", on, sizeof on);
    if (strcmp(on, "on") != 0) {
        if (strcmp(on, "off") != 0)
            fprintf(stderr, "[WARNING] %s: [profiler]: nothing is recorded: [switch] is on or off, not [%s]\n", path,
                    on);
        return;
    }
    asc_json_find(settings, "output", output, sizeof output);
    for (size_t i = 0; (member = asc_json_key(settings, i)); i++) {
        asc_json_text(member, key, sizeof key);
        if (strcmp(key, "switch") == 0 || strcmp(key, "output") == 0) continue;
        asc_json_find(settings, key, value, sizeof value);
        if (!asc_trace_option(&how, key, value))
            fprintf(stderr, "[WARNING] %s: [profiler]: [%s] = [%s] has no effect here\n", path, key, value);
    }
    if (asc_profile_begin(*output ? output : ".", &how) != ACL_SUCCESS)
        fprintf(stderr, "[WARNING] %s: [profiler]: %s", path, asc_last_text());
}

void asc_config_apply(const char *text, const char *path) {
    char device[32];
    if (!text) return;
    tell_unknown(text, path);
    for (size_t i = 0; i < sizeof without_effect / sizeof *without_effect; i++)
        if (asc_json_find(text, without_effect[i].key, NULL, 0))
            fprintf(stderr, "[WARNING] %s: [%s] changes nothing here: %s\n", path, without_effect[i].key,
                    without_effect[i].instead);
    apply_profiler(asc_json_find(text, "profiler", NULL, 0), path);
    const char *inner = asc_json_find(text, "defaultDevice", NULL, 0);
    if (inner && asc_json_find(inner, "default_device", device, sizeof device)) asc_device_open(atoi(device));
}
