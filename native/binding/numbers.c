/* numbers.c - ascend_ep.serving._numbers: a JSON array of numbers as float64, without an object for each.
 *
 *   read(text, start) -> (float64 values as bytes, index behind the array, whether all were written as integers)
 *                        or None
 *
 * text[start] is the array's bracket. Arrays may be nested when all numbers are equally deep. None: this is no
 * such array (or a number is beyond float64), and whoever reads JSON as a whole has the words for it.
 *
 * Values are rounded as strtod rounds, to the nearest, ties to even. A number M / 10^k with M < 2^64 and k < 20
 * is one 128-bit division away from that: the quotient has at least 62 bits and the remainder tells on which
 * side of a tie it lies. Others are left to strtod. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <locale.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEEP = 8, MOST_DIGITS = 19, LONGEST = 4096 };

typedef struct reader {
    const char *at, *end;
    double *values;
    size_t count, room;
    int whole;
} reader;

static const uint64_t powers[20] = {1ull,
                                    10ull,
                                    100ull,
                                    1000ull,
                                    10000ull,
                                    100000ull,
                                    1000000ull,
                                    10000000ull,
                                    100000000ull,
                                    1000000000ull,
                                    10000000000ull,
                                    100000000000ull,
                                    1000000000000ull,
                                    10000000000000ull,
                                    100000000000000ull,
                                    1000000000000000ull,
                                    10000000000000000ull,
                                    100000000000000000ull,
                                    1000000000000000000ull,
                                    10000000000000000000ull};
static locale_t plain; /* the decimal point is a point */

/* The quotient and the rest; the quotient must fit 64 bits. */
static inline uint64_t divide(unsigned __int128 dividend, uint64_t divisor, uint64_t *rest) {
#if defined __x86_64__ /* one instruction, where compilers call a function that expects a longer quotient */
    uint64_t q;
    __asm__("divq %4"
            : "=a"(q), "=d"(*rest)
            : "a"((uint64_t)dividend), "d"((uint64_t)(dividend >> 64)), "r"(divisor)
            : "cc");
    return q;
#else
    *rest = (uint64_t)(dividend % divisor);
    return (uint64_t)(dividend / divisor);
#endif
}

/* mantissa / 10^k, correctly rounded; mantissa > 0, k in 1..19 */
static double quotient(uint64_t mantissa, int k) {
    int up = __builtin_clzll(mantissa), down = __builtin_clzll(powers[k]);
    uint64_t divisor = powers[k] << down;
    uint64_t rest_of_it, q = divide((unsigned __int128)(mantissa << up) << 63, divisor, &rest_of_it);
    int inexact = rest_of_it != 0;
    int drop = 11 - __builtin_clzll(q); /* of its 63 or 64 bits, 53 stay */
    uint64_t rest = q & ((1ull << drop) - 1), half = 1ull << (drop - 1), kept = q >> drop;
    kept += rest > half || (rest == half && (inexact || (kept & 1)));
    uint64_t scale = (uint64_t)(1023 + drop - 63 + down - up) << 52; /* of 2^e, as a double's bits */
    double power;
    memcpy(&power, &scale, sizeof power);
    return (double)kept * power;
}

static int digit(const reader *r) {
    return r->at < r->end && *r->at >= '0' && *r->at <= '9';
}

static void blanks(reader *r) {
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r')) r->at++;
}

/* By the C library, from a copy that ends: slow, for few. */
static int by_library(const char *from, const char *to, double *value) {
    char copy[LONGEST + 1];
    size_t size = (size_t)(to - from);
    if (size > LONGEST) return 0;
    memcpy(copy, from, size);
    copy[size] = 0;
    *value = strtod_l(copy, NULL, plain);
    return isfinite(*value);
}

/* Eight digits at once: whether these bytes are digits, and the number they are. */
static inline int are_digits(uint64_t eight) {
    return ((eight & 0xF0F0F0F0F0F0F0F0u) | (((eight + 0x0606060606060606u) & 0xF0F0F0F0F0F0F0F0u) >> 4)) ==
           0x3333333333333333u;
}

static inline uint64_t number_of(uint64_t eight) {
    eight = (eight & 0x0F0F0F0F0F0F0F0Fu) * 2561 >> 8;
    eight = (eight & 0x00FF00FF00FF00FFu) * 6553601 >> 16;
    return (eight & 0x0000FFFF0000FFFFu) * 42949672960001 >> 32;
}

/* Behind the digits from `at` on, which go into the mantissa (modulo 2^64). */
static inline const char *digits(const char *at, const char *end, uint64_t *mantissa) {
    uint64_t m = *mantissa, eight;
    while (end - at >= 8) {
        memcpy(&eight, at, 8);
        if (!are_digits(eight)) break;
        m = m * 100000000 + number_of(eight);
        at += 8;
    }
    for (; at < end && *at >= '0' && *at <= '9'; at++) m = m * 10 + (uint64_t)(*at - '0');
    *mantissa = m;
    return at;
}

