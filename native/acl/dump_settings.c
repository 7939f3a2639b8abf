/* dump_settings.c - reads and checks the section "dump" of acl.json. */
#include "dump_settings.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "json.h"

#define MOST_TEXT 256

/* What the section may ask for that has no effect on a CPU, and why. */
static const struct {
    const char *key, *why;
} without_effect[] = {
    {"dump_stats", "dump_data \"stats\" writes all numbers that it has"},
    {"dump_kernel_data", "kernels of Ascend C print where they run"},
    {"op_blacklist", "every operator of the layers asked for is dumped"},
    {"opname_range", "every operator of the layers asked for is dumped"},
    {"watcher_nodes", "operators can't write into each other's memory here"},
};

static aclError invalid(const char *key, const char *value, const char *allowed) {
    return asc_acl_fail(ACL_ERROR_INVALID_DUMP_CONFIG, "[dump] %s is [%s]; %s", key, value, allowed);
}

/* One of two or three words; `number` is which. */
static aclError read_word(const char *dump, const char *key, const char *const words[], int count, int *number) {
    char value[MOST_TEXT] = "", allowed[MOST_TEXT] = "it is one of";
    if (!asc_json_find(dump, key, value, sizeof value)) return ACL_SUCCESS;
    for (int i = 0; i < count; i++)
        if (!strcmp(value, words[i])) {
            *number = i;
            return ACL_SUCCESS;
        }
    for (int i = 0; i < count; i++) {
        size_t used = strlen(allowed);
        snprintf(allowed + used, sizeof allowed - used, " \"%s\"", words[i]);
    }
    return invalid(key, value, allowed);
}

/* A folder that is there and may be written, as the documents ask for. */
static aclError read_folder(const char *dump, asc_dump_settings *s) {
    char value[PATH_MAX] = "", whole[PATH_MAX];
    struct stat info;
    if (!asc_json_find(dump, "dump_path", value, sizeof value) || !*value)
        return asc_acl_fail(ACL_ERROR_INVALID_DUMP_CONFIG, "[dump] has no dump_path, the folder of what is written");
    if (!realpath(value, whole) || stat(whole, &info) != 0 || !S_ISDIR(info.st_mode))
        return invalid("dump_path", value, "make that folder first");
    s->folder = strdup(whole);
    return s->folder ? ACL_SUCCESS : asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
}

/* "0|3-5|7"; each part is a number, or two in order. */
static bool check_steps(const char *text) {
    for (const char *at = text;; at++) {
        char *end;
        if (*at < '0' || *at > '9') return false;
        unsigned long first = strtoul(at, &end, 10), last = first;
        if (*end == '-') {
            if (end[1] < '0' || end[1] > '9') return false;
            last = strtoul(end + 1, &end, 10);
        }
        if (last < first) return false;
        at = end;
        if (!*at) return true;
        if (*at != '|') return false;
    }
}

static aclError read_steps(const char *dump, asc_dump_settings *s) {
    char value[1024] = "";
    if (!asc_json_find(dump, "dump_step", value, sizeof value) || !*value) return ACL_SUCCESS;
    if (!check_steps(value)) return invalid("dump_step", value, "it has the form 0|3-5|7");
    s->steps = strdup(value);
    return s->steps ? ACL_SUCCESS : asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
}

/* Elements are objects with a model's name, or layers of any model, or both. */
static aclError read_list(const char *dump, asc_dump_settings *s) {
    const char *list = asc_json_find(dump, "dump_list", NULL, 0), *element;
    if (!list) return ACL_SUCCESS;
    if (*list != '[') return invalid("dump_list", "...", "it is an array of {\"model_name\": ..., \"layer\": [...]}");
    for (size_t i = 0; (element = asc_json_element(list, i)); i++) {
        char name[8];
        const char *layers = *element == '{' ? asc_json_find(element, "layer", NULL, 0) : NULL;
        bool named = *element == '{' && asc_json_find(element, "model_name", name, sizeof name);
        if (*element != '{' || (layers && *layers != '['))
            return invalid("dump_list", "...", "it is an array of {\"model_name\": ..., \"layer\": [...]}");
        if (!named && !layers && asc_json_element(list, 1))
            return invalid("dump_list", "...", "each of several elements has a model_name");
    }
    s->list = strdup(list);
    return s->list ? ACL_SUCCESS : asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
}

static aclError read_tensors(const char *dump, asc_dump_settings *s) {
    static const char *const modes[] = {"output", "input", "all"}, *const data[] = {"tensor", "stats"};
    static const char *const switches[] = {"off", "on"}, *const levels[] = {"all", "op", "kernel"};
    int mode = 0, kind = 0, operators = 0, level = 0;
    aclError code = read_folder(dump, s);
    if (code == ACL_SUCCESS) code = read_word(dump, "dump_mode", modes, 3, &mode);
    if (code == ACL_SUCCESS) code = read_word(dump, "dump_data", data, 2, &kind);
    if (code == ACL_SUCCESS) code = read_word(dump, "dump_op_switch", switches, 2, &operators);
    if (code == ACL_SUCCESS) code = read_word(dump, "dump_level", levels, 3, &level); /* an operator is a kernel here */
    if (code == ACL_SUCCESS) code = read_steps(dump, s);
    if (code == ACL_SUCCESS) code = read_list(dump, s);
    s->inputs = mode != 0;
    s->outputs = mode != 1;
    s->stats = kind == 1;
    s->operators = operators == 1;
    return code;
}

