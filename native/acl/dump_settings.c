/* dump_settings.c - reads and checks the section "dump" of acl.json. */
#include "dump_settings.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "json.h"

#define MOST_TEXT 256

/* What may be asked for. `why`: it has no effect on a CPU. */
typedef struct setting {
    const char *key, *why;
} setting;

#define WHOLE "every operator of the layers asked for is dumped"
/* Which operators, of a model or of all. */
#define OF_OPERATORS                                                                                            \
    {"op_blacklist", WHOLE}, {"optype_blacklist", WHOLE}, {"opname_blacklist", WHOLE}, {"opname_range", WHOLE}, \
        {"watcher_nodes", "operators can't write into each other's memory here"}

static const setting of_section[] = {
    {"dump_path", NULL},
    {"dump_list", NULL},
    {"dump_mode", NULL},
    {"dump_data", NULL},
    {"dump_step", NULL},
    {"dump_level", NULL},
    {"dump_op_switch", NULL},
    {"dump_scene", NULL},
    {"dump_debug", NULL},
    {"dump_stats", "dump_data \"stats\" writes all numbers that it has"},
    {"dump_kernel_data", "kernels of Ascend C print where they run"},
    OF_OPERATORS,
    {NULL, NULL},
};
/* Of a model in dump_list. */
static const setting of_model[] = {{"model_name", NULL}, {"layer", NULL}, OF_OPERATORS, {NULL, NULL}};

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

static aclError no_memory(void) {
    return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
}

/* Fails for what is no setting, and warns of what has no effect. */
static aclError check_keys(const char *object, const setting *known, const char *where, const char *path) {
    const char *key;
    for (size_t i = 0; (key = asc_json_key(object, i)); i++) {
        const setting *found = known;
        while (found->key && !asc_json_is(key, found->key, strlen(found->key))) found++;
        if (found->key && found->why)
            fprintf(stderr, "[WARNING] %s: [dump] %s changes nothing here: %s\n", path, found->key, found->why);
        if (found->key) continue;
        char given[64], all[512] = "";
        asc_json_text(key, given, sizeof given);
        for (const setting *one = known; one->key; one++) {
            size_t used = strlen(all);
            snprintf(all + used, sizeof all - used, "%s%s", used ? ", " : "", one->key);
        }
        return asc_acl_fail(ACL_ERROR_INVALID_DUMP_CONFIG, "%s has no setting [%s]; it has %s", where, given, all);
    }
    return ACL_SUCCESS;
}

/* A folder that is there and may be written, as the documents ask for. */
static aclError read_folder(const char *dump, asc_dump_settings *s) {
    const char *given = asc_json_find(dump, "dump_path", NULL, 0);
    char *value = given ? asc_json_copy(given) : NULL;
    struct stat info;
    if (given && !value) return no_memory();
    aclError code = ACL_SUCCESS;
    if (!value || !*value)
        code = asc_acl_fail(ACL_ERROR_INVALID_DUMP_CONFIG, "[dump] has no dump_path, the folder of what is written");
    else if (!(s->folder = realpath(value, NULL)) || stat(s->folder, &info) != 0 || !S_ISDIR(info.st_mode))
        code = invalid("dump_path", value, "make that folder first");
    else if (access(s->folder, W_OK) != 0)
        code = invalid("dump_path", value, "make it writable");
    free(value);
    return code;
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
    const char *given = asc_json_find(dump, "dump_step", NULL, 0);
    if (!given || asc_json_is(given, "", 0)) return ACL_SUCCESS;
    s->steps = asc_json_copy(given);
    if (!s->steps) return no_memory();
    return check_steps(s->steps) ? ACL_SUCCESS : invalid("dump_step", s->steps, "it has the form 0|3-5|7");
}

/* Whether it is an object with a model's name, layers of any model, or both. */
static bool is_model(const char *element) {
    if (*element != '{') return false;
    const char *name = asc_json_find(element, "model_name", NULL, 0),
               *layers = asc_json_find(element, "layer", NULL, 0);
    bool good = (!name || *name == '"') && (!layers || *layers == '['); /* begins of values, which are valid */
    const char *layer;
    for (size_t i = 0; good && layers && (layer = asc_json_element(layers, i)); i++) good = *layer == '"';
    return good;
}

