/* expression.c - compiles a formula to a tile program. */
#include "expression.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_LOCALS 12
#define FLOOR_DIVIDE -1
#define TRUNCATE_DIVIDE -2

typedef struct local {
    char name[16];
    int reg;
} local;

typedef struct compiler {
    asc_run *run;
    const char *start, *at;
    int n;
    const asc_name *names;
    int32_t type; /* of values: ASC_FLOAT32, ASC_FLOAT64, ASC_INT32 or ASC_INT64 */
    asc_program *p;
    bool truth[ASC_EW_MAX_REGISTERS]; /* what a register holds */
    int registers, n_locals, steps;
    int loaded[ASC_EW_MAX_INPUTS + 64]; /* the register of each name; -1: not loaded */
    local locals[MOST_LOCALS];
} compiler;

/* The type that registers hold elements of a type as. */
static int32_t class_of(int32_t dtype) {
    switch (dtype) {
        case ASC_BOOL:
        case ASC_FLOAT64:
        case ASC_INT64: return dtype;
        case ASC_UINT32:
        case ASC_UINT64: return ASC_INT64;
        default: return asc_is_float(dtype) ? ASC_FLOAT32 : ASC_INT32;
    }
}

/* ---- writing steps ---------------------------------------------------------------------------------------- */

static int emit(compiler *c, int64_t op, int64_t a, int64_t b, int64_t d, bool truth) {
    if (c->registers >= ASC_EW_MAX_REGISTERS || c->steps >= ASC_EW_MAX_STEPS - 2)
        asc_stop(c->run, ASC_E_INTERNAL, "formula [%s] is too long", c->start);
    int64_t *step = c->p->ints + 2 + ASC_EW_STEP_INTS * c->steps++;
    int64_t values[ASC_EW_STEP_INTS] = {op, c->registers, a, b, d};
    memcpy(step, values, sizeof values);
    c->truth[c->registers] = truth;
    return c->registers++;
}

static int constant(compiler *c, double d, int64_t i) {
    if (!asc_is_float(c->type)) return emit(c, ASC_EW_CONST, i, c->type, 0, false);
    if (c->p->n_floats >= 64) asc_stop(c->run, ASC_E_INTERNAL, "formula [%s] has too many numbers", c->start);
    c->p->floats[c->p->n_floats] = d;
    return emit(c, ASC_EW_CONST, c->p->n_floats++, c->type, 0, false);
}

static int as_value(compiler *c, int reg) {
    return c->truth[reg] ? emit(c, ASC_EW_CAST, reg, c->type, ASC_BOOL, false) : reg;
}

static int as_truth(compiler *c, int reg) {
    return c->truth[reg] ? reg : emit(c, ASC_EW_NE, reg, constant(c, 0, 0), 0, true);
}

static int load(compiler *c, int name) {
    if (c->loaded[name] >= 0) return c->loaded[name];
    const asc_name *n = &c->names[name];
    if (!n->tensor) return c->loaded[name] = constant(c, n->number.d, n->number.i);
    if (c->p->n_inputs >= ASC_EW_MAX_INPUTS) asc_stop(c->run, ASC_E_INTERNAL, "too many operands");
    int32_t dtype = n->tensor->dtype;
    c->p->inputs[c->p->n_inputs] = name;
    int reg = emit(c, ASC_EW_LOAD, c->p->n_inputs++, 0, 0, dtype == ASC_BOOL);
    if (dtype != ASC_BOOL && class_of(dtype) != c->type) reg = emit(c, ASC_EW_CAST, reg, c->type, dtype, false);
    return c->loaded[name] = reg;
}

/* ---- reading ---------------------------------------------------------------------------------------------- */

static int choice(compiler *c);

static bool next(compiler *c, const char *token) {
    while (*c->at == ' ' || *c->at == '\n') c->at++;
    size_t length = strlen(token);
    if (strncmp(c->at, token, length) != 0) return false;
    c->at += length;
    return true;
}

static void expect(compiler *c, const char *token) {
    if (!next(c, token)) asc_stop(c->run, ASC_E_INTERNAL, "formula [%s] lacks [%s] at [%s]", c->start, token, c->at);
}

static size_t word(const char *at) {
    size_t n = 0;
    while (isalnum((unsigned char)at[n]) || at[n] == '_') n++;
    return n;
}

/* floordiv and truncdiv: tile programs have them of integers alone. */
static const asc_function divisions[] = {{"floordiv", FLOOR_DIVIDE}, {"truncdiv", TRUNCATE_DIVIDE}};
#define N_DIVISIONS 2

static const asc_function *function(int f) {
    return f < N_DIVISIONS ? &divisions[f] : &asc_functions[f - N_DIVISIONS];
}