/* Failed operators, in the folder that $ASCEND_WORK_PATH names, else where the program runs. */
static aclError read_exceptions(asc_dump_settings *s) {
    const char *given = getenv("ASCEND_WORK_PATH");
    s->folder = realpath(given && *given ? given : ".", NULL);
    if (!s->folder)
        return asc_acl_fail(ACL_ERROR_INVALID_DUMP_CONFIG, "ASCEND_WORK_PATH=%s is no folder", given ? given : "");
    s->exceptions = s->inputs = s->outputs = true;
    return ACL_SUCCESS;
}

static void warn(const char *dump, const char *path) {
    for (size_t i = 0; i < sizeof without_effect / sizeof *without_effect; i++)
        if (asc_json_find(dump, without_effect[i].key, NULL, 0))
            fprintf(stderr, "[WARNING] %s: [dump] %s changes nothing here: %s\n", path, without_effect[i].key,
                    without_effect[i].why);
}

static aclError read_section(const char *dump, const char *path, asc_dump_settings *s) {
    static const char *const scenes[] = {
        "normal", "lite_exception", "aic_err_brief_dump", "aic_err_norm_dump", "aic_err_detail_dump", "watcher"};
    static const char *const switches[] = {"off", "on"};
    int scene = 0, overflow = 0;
    aclError code = read_word(dump, "dump_scene", scenes, 6, &scene);
    if (code == ACL_SUCCESS) code = read_word(dump, "dump_debug", switches, 2, &overflow);
    if (code != ACL_SUCCESS) return code;
    warn(dump, path);
    const char *list = asc_json_find(dump, "dump_list", NULL, 0);
    if (overflow && list && asc_json_element(list, 0))
        return asc_acl_fail(ACL_ERROR_INVALID_DUMP_CONFIG, "[dump] dump_debug and dump_list can't both be asked for");
    if (overflow) {
        fprintf(stderr,
                "[WARNING] %s: [dump] dump_debug changes nothing here: a CPU keeps infinities; dump_data \"stats\" "
                "counts them\n",
                path);
        return ACL_SUCCESS;
    }
    if (scene == 5) {
        fprintf(stderr, "[WARNING] %s: [dump] dump_scene \"watcher\" changes nothing here\n", path);
        return ACL_SUCCESS;
    }
    return scene ? read_exceptions(s) : read_tensors(dump, s);
}

aclError asc_dump_settings_read(const char *text, const char *path, asc_dump_settings **made) {
    *made = NULL;
    const char *dump = text ? asc_json_find(text, "dump", NULL, 0) : NULL;
    if (!dump) return ACL_SUCCESS;
    if (*dump != '{') return asc_acl_fail(ACL_ERROR_INVALID_DUMP_CONFIG, "[dump] is no object of settings");
    if (!*(dump + 1 + strspn(dump + 1, " \t\r\n")) || dump[1 + strspn(dump + 1, " \t\r\n")] == '}') return ACL_SUCCESS;
    asc_dump_settings *s = calloc(1, sizeof *s);
    if (!s) return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
    s->uses = 1;
    time_t now = time(NULL);
    struct tm local;
    strftime(s->time, sizeof s->time, "%Y%m%d%H%M%S", localtime_r(&now, &local));
    aclError code = read_section(dump, path, s);
    bool any = s->exceptions || s->operators || (s->list && asc_json_element(s->list, 0));
    if (code == ACL_SUCCESS && s->folder && !any)
        fprintf(stderr, "[WARNING] %s: [dump] asks for nothing: dump_list is empty and dump_op_switch is off\n", path);
    if (code != ACL_SUCCESS || !any)
        asc_dump_settings_release(s);
    else
        *made = s;
    return code;
}

asc_dump_settings *asc_dump_settings_retain(asc_dump_settings *settings) {
    atomic_fetch_add(&settings->uses, 1);
    return settings;
}

void asc_dump_settings_release(asc_dump_settings *settings) {
    if (!settings || atomic_fetch_sub(&settings->uses, 1) != 1) return;
    free(settings->folder);
    free(settings->list);
    free(settings->steps);
    free(settings);
}

bool asc_dump_settings_step(const asc_dump_settings *settings, uint64_t step) {
    for (const char *at = settings->steps; at && *at;) {
        char *end;
        unsigned long first = strtoul(at, &end, 10), last = *end == '-' ? strtoul(end + 1, &end, 10) : first;
        if (step >= first && step <= last) return true;
        at = *end ? end + 1 : end;
    }
    return !settings->steps;
}

const char *asc_dump_settings_model(const asc_dump_settings *settings, const char *file, const char *own,
                                    const char **layers) {
    const char *element, *found = NULL;
    char name[MOST_TEXT];
    for (size_t i = 0; settings->list && (element = asc_json_element(settings->list, i)); i++) {
        bool named = asc_json_find(element, "model_name", name, sizeof name);
        const char *match = !named || !strcmp(name, own) ? own : *file && !strcmp(name, file) ? file : NULL;
        if (named && *file && !strcmp(name, file)) match = file;
        if (!match || (found && match != file)) continue;
        found = match;
        *layers = asc_json_find(element, "layer", NULL, 0);
    }
    return found;
}
