/* What a signal that ends a launch, or host code, says before it does: its place, where the kernel was, and whether its
 * tiling data is zero. */
#pragma once

#include <elf.h>
#include <ucontext.h>

#include <csignal>
#include <cstdio>
#include <cstring>

#include "../cpu/fault.h"
#include "kernel.h"

namespace asc_host {

inline const LaunchRequest *the_launch = nullptr;

/* Whether the launch has tiling data, and all of it is zero. */
inline bool has_zero_tiling() {
    if (!the_launch) return false;
    for (size_t i = 0; i < the_launch->n_buffers; i++) {
        const Buffer &b = the_launch->buffers[i];
        if (std::strcmp(b.name, TILING_DATA) != 0) continue;
        for (uint64_t k = 0; k < b.bytes; k++)
            if (b.begin[k]) return false;
        return true;
    }
    return false;
}

extern "C" const Elf64_Ehdr __ehdr_start __attribute__((weak, visibility("hidden")));

/* The address of the instruction that a signal is about, as the program's file counts it; 0 if it isn't known. */
inline uint64_t address_in_file(const void *context) {
#if defined(__x86_64__)
    const uint64_t at = uint64_t(static_cast<const ucontext_t *>(context)->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
    const uint64_t at = static_cast<const ucontext_t *>(context)->uc_mcontext.pc;
#else
    const uint64_t at = context ? 0 : 0;
#endif
    const Elf64_Ehdr *begin = &__ehdr_start;
    if (!begin || !at) return 0;
    return begin->e_type == ET_DYN ? at - reinterpret_cast<uint64_t>(begin) : at;
}

/* Lines on standard error that program_process.py reads, then what the signal does without this. */
inline void say_and_end(int signal, siginfo_t *, void *context) {
    const asc_cpu::Place &now = asc_cpu::place();
    std::fprintf(stderr, "at: %llx\n", static_cast<unsigned long long>(address_in_file(context)));
    std::fputs(signal == SIGFPE ? "ended: it divides an integer by zero" : "ended: it uses memory that isn't there",
               stderr);
    if (!the_launch)
        std::fputs(", in the host's code\n", stderr);
    else if (now.where.line)
        std::fprintf(stderr, ", behind %s:%d, block %lld\n", now.where.file, now.where.line,
                     static_cast<long long>(now.block));
    else
        std::fputs(", before its first instruction\n", stderr);
    if (has_zero_tiling()) std::fputs("ended: all of its tiling data is zero\n", stderr);
    std::fflush(stderr);
    std::raise(signal);
}

/* While it lives, signals are explained that nothing else takes: a sanitizer says more. */
class ExplainedSignals {
   public:
    /* request: of the launch; none while the host's code runs. */
    explicit ExplainedSignals(const LaunchRequest *request) {
        the_launch = request;
        for (size_t i = 0; i < COUNT; i++) {
            struct sigaction action{};
            taken_[i] = sigaction(SIGNALS[i], nullptr, &action) == 0 && !(action.sa_flags & SA_SIGINFO) &&
                        action.sa_handler == SIG_DFL;
            action.sa_sigaction = say_and_end;
            action.sa_flags = int(SA_RESETHAND | SA_NODEFER | SA_SIGINFO);
            if (taken_[i]) sigaction(SIGNALS[i], &action, nullptr);
        }
    }
    ~ExplainedSignals() {
        for (size_t i = 0; i < COUNT; i++)
            if (taken_[i]) std::signal(SIGNALS[i], SIG_DFL);
        the_launch = nullptr;
    }
    ExplainedSignals(const ExplainedSignals &) = delete;

   private:
    static constexpr int SIGNALS[] = {SIGFPE, SIGSEGV, SIGBUS};
    static constexpr size_t COUNT = sizeof SIGNALS / sizeof SIGNALS[0];
    bool taken_[COUNT] = {};
};

}  // namespace asc_host
