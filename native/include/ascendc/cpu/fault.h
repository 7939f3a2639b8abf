/* Broken rules: what a fault says, and how one is reported.
 *
 * The kinds are npuchk's names:
 *   ErrorRead1 unallocated or freed, 2 never written, 3 out of range, 4 not aligned
 *   ErrorWrite1 unallocated or freed, 2 out of range, 3 overwritten before it was read, 4 not aligned,
 *     5 an output left unwritten, 6 blocks writing one cache line
 *   ErrorSync1 a missing PipeBarrier within a pipe, 2 a missing SetFlag/WaitFlag between pipes, 3 an unpaired flag,
 *     4 global memory read without synchronisation, 5 SyncAll without a barrier before it, 6 a SyncAll that not every
 *     block reaches or a wait that never ends, 7 an event set again before it was waited for
 *   ErrorLeak a tensor never freed; ErrorFree freed twice
 *   ErrorBuffer0 no InitBuffer or too large, 1 used between EnQue and DeQue, 2 the wrong position or moment, 3 the
 *     order of AllocTensor, EnQue, DeQue, 4 another queue's tensor, 5 a second TPipe
 *   ErrorParam a parameter that the instruction does not take; ErrorAssert a kernel's own assertion or Trap
 *
 * An instruction takes the place of its call as a last parameter `Where w = Where::here()` and passes it to issue();
 * what has no room for it (an operator, say) reports the place of the last instruction.
 */
#pragma once

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <vector>

#include "apart.h"

namespace asc_cpu {

#ifdef ASCENDC_CPU_NO_CHECK
constexpr bool CHECKED = false;
#else
constexpr bool CHECKED = true;
#endif

/* A place in a kernel's source. Nothing in braces is one: it ends the parameters of instructions, and a kernel's `{}`
 * is for the parameter before it. */
class Where {
   public:
    const char *file;
    int line;
    static constexpr Where here(const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
        return Where(Known(), file, line);
    }
    static constexpr Where nowhere() { return Where(Known(), nullptr, 0); }

   private:
    struct Known {
        explicit constexpr Known() = default;
    };
    constexpr Where(Known, const char *its_file, int its_line) : file(its_file), line(its_line) {}
};

/* A broken rule. `kind` is npuchk's name of it, `text` begins with it in brackets; `fix` is what to write instead;
 * tensor and element where there are any. */
struct Fault {
    char text[512];
    char kind[16];
    char tensor[96];
    const char *fix;
    Where where = Where::nowhere();
    int64_t block;
    int64_t element;
    bool advice; /* worth telling, and no error */
};

/* What a run checks, the same for all blocks. */
struct Settings {
    /* Whether dependent vector instructions need PipeBarrier<PIPE_V>, scalar accesses need flags, SyncAll a barrier,
     * and every byte read must have been written. Otherwise as with the compiler's automatic synchronisation: these
     * wait by themselves, and lanes that nothing wrote may be computed with as long as no result takes them. */
    bool strict = false;
    /* Whether the first error ends the run; otherwise those that allow it are kept, and the run goes on. */
    bool stop = true;
};
inline Settings &settings() {
    static Settings the_settings;
    return the_settings;
}
/* What was reported without ending the run: advice, and errors unless settings().stop. */
inline std::vector<Fault> &faults() {
    static std::vector<Fault> the_faults;
    return the_faults;
}

/* The place and block that faults are reported for; issue() and Blocks keep them. */
struct Place {
    Where where = Where::nowhere();
    int64_t block = -1;
};
inline Place &place() {
    static Place the_place;
    return the_place;
}

inline void at(Where w) {
    if (w.line) place().where = w;
}

/* Ends the run with a fault. */
[[noreturn]] ASC_RUNTIME void end_with(const Fault &fault);
[[noreturn]] ASC_RUNTIME void fail(const char *kind, const char *format, ...);
[[noreturn]] ASC_RUNTIME void fail_with(const char *kind, const char *fix, const char *format, ...);
/* Notes a fault, each kind once for a place. */
ASC_RUNTIME void keep(const Fault &fault);
/* An error after which the run can go on, unless settings().stop. */
ASC_RUNTIME void report(const char *kind, const char *fix, const char *tensor, int64_t element, const char *format,
                        ...);
ASC_RUNTIME void advise(const char *kind, const char *fix, const char *format, ...);

#ifndef ASC_CPU_APART
inline Fault describe(const char *kind, const char *fix, const char *tensor, int64_t element, const char *format,
                      va_list arguments) {
    Fault fault{};
    int n = std::snprintf(fault.text, sizeof fault.text, "[%s] ", kind);
    n += std::vsnprintf(fault.text + n, sizeof fault.text - size_t(n), format, arguments);
    const size_t used = size_t(n) < sizeof fault.text ? size_t(n) : sizeof fault.text - 1;
    if (fix && used + 4 < sizeof fault.text) std::snprintf(fault.text + used, sizeof fault.text - used, "; %s", fix);
    std::snprintf(fault.kind, sizeof fault.kind, "%s", kind);
    std::snprintf(fault.tensor, sizeof fault.tensor, "%s", tensor ? tensor : "");
    fault.fix = fix;
    fault.where = place().where;
    fault.block = place().block;
    fault.element = element;
    return fault;
}

/* The last fault of this thread that was thrown with none on its way: destructors meet others while it is. */
inline Fault &thrown() {
    static thread_local Fault fault;
    return fault;
}
[[noreturn]] ASC_RUNTIME void end_with(const Fault &fault) {
    if (!std::uncaught_exceptions()) thrown() = fault;
    throw fault;
}

[[noreturn]] ASC_RUNTIME void fail(const char *kind, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const Fault fault = describe(kind, nullptr, nullptr, -1, format, arguments);
    va_end(arguments);
    end_with(fault);
}
[[noreturn]] ASC_RUNTIME void fail_with(const char *kind, const char *fix, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const Fault fault = describe(kind, fix, nullptr, -1, format, arguments);
    va_end(arguments);
    end_with(fault);
}

ASC_RUNTIME void keep(const Fault &fault) {
    for (const Fault &other : faults())
        if (other.where.line == fault.where.line && other.where.file == fault.where.file &&
            std::strcmp(other.kind, fault.kind) == 0)
            return;
    if (faults().size() < 200) faults().push_back(fault);
}
ASC_RUNTIME void report(const char *kind, const char *fix, const char *tensor, int64_t element, const char *format,
                        ...) {
    va_list arguments;
    va_start(arguments, format);
    const Fault fault = describe(kind, fix, tensor, element, format, arguments);
    va_end(arguments);
    if (settings().stop) end_with(fault);
    keep(fault);
}
ASC_RUNTIME void advise(const char *kind, const char *fix, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    Fault fault = describe(kind, fix, nullptr, -1, format, arguments);
    va_end(arguments);
    fault.advice = true;
    keep(fault);
}
#endif

}  // namespace asc_cpu