/* Digits that count: from the first that is no zero. */
static int significant(const char *from, const char *to) {
    while (from < to && (*from == '0' || *from == '.' || *from == '-')) from++;
    return (int)(to - from) - (memchr(from, '.', (size_t)(to - from)) != NULL);
}

/* The exponent behind an e; 0: there is none. */
static int exponent(reader *r, long *power) {
    int minus = 0;
    long value = 0;
    if (r->at < r->end && (*r->at == '-' || *r->at == '+')) minus = *r->at++ == '-';
    if (!digit(r)) return 0;
    for (; digit(r); r->at++) value = value < 100000000 ? value * 10 + (*r->at - '0') : value;
    *power += minus ? value : -value;
    return 1;
}

/* One number of JSON's grammar. */
static int number(reader *r, double *value) {
    const char *from = r->at, *end = r->end;
    uint64_t mantissa = 0;
    long power = 0; /* the value is mantissa / 10^power */
    int negative = from < end && *from == '-';
    const char *whole = from + negative, *at = digits(whole, end, &mantissa);
    if (at == whole || (*whole == '0' && at - whole > 1)) return 0; /* none, or 01 */
    if (at < end && *at == '.') {
        const char *point = at + 1;
        at = digits(point, end, &mantissa);
        if (at == point) return 0;
        power = at - point;
        r->whole = 0;
    }
    const char *last = at;
    r->at = at;
    if (at < end && (*at | 32) == 'e') {
        r->at++;
        r->whole = 0;
        if (!exponent(r, &power)) return 0;
    }
    if (last - from > MOST_DIGITS && significant(from, last) > MOST_DIGITS) return by_library(from, r->at, value);
    if (!mantissa || !power)
        *value = (double)mantissa;
    else if (power > 0 && power < 20)
        *value = quotient(mantissa, (int)power);
    else
        return by_library(from, r->at, value);
    if (negative) *value = -*value;
    return 1;
}

static int keep(reader *r, double value) {
    if (r->count == r->room) {
        size_t room = r->room ? 2 * r->room : 4096;
        double *more = realloc(r->values, room * sizeof *more);
        if (!more) return 0;
        r->values = more;
        r->room = room;
    }
    r->values[r->count++] = value;
    return 1;
}

/* The whole array; 0: it is none. */
static int array(reader *r) {
    int depth = 0, leaves = 0; /* leaves: how deep the numbers are, once one is known */
    for (;;) {                 /* a value begins here */
        blanks(r);
        if (r->at == r->end) return 0;
        if (*r->at == '[') {
            if (++depth > MOST_DEEP || (leaves && depth > leaves)) return 0;
            r->at++;
            blanks(r);
            if (r->at == r->end || *r->at != ']') continue;
        } else {
            double value;
            if (!depth || (leaves && leaves != depth) || !number(r, &value) || !keep(r, value)) return 0;
            leaves = depth;
        }
        for (;;) { /* a value has ended, or an empty array is about to */
            blanks(r);
            if (r->at == r->end) return 0;
            char next = *r->at++;
            if (next == ',') break;
            if (next != ']') return 0;
            if (--depth == 0) return 1;
        }
        if (depth == 0) return 0;
    }
}

static PyObject *read_array(PyObject *module, PyObject *args) {
    Py_buffer text;
    Py_ssize_t start;
    PyObject *found = NULL;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*n", &text, &start)) return NULL;
    if (start < 0 || start > text.len) {
        PyErr_SetString(PyExc_ValueError, "the start is outside the text");
    } else {
        const char *begin = text.buf;
        reader r = {begin + start, begin + text.len, NULL, 0, 0, 1};
        int good;
        Py_BEGIN_ALLOW_THREADS;
        good = array(&r);
        Py_END_ALLOW_THREADS;
        if (good)
            found =
                Py_BuildValue("y#nO", r.values ? (const char *)r.values : "", (Py_ssize_t)(r.count * sizeof(double)),
                              (Py_ssize_t)(r.at - begin), r.whole ? Py_True : Py_False);
        else
            found = Py_NewRef(Py_None);
        free(r.values);
    }
    PyBuffer_Release(&text);
    return found;
}

static PyMethodDef methods[] = {{"read", read_array, METH_VARARGS, "A JSON array of numbers as float64, or None."},
                                {0}};
static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "ascend_ep.serving._numbers", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__numbers(void) {
    if (!plain) plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return plain ? PyModule_Create(&module) : PyErr_NoMemory();
}
