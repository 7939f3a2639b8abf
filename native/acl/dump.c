/* dump.c - watches the calls of a model and writes what they read and write. */
#include "dump.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "asc_watch.h"
#include "dump_file.h"
#include "json.h"

struct asc_dump {
    asc_dump_settings *settings;
    asc_model_def def;
    char name[256];
    const char *layers; /* in the settings; NULL: all */
    bool single;
    atomic_ulong executions;
    atomic_bool failed; /* it was said that a file can't be written */
};

struct asc_dump_run {
    asc_dump *dump;
    const asc_om *om;
    char folder[PATH_MAX];
    asc_dump_value *ins; /* of the call at hand; copied before it, since it may write over them */
    uint32_t n_ins;
};

/* ---- of a model ---------------------------------------------------------------------------------------- */

/* Names layers that no instruction has: what was fused into another is not there to be dumped. */
static void check_layers(const asc_dump *dump, const asc_om *om);

asc_dump *asc_dump_new(const asc_om *om, bool single) {
    asc_dump_settings *settings = asc_dump_settings_now();
    if (!settings) return NULL;
    asc_dump *dump = calloc(1, sizeof *dump);
    bool known = dump && asc_model_def_read(om->model, &dump->def);
    const char *name = NULL;
    if (known && settings->exceptions)
        name = dump->def.name;
    else if (known && single)
        name = settings->operators ? dump->def.name : NULL;
    else if (known)
        name = asc_dump_settings_model(settings, om->file, dump->def.name, &dump->layers);
    if (!name) {
        if (known) asc_model_def_free(&dump->def);
        free(dump);
        asc_dump_settings_release(settings);
        return NULL;
    }
    dump->settings = settings;
    dump->single = single;
    snprintf(dump->name, sizeof dump->name, "%s", name);
    asc_dump_file_name(dump->name);
    check_layers(dump, om);
    return dump;
}

void asc_dump_free(asc_dump *dump) {
    if (!dump) return;
    asc_model_def_free(&dump->def);
    asc_dump_settings_release(dump->settings);
    free(dump);
}

/* ---- instructions ------------------------------------------------------------------------------------------ */

static const asc_insn *insn_of(const asc_model *model, uint32_t index) {
    uint64_t ignored;
    return (const asc_insn *)asc_model_section(model, ASC_SEC_INSNS, &ignored) + index;
}

/* The value of an operand, inputs before outputs; ASC_NONE: it is absent. */
static uint32_t value_of(const asc_model *model, const asc_insn *insn, uint32_t operand) {
    uint64_t ignored;
    return ((const uint32_t *)asc_model_section(model, ASC_SEC_INDICES, &ignored))[insn->first_operand + operand];
}

/* What the bundle says of a value; NULL: nothing. */
static const asc_origin *origin_of(const asc_model *model, uint32_t value) {
    uint64_t count;
    const asc_origin *records = asc_model_section(model, ASC_SEC_ORIGINS, &count);
    for (uint64_t begin = 0, end = count; begin < end;) {
        uint64_t middle = begin + (end - begin) / 2;
        if (records[middle].value == value) return &records[middle];
        if (records[middle].value < value)
            begin = middle + 1;
        else
            end = middle;
    }
    return NULL;
}

static const asc_def_tensor *def_of(const asc_dump *dump, const asc_model *model, uint32_t value) {
    const asc_origin *origin = origin_of(model, value);
    return origin ? asc_model_def_find(&dump->def, asc_model_string(model, origin->name)) : NULL;
}

/* By the instruction's own name, or that of an operator of the source model whose result it writes. `layer` is a JSON
 * string. */
static bool makes_layer(const asc_dump *dump, const asc_model *model, const asc_insn *insn, const char *layer) {
    const char *own = asc_model_string(model, insn->name);
    if (asc_json_is(layer, own, strlen(own))) return true;
    for (uint32_t k = 0; k < insn->n_out; k++) {
        const asc_def_tensor *def = def_of(dump, model, value_of(model, insn, insn->n_in + k));
        if (def && asc_json_is(layer, def->op, def->op_bytes)) return true;
    }
    return false;
}

/* Copies that the converter added are of no operator, and aren't dumped. */
static bool is_wanted(const asc_dump *dump, const asc_model *model, const asc_insn *insn) {
    const char *layer;
    if (!*asc_model_string(model, insn->op_type)) return false;
    for (size_t i = 0; dump->layers && (layer = asc_json_element(dump->layers, i)); i++)
        if (makes_layer(dump, model, insn, layer)) return true;
    return !dump->layers;
}

static void check_layers(const asc_dump *dump, const asc_om *om) {
    const char *layer;
    char shown[1024];
    uint64_t count;
    asc_model_section(om->model, ASC_SEC_INSNS, &count);
    for (size_t i = 0; dump->layers && (layer = asc_json_element(dump->layers, i)); i++) {
        bool found = false;
        for (uint32_t k = 0; !found && k < count; k++)
            found = makes_layer(dump, om->model, insn_of(om->model, k), layer);
        if (found) continue;
        asc_json_text(layer, shown, sizeof shown);
        fprintf(stderr,
                "[WARNING] [dump] layer [%s] isn't dumped: model [%s] has no such operator, or it was fused into "
                "the one behind it\n",
                shown, dump->name);
    }
}

