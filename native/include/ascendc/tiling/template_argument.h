/* ASCENDC_TPL_...: the template arguments of a kernel as its tiling key. Our own implementation of public names.
 *
 * A header that the host and the kernel share declares the arguments with the values that each may have, and selects
 * which of them go together. The host makes a key of values (GET_TPL_TILING_KEY); the kernel's translation unit has an
 * instance for every selected combination, and runs the one whose key it is (cpu/template_dispatch.h). In a key each
 * argument has the bits that it declares, the first one the lowest: its value, or its place in the list where the
 * declaration says how many bits it has.
 */
#pragma once
#pragma GCC system_header

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace asc_tpl {

constexpr size_t MAX_NUMBERS = 128;  /* that one declaration or selection lists */
constexpr size_t MAX_ARGUMENTS = 32; /* of a kernel's template */
constexpr uint64_t NO_KEY = ~uint64_t(0);

enum class Kind { NUMBER, TYPE, SWITCH, KERNEL_TYPE, IGNORED };
/* How an unsigned argument lists its values: n ranges; numbers; n ranges and numbers. */
enum Form : uint32_t { RANGES, NUMBERS, RANGES_AND_NUMBERS };
/* Marks in a list that say which tensor's element type the argument is. */
constexpr uint32_t OF_INPUT = 0x40000000u, OF_OUTPUT = 0x50000000u, TENSOR_MASK = 0xffffu;

/* The values that an argument may have, as a declaration or selection lists them. */
struct Values {
    Kind kind = Kind::IGNORED;
    const char *name = "";
    uint32_t bits = 0;
    Form form = NUMBERS;
    uint32_t tensor = 0; /* OF_INPUT or OF_OUTPUT with its place, or 0 */
    uint32_t count = 0;
    uint32_t numbers[MAX_NUMBERS] = {};

    constexpr uint32_t ranges() const { return form == NUMBERS || !count ? 0 : numbers[0]; }
    constexpr uint32_t singles_begin() const { return form == NUMBERS ? 0 : 1 + 2 * ranges(); }
    /* How many values there are. */
    constexpr uint32_t size() const {
        uint32_t n = form == RANGES ? 0 : count > singles_begin() ? count - singles_begin() : 0;
        for (uint32_t r = 0; r < ranges(); r++) n += numbers[2 + 2 * r] - numbers[1 + 2 * r] + 1;
        return n;
    }
    constexpr uint32_t operator[](uint32_t place) const {
        for (uint32_t r = 0; r < ranges(); r++) {
            const uint32_t n = numbers[2 + 2 * r] - numbers[1 + 2 * r] + 1;
            if (place < n) return numbers[1 + 2 * r] + place;
            place -= n;
        }
        return numbers[singles_begin() + place];
    }
    /* The place of a value; size() where it isn't one. */
    constexpr uint32_t find(uint32_t value) const {
        uint32_t i = 0;
        while (i < size() && (*this)[i] != value) i++;
        return i;
    }
};

constexpr Values values(Kind kind, const char *name, uint32_t bits, Form form, std::initializer_list<uint32_t> list) {
    Values made;
    made.kind = kind;
    made.name = name;
    made.bits = bits;
    made.form = form;
    for (const uint32_t number : list) {
        if (form == NUMBERS && number >= OF_INPUT && number <= (OF_OUTPUT | TENSOR_MASK))
            made.tensor = number;
        else
            made.numbers[made.count++] = number;
    }
    return made;
}

/* Values that go together: of every argument at least one. */
struct Selection {
    uint32_t count = 0;
    Values arguments[MAX_ARGUMENTS] = {};
    constexpr Selection(std::initializer_list<Values> list) {
        for (const Values &v : list) arguments[count++] = v;
    }
};

constexpr bool same(const char *a, const char *b) {
    while (*a && *a == *b) a++, b++;
    return *a == *b;
}

constexpr const Values *find(const Selection &selection, const char *name) {
    for (uint32_t i = 0; i < selection.count; i++)
        if (same(selection.arguments[i].name, name)) return &selection.arguments[i];
    return nullptr;
}

/* The key of a value for every declared argument; NO_KEY where one isn't declared. */
template <size_t n>
constexpr uint64_t key_of(const Values (&declared)[n], const uint32_t *given) {
    uint64_t key = 0;
    uint32_t shift = 0, at = 0;
    for (const Values &argument : declared) {
        if (argument.kind == Kind::IGNORED || argument.kind == Kind::KERNEL_TYPE) continue;
        const uint32_t value = given[at++], place = argument.find(value);
        if (place == argument.size()) return NO_KEY;
        key |= uint64_t(argument.kind == Kind::NUMBER ? place : value) << shift;
        shift += argument.bits;
    }
    return key;
}

/* How many arguments the kernel's template has. */
template <size_t n>
constexpr size_t arguments_of(const Values (&declared)[n]) {
    size_t found = 0;
    for (const Values &argument : declared)
        found += argument.kind != Kind::IGNORED && argument.kind != Kind::KERNEL_TYPE;
    return found;
}

/* GET_TPL_TILING_KEY: NO_KEY, which no kernel has, for values that are not selected together. */
template <size_t n, size_t selections, typename... T>
constexpr uint64_t selected_key(const Values (&declared)[n], const Selection (&selected)[selections], T... given) {
    const uint32_t numbers[sizeof...(T) + 1] = {static_cast<uint32_t>(given)..., 0};
    if (sizeof...(T) != arguments_of(declared)) return NO_KEY;
    for (const Selection &selection : selected) {
        bool fits = true;
        uint32_t at = 0;
        for (const Values &argument : declared) {
            if (argument.kind == Kind::IGNORED || argument.kind == Kind::KERNEL_TYPE) continue;
            const Values *choice = find(selection, argument.name);
            const Values &allowed = choice ? *choice : argument;
            fits = fits && allowed.find(numbers[at]) < allowed.size();
            at++;
        }
        if (fits) return key_of(declared, numbers);
    }
    return NO_KEY;
}

}  // namespace asc_tpl