/* Of one operand, or of two. */
static bool takes_one(const asc_function *f) {
    return f->op >= ASC_EW_NEG;
}

static bool is_rounding(const asc_function *f) {
    return f->op >= ASC_EW_FLOOR && f->op <= ASC_EW_TRUNC;
}

/* Of real numbers: integers become float32. */
static bool takes_real(const asc_function *f) {
    return f->op == ASC_EW_ATAN2 || f->op == ASC_EW_GATE || (f->op >= ASC_EW_SQRT && !is_rounding(f));
}

static int function_at(const char *at, size_t length) {
    for (int i = 0; i < N_DIVISIONS + asc_n_functions; i++)
        if (strlen(function(i)->name) == length && strncmp(function(i)->name, at, length) == 0) return i;
    return -1;
}

static int divide(compiler *c, int64_t how, int a, int b) {
    if (asc_is_float(c->type)) {
        int64_t rounded = how == FLOOR_DIVIDE ? ASC_EW_FLOOR : ASC_EW_TRUNC;
        return emit(c, rounded, emit(c, ASC_EW_DIV, a, b, 0, false), 0, 0, false);
    }
    if (how == FLOOR_DIVIDE) a = emit(c, ASC_EW_SUB, a, emit(c, ASC_EW_MOD, a, b, 0, false), 0, false);
    return emit(c, ASC_EW_DIV, a, b, 0, false);
}

static int apply(compiler *c, int f) {
    int a = as_value(c, choice(c)), b = 0;
    if (!takes_one(function(f))) {
        expect(c, ",");
        b = as_value(c, choice(c));
    }
    expect(c, ")");
    int64_t op = function(f)->op;
    if (op < 0) return divide(c, op, a, b);
    if (is_rounding(function(f)) && !asc_is_float(c->type)) return a;
    return emit(c, op, a, b, 0, false);
}

static int named(compiler *c, const char *at, size_t length) {
    for (int i = 0; i < c->n_locals; i++)
        if (strlen(c->locals[i].name) == length && strncmp(c->locals[i].name, at, length) == 0) return c->locals[i].reg;
    for (int i = 0; i < c->n; i++)
        if (strlen(c->names[i].name) == length && strncmp(c->names[i].name, at, length) == 0) return load(c, i);
    asc_stop(c->run, ASC_E_INTERNAL, "formula [%s] has no operand at [%s]", c->start, at);
}

static int value(compiler *c) {
    if (next(c, "(")) {
        int inner = choice(c);
        expect(c, ")");
        return inner;
    }
    if (isdigit((unsigned char)*c->at)) {
        char *behind;
        double d = strtod(c->at, &behind);
        c->at = behind;
        return constant(c, d, (int64_t)d);
    }
    const char *at = c->at;
    size_t length = word(at);
    c->at += length;
    int f = function_at(at, length);
    if (f >= 0 && next(c, "(")) return apply(c, f);
    if (length == 3 && strncmp(at, "inf", 3) == 0) return constant(c, INFINITY, INT64_MAX);
    if (length == 3 && strncmp(at, "nan", 3) == 0) return constant(c, NAN, 0);
    return named(c, at, length);
}

static int sign(compiler *c) {
    if (next(c, "-")) return emit(c, ASC_EW_NEG, as_value(c, sign(c)), 0, 0, false);
    if (*c->at == '!' && c->at[1] != '=') {
        c->at++;
        return emit(c, ASC_EW_NOT, as_truth(c, sign(c)), 0, 0, true);
    }
    return value(c);
}

static int term(compiler *c) {
    int a = sign(c);
    for (;;) {
        int64_t op = next(c, "*") ? ASC_EW_MUL : next(c, "/") ? ASC_EW_DIV : next(c, "%") ? ASC_EW_MOD : 0;
        if (!op) return a;
        a = as_value(c, a);
        a = emit(c, op, a, as_value(c, sign(c)), 0, false);
    }
}

static int sum(compiler *c) {
    int a = term(c);
    for (;;) {
        int64_t op = next(c, "+") ? ASC_EW_ADD : next(c, "-") ? ASC_EW_SUB : 0;
        if (!op) return a;
        a = as_value(c, a);
        a = emit(c, op, a, as_value(c, term(c)), 0, false);
    }
}

static int compare(compiler *c) {
    int a = sum(c);
    int64_t op = next(c, "<=")   ? ASC_EW_LE
                 : next(c, ">=") ? ASC_EW_GE
                 : next(c, "==") ? ASC_EW_EQ
                 : next(c, "!=") ? ASC_EW_NE
                 : next(c, "<")  ? ASC_EW_LT
                 : next(c, ">")  ? ASC_EW_GT
                                 : 0;
    if (!op) return a;
    a = as_value(c, a);
    return emit(c, op, a, as_value(c, sum(c)), 0, true);
}