/* ---- calls ----------------------------------------------------------------------------------------------- */

static asc_dump_value *copy_operands(const asc_dump_run *run, const asc_watched_call *call, const asc_insn *insn,
                                     bool outputs, uint32_t *count) {
    uint32_t n = outputs ? call->n_out : call->n_in, first = outputs ? insn->n_in : 0;
    uint32_t known = outputs ? insn->n_out : insn->n_in;
    const asc_tensor *tensors = outputs ? call->out : call->in;
    asc_dump_value *made = calloc(n + 1u, sizeof *made);
    *count = made ? n : 0;
    for (uint32_t k = 0; k < *count; k++) {
        uint32_t value = k < known ? value_of(call->model, insn, first + k) : ASC_NONE;
        made[k] = asc_dump_copy(&tensors[k], origin_of(call->model, value), def_of(run->dump, call->model, value));
    }
    return made;
}

static void free_values(asc_dump_value *values, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) free(values[i].data);
    free(values);
}

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* "ai.onnx::Softplus+ai.onnx::Cast" as "Softplus+Cast", which the caller frees; NULL: no memory. */
static char *type_of(const asc_model *model, const asc_insn *insn) {
    const char *at = asc_model_string(model, insn->op_type);
    char *type = malloc(strlen(at) + 1), *end = type;
    while (type && *at) {
        size_t part = strcspn(at, "+");
        const char *colon = memmem(at, part, "::", 2), *begin = colon ? colon + 2 : at;
        size_t kept = part - (size_t)(begin - at);
        memcpy(end, begin, kept);
        end += kept;
        at += part;
        if (*at) *end++ = *at++;
    }
    if (type) *end = 0;
    return type;
}

/* Where the node has no name, as atc names the operator that makes its first result. */
static void set_name(const asc_dump *dump, const asc_model *model, const asc_insn *insn, asc_dumped *dumped) {
    const char *own = asc_model_string(model, insn->name);
    const asc_def_tensor *def = insn->n_out ? def_of(dump, model, value_of(model, insn, insn->n_in)) : NULL;
    dumped->name = *own ? own : def ? def->op : dumped->type;
    dumped->name_bytes = !*own && def ? def->op_bytes : strlen(dumped->name);
}

static void write_call(asc_dump_run *run, const asc_watched_call *call, const asc_insn *insn) {
    static atomic_ulong operators; /* tell files of single operators apart, which share a folder */
    const asc_dump_settings *settings = run->dump->settings;
    uint32_t n_out = 0;
    char *type = type_of(call->model, insn);
    asc_dump_value *outs = settings->outputs ? copy_operands(run, call, insn, true, &n_out) : NULL;
    asc_dumped dumped = {.type = type,
                         .task = run->dump->single ? atomic_fetch_add(&operators, 1) : call->insn,
                         .time = now(),
                         .in = run->ins,
                         .out = outs,
                         .n_in = run->n_ins,
                         .n_out = n_out};
    bool written = type != NULL;
    if (written) {
        set_name(run->dump, call->model, insn, &dumped);
        written = (settings->stats ? asc_dump_write_stats : asc_dump_write)(run->folder, &dumped);
    } else
        errno = ENOMEM;
    if (!written && !atomic_exchange(&run->dump->failed, true))
        fprintf(stderr, "[WARNING] [dump] of model [%s] is not whole: %s: %s\n", run->dump->name, run->folder,
                strerror(errno));
    free_values(outs, n_out);
    free(type);
}

static void watch(void *user, const asc_watched_call *call) {
    asc_dump_run *run = user;
    const asc_insn *insn = insn_of(call->model, call->insn);
    bool wanted = is_wanted(run->dump, call->model, insn);
    const asc_dump_settings *settings = run->dump->settings;
    if (!call->done) {
        if (wanted && settings->inputs) run->ins = copy_operands(run, call, insn, false, &run->n_ins);
        return;
    }
    if (wanted && (settings->exceptions ? call->code != ASC_OK : call->code == ASC_OK)) write_call(run, call, insn);
    free_values(run->ins, run->n_ins);
    run->ins = NULL;
    run->n_ins = 0;
}

/* ---- executions -------------------------------------------------------------------------------------------- */

asc_dump_run *asc_dump_run_begin(asc_dump *dump, const asc_om *om, int32_t device) {
    const asc_dump_settings *s = dump->settings;
    uint64_t step = atomic_fetch_add(&dump->executions, 1);
    if (!asc_dump_settings_step(s, step)) return NULL;
    asc_dump_run *run = calloc(1, sizeof *run);
    if (!run) return NULL;
    run->dump = dump;
    run->om = om;
    if (s->exceptions)
        snprintf(run->folder, sizeof run->folder, "%s/extra-info/data-dump/%d", s->folder, (int)device);
    else if (dump->single)
        snprintf(run->folder, sizeof run->folder, "%s/%s/%d", s->folder, s->time, (int)device);
    else
        snprintf(run->folder, sizeof run->folder, "%s/%s/%d/%s/%u/%llu", s->folder, s->time, (int)device, dump->name,
                 om->id, (unsigned long long)step);
    asc_watch_calls(watch, run);
    return run;
}

void asc_dump_run_end(asc_dump_run *run) {
    if (!run) return;
    asc_watch_calls(NULL, NULL);
    free_values(run->ins, run->n_ins);
    free(run);
}
