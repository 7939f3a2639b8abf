/* expression.h - formulas of operators.def as tile programs of the "elementwise" kernel.
 *
 *   formula := { name '=' choice ';' } choice
 *   choice  := either [ '?' choice ':' choice ]       either := both { '||' both }      both := compare { '&&' compare
 * } compare := sum [ ('<'|'<='|'>'|'>='|'=='|'!=') sum ]     sum := term { ('+'|'-') term } term    := sign {
 * ('*'|'/'|'%') sign }            sign := ('-'|'!') sign | value value   := number | name | function '(' choice { ','
 * choice } ')' | '(' choice ')'
 *
 * Values are of one type, that of all operands promoted, or truth values. Division, and functions of real numbers, make
 * it float32 where operands are integers; so does a number with a point. '%' has the sign of the divisor. */
#ifndef ASC_ACLNN_EXPRESSION_H
#define ASC_ACLNN_EXPRESSION_H

#include "operator.h"

/* A function of formulas: an operation of tile programs by its name in ascend_rt.h, in small letters (generate.py). */
typedef struct asc_function {
    const char *name;
    int64_t op; /* ASC_EW_... */
} asc_function;
extern const asc_function asc_functions[];
extern const int asc_n_functions;

typedef struct asc_program {
    int64_t ints[2 + ASC_EW_MAX_STEPS * ASC_EW_STEP_INTS];
    double floats[64];
    int n_ints, n_floats;
    int n_inputs;
    int inputs[ASC_EW_MAX_INPUTS]; /* names that the program loads, in order */
} asc_program;

/* The program that stores the formula's value as `dtype`. Stops the run where the formula is not one. */
void asc_compile(asc_run *run, const char *formula, int n, const asc_name *names, int32_t dtype, asc_program *program);

/* Whether the formula has the name in it. */
bool asc_mentions(const char *formula, const char *name);

#endif