static aclError read_list(const char *dump, const char *path, asc_dump_settings *s) {
    static const char form[] = "it is an array of {\"model_name\": TEXT, \"layer\": [TEXT, ...]}";
    const char *list = asc_json_find(dump, "dump_list", NULL, 0), *element;
    if (!list) return ACL_SUCCESS;
    if (*list != '[') return invalid("dump_list", "...", form);
    for (size_t i = 0; (element = asc_json_element(list, i)); i++) {
        if (!is_model(element)) return invalid("dump_list", "...", form);
        aclError code = check_keys(element, of_model, "[dump] dump_list", path);
        if (code != ACL_SUCCESS) return code;
        bool any = asc_json_find(element, "model_name", NULL, 0) || asc_json_find(element, "layer", NULL, 0);
        if (!any && asc_json_element(list, 1))
            return invalid("dump_list", "...", "each of several elements has a model_name");
    }
    s->list = strdup(list);
    return s->list ? ACL_SUCCESS : no_memory();
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

typedef enum scene { NORMAL, LITE_EXCEPTION, BRIEF, NORM, DETAIL, WATCHER } scene;

/* All that is words; `overflow` is dump_debug. */
static aclError read_words(const char *dump, asc_dump_settings *s, scene *found, int *overflow) {
    static const char *const scenes[] = {
        "normal", "lite_exception", "aic_err_brief_dump", "aic_err_norm_dump", "aic_err_detail_dump", "watcher"};
    static const char *const modes[] = {"output", "input", "all"}, *const data[] = {"tensor", "stats"};
    static const char *const switches[] = {"off", "on"}, *const levels[] = {"all", "op", "kernel"};
    int number = NORMAL, mode = 0, kind = 0, operators = 0, level = 0;
    aclError code = read_word(dump, "dump_scene", scenes, 6, &number);
    if (code == ACL_SUCCESS) code = read_word(dump, "dump_debug", switches, 2, overflow);
    if (code == ACL_SUCCESS) code = read_word(dump, "dump_mode", modes, 3, &mode);
    if (code == ACL_SUCCESS) code = read_word(dump, "dump_data", data, 2, &kind);
    if (code == ACL_SUCCESS) code = read_word(dump, "dump_op_switch", switches, 2, &operators);
    if (code == ACL_SUCCESS) code = read_word(dump, "dump_level", levels, 3, &level); /* an operator is a kernel here */
    *found = (scene)number;
    s->inputs = mode != 0;
    s->outputs = mode != 1;
    s->stats = kind == 1;
    s->operators = operators == 1;
    return code;
}

/* `*any`: whether something is to be dumped. */
static aclError read_section(const char *dump, const char *path, asc_dump_settings *s, bool *any) {
    scene found = NORMAL;
    int overflow = 0;
    aclError code = check_keys(dump, of_section, "[dump]", path);
    if (code == ACL_SUCCESS) code = read_words(dump, s, &found, &overflow);
    if (code == ACL_SUCCESS) code = read_steps(dump, s);
    if (code == ACL_SUCCESS) code = read_list(dump, path, s);
    if (code != ACL_SUCCESS) return code;
    bool listed = s->list && asc_json_element(s->list, 0);
    if (overflow && listed)
        return asc_acl_fail(ACL_ERROR_INVALID_DUMP_CONFIG, "[dump] dump_debug and dump_list can't both be asked for");
    if (overflow)
        fprintf(stderr,
                "[WARNING] %s: [dump] dump_debug changes nothing here: a CPU keeps infinities; dump_data \"stats\" "
                "counts them\n",
                path);
    if (found == WATCHER) fprintf(stderr, "[WARNING] %s: [dump] dump_scene \"watcher\" changes nothing here\n", path);
    *any = !overflow && found != WATCHER;
    if (!*any) return ACL_SUCCESS;
    if (found != NORMAL) return read_exceptions(s);
    code = read_folder(dump, s);
    if (code == ACL_SUCCESS && !listed && !s->operators)
        return asc_acl_fail(ACL_ERROR_INVALID_DUMP_CONFIG,
                            "[dump] asks for nothing: name models in dump_list, [{\"model_name\": ...}], or set "
                            "dump_op_switch to \"on\" for single operators");
    return code;
}

aclError asc_dump_settings_read(const char *text, const char *path, asc_dump_settings **made) {
    *made = NULL;
    const char *dump = text ? asc_json_find(text, "dump", NULL, 0) : NULL;
    if (!dump) return ACL_SUCCESS;
    if (*dump != '{') return asc_acl_fail(ACL_ERROR_INVALID_DUMP_CONFIG, "[dump] is no object of settings");
    if (!asc_json_key(dump, 0)) return ACL_SUCCESS;
    asc_dump_settings *s = calloc(1, sizeof *s);
    if (!s) return no_memory();
    s->uses = 1;
    time_t now = time(NULL);
    struct tm local;
    strftime(s->time, sizeof s->time, "%Y%m%d%H%M%S", localtime_r(&now, &local));
    bool any = false;
    aclError code = read_section(dump, path, s, &any);
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
    for (size_t i = 0; settings->list && (element = asc_json_element(settings->list, i)); i++) {
        const char *name = asc_json_find(element, "model_name", NULL, 0), *match = NULL;
        if (name && *file && asc_json_is(name, file, strlen(file)))
            match = file;
        else if (!name || asc_json_is(name, own, strlen(own)))
            match = own;
        if (!match || (found && match != file)) continue;
        found = match;
        *layers = asc_json_find(element, "layer", NULL, 0);
        if (*layers && !asc_json_element(*layers, 0)) *layers = NULL;
    }
    return found;
}