#define ASCENDC_TPL_ARGS_DECL(op, ...) [[maybe_unused]] constexpr ::asc_tpl::Values asc_tpl_declared[] = {__VA_ARGS__}
#define ASCENDC_TPL_SEL(...) [[maybe_unused]] constexpr ::asc_tpl::Selection asc_tpl_selected[] = {__VA_ARGS__}
#define ASCENDC_TPL_ARGS_SEL(...) \
    ::asc_tpl::Selection {        \
        __VA_ARGS__               \
    }

#define ASC_TPL_VALUES(kind, name, bits, form, ...) \
    ::asc_tpl::values(::asc_tpl::Kind::kind, #name, bits, ::asc_tpl::Form(form), {__VA_ARGS__})
#define ASCENDC_TPL_DATATYPE_DECL(name, ...) ASC_TPL_VALUES(TYPE, name, 8, ASCENDC_TPL_UI_LIST, __VA_ARGS__)
#define ASCENDC_TPL_DTYPE_DECL(name, ...) ASC_TPL_VALUES(TYPE, name, 8, ASCENDC_TPL_UI_LIST, __VA_ARGS__)
#define ASCENDC_TPL_FORMAT_DECL(name, ...) ASC_TPL_VALUES(TYPE, name, 8, ASCENDC_TPL_UI_LIST, __VA_ARGS__)
#define ASCENDC_TPL_UINT_DECL(name, bits, form, ...) ASC_TPL_VALUES(NUMBER, name, bits, form, __VA_ARGS__)
#define ASCENDC_TPL_BOOL_DECL(name, ...) ASC_TPL_VALUES(SWITCH, name, 1, ASCENDC_TPL_UI_LIST, __VA_ARGS__)
#define ASCENDC_TPL_KERNEL_TYPE_DECL(name, ...) ASC_TPL_VALUES(KERNEL_TYPE, name, 0, ASCENDC_TPL_UI_LIST, __VA_ARGS__)
#define ASCENDC_TPL_DATATYPE_SEL(name, ...) ASC_TPL_VALUES(TYPE, name, 8, ASCENDC_TPL_UI_LIST, __VA_ARGS__)
#define ASCENDC_TPL_DTYPE_SEL(name, ...) ASC_TPL_VALUES(TYPE, name, 8, ASCENDC_TPL_UI_LIST, __VA_ARGS__)
#define ASCENDC_TPL_FORMAT_SEL(name, ...) ASC_TPL_VALUES(TYPE, name, 8, ASCENDC_TPL_UI_LIST, __VA_ARGS__)
#define ASCENDC_TPL_UINT_SEL(name, form, ...) ASC_TPL_VALUES(NUMBER, name, 0, form, __VA_ARGS__)
#define ASCENDC_TPL_BOOL_SEL(name, ...) ASC_TPL_VALUES(SWITCH, name, 1, ASCENDC_TPL_UI_LIST, __VA_ARGS__)
#define ASCENDC_TPL_KERNEL_TYPE_SEL(...) ASC_TPL_VALUES(KERNEL_TYPE, kernel type, 0, ASCENDC_TPL_UI_LIST, __VA_ARGS__)
/* The kernel says which structure it takes; a CPU computes in one order anyway. */
#define ASCENDC_TPL_TILING_STRUCT_SEL(...) \
    ::asc_tpl::Values {}
#define ASCENDC_TPL_DETERMINISTIC_SEL(...) \
    ::asc_tpl::Values {}
#define ASCENDC_TPL_INPUT(place) (::asc_tpl::OF_INPUT | (place))
#define ASCENDC_TPL_OUTPUT(place) (::asc_tpl::OF_OUTPUT | (place))

#define GET_TPL_TILING_KEY(...) ::asc_tpl::selected_key(asc_tpl_declared, asc_tpl_selected, __VA_ARGS__)
#define ASCENDC_TPL_SEL_PARAM(context, ...) (context)->SetTilingKey(GET_TPL_TILING_KEY(__VA_ARGS__))

#define ASCENDC_TPL_1_BW 1
#define ASCENDC_TPL_2_BW 2
#define ASCENDC_TPL_3_BW 3
#define ASCENDC_TPL_4_BW 4
#define ASCENDC_TPL_5_BW 5
#define ASCENDC_TPL_6_BW 6
#define ASCENDC_TPL_7_BW 7
#define ASCENDC_TPL_8_BW 8
#define ASCENDC_TPL_UI_RANGE 0
#define ASCENDC_TPL_UI_LIST 1
#define ASCENDC_TPL_UI_MIX 2
/* In the order of KERNEL_TYPE_... (cpu/task_type.h). */
#define ASCENDC_TPL_AIV_ONLY 0
#define ASCENDC_TPL_AIC_ONLY 1
#define ASCENDC_TPL_MIX_AIV_1_0 2
#define ASCENDC_TPL_MIX_AIC_1_0 3
#define ASCENDC_TPL_MIX_AIC_1_1 4
#define ASCENDC_TPL_MIX_AIC_1_2 5
#define ASCENDC_TPL_AICORE 6
#define ASCENDC_TPL_VECTORCORE 7
#define ASCENDC_TPL_MIX_AICORE 8
#define ASCENDC_TPL_MIX_VECTOR_CORE 9

/* ge's numbers of types and formats under the names that these lists use. */
#define C_DT_FLOAT 0
#define C_DT_FLOAT16 1
#define C_DT_INT8 2
#define C_DT_INT32 3
#define C_DT_UINT8 4
#define C_DT_INT16 6
#define C_DT_UINT16 7
#define C_DT_UINT32 8
#define C_DT_INT64 9
#define C_DT_UINT64 10
#define C_DT_DOUBLE 11
#define C_DT_BOOL 12
#define C_DT_COMPLEX64 16
#define C_DT_BF16 27
#define C_DT_INT4 29
#define C_FORMAT_NCHW 0
#define C_FORMAT_NHWC 1
#define C_FORMAT_ND 2
#define C_FORMAT_NC1HWC0 3
#define C_FORMAT_FRACTAL_Z 4
#define C_FORMAT_FRACTAL_NZ 29