static int both(compiler *c) {
    int a = compare(c);
    while (next(c, "&&")) {
        a = as_truth(c, a);
        a = emit(c, ASC_EW_AND, a, as_truth(c, compare(c)), 0, true);
    }
    return a;
}

static int either(compiler *c) {
    int a = both(c);
    while (next(c, "||")) {
        a = as_truth(c, a);
        a = emit(c, ASC_EW_OR, a, as_truth(c, both(c)), 0, true);
    }
    return a;
}

static int choice(compiler *c) {
    int a = either(c);
    if (!next(c, "?")) return a;
    a = as_truth(c, a);
    int yes = as_value(c, choice(c));
    expect(c, ":");
    return emit(c, ASC_EW_SELECT, a, yes, as_value(c, choice(c)), false);
}

/* `name = choice;` before the last. */
static int formula_value(compiler *c) {
    for (;;) {
        next(c, "");
        const char *at = c->at;
        size_t length = word(at);
        const char *behind = at + length + strspn(at + length, " ");
        if (!length || *behind != '=' || behind[1] == '=') return choice(c);
        if (length >= sizeof c->locals[0].name || c->n_locals == MOST_LOCALS)
            asc_stop(c->run, ASC_E_INTERNAL, "formula [%s] has too many names", c->start);
        c->at = behind + 1;
        local made = {.reg = choice(c)};
        memcpy(made.name, at, length);
        c->locals[c->n_locals++] = made;
        expect(c, ";");
    }
}

/* ---- the type of values ------------------------------------------------------------------------------------- */

static bool is_real(const char *formula) {
    for (const char *at = formula; *at; at++) {
        if (*at == '/') return true;
        if (isdigit((unsigned char)*at)) {
            while (isdigit((unsigned char)*at)) at++;
            if (*at == '.') return true;
            at--;
        } else if (isalpha((unsigned char)*at)) {
            size_t length = word(at);
            int f = function_at(at, length);
            if (f >= 0 && takes_real(function(f)) && at[length] == '(') return true;
            at += length - 1;
        }
    }
    return false;
}

bool asc_mentions(const char *formula, const char *name) {
    size_t length = strlen(name);
    for (const char *at = formula; (at = strstr(at, name)); at++)
        if ((at == formula || !(isalnum((unsigned char)at[-1]) || at[-1] == '_')) && word(at) == length) return true;
    return false;
}

/* `dtype`: of the result, which decides where no tensor does. */
static int32_t type_of(const char *formula, int n, const asc_name *names, int32_t dtype) {
    int32_t type = ASC_BOOL, numbers = ASC_BOOL;
    bool tensors = false;
    for (int i = 0; i < n; i++) {
        if (!asc_mentions(formula, names[i].name)) continue;
        tensors |= names[i].tensor != NULL;
        if (names[i].tensor)
            type = asc_promote(type, names[i].tensor->dtype);
        else
            numbers = asc_promote(numbers, names[i].number.dtype);
    }
    if (!tensors) type = dtype;
    if (asc_is_float(numbers) && !asc_is_float(type)) type = ASC_FLOAT32;
    if (asc_is_integer(numbers) && type == ASC_BOOL) type = ASC_INT64;
    if (is_real(formula) && !asc_is_float(type)) type = ASC_FLOAT32;
    return type == ASC_BOOL ? ASC_INT32 : class_of(type);
}

void asc_compile(asc_run *run, const char *formula, int n, const asc_name *names, int32_t dtype, asc_program *p) {
    compiler c = {.run = run, .start = formula, .at = formula, .n = n, .names = names, .p = p};
    if (n > (int)(sizeof c.loaded / sizeof *c.loaded)) asc_stop(run, ASC_E_INTERNAL, "too many operands");
    for (int i = 0; i < n; i++) c.loaded[i] = -1;
    p->n_inputs = p->n_floats = 0;
    c.type = type_of(formula, n, names, dtype);
    int result = formula_value(&c);
    if (*c.at) asc_stop(run, ASC_E_INTERNAL, "formula [%s] ends before [%s]", formula, c.at);
    int32_t held = c.truth[result] ? ASC_BOOL : c.type;
    if (held != class_of(dtype)) result = emit(&c, ASC_EW_CAST, result, dtype, held, dtype == ASC_BOOL);
    int64_t store[ASC_EW_STEP_INTS] = {ASC_EW_STORE, 0, result, 0, 0};
    memcpy(p->ints + 2 + ASC_EW_STEP_INTS * c.steps++, store, sizeof store);
    p->ints[0] = c.registers;
    p->ints[1] = c.steps;
    p->n_ints = 2 + ASC_EW_STEP_INTS * c.steps;
}
