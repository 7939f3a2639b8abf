/* Launching a kernel on the cores, and its row in the tables of the host. Included after kernel_operator.h. */
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "../cpu/kernel.h"
#include "kernel.h"
#include "output_shapes.h"
#include "signals.h"

/* Of libascendcl, where a program has it: a launch in the trace that msprof reads. */
extern "C" __attribute__((weak)) int32_t asc_launch_begin(void);
extern "C" __attribute__((weak)) void asc_launch_end(const char *kernel, uint32_t blocks, int32_t failed);
/* What the launch at hand asked of a chip, as cpu/work.h has it: of all cores, and of the one that does most of a kind.
 */
extern "C" __attribute__((weak)) void asc_launch_work(uint64_t cores, const uint64_t *all, const uint64_t *most);

namespace asc_host {

static_assert(asc_cpu::LIBRARY_WORKSPACE == WORKSPACE_IN_FRONT);
static_assert(sizeof(asc_cpu::Work) == WORK_NUMBERS * sizeof(uint64_t));

/* One launch: its buffers known to the cores, its faults told. */
class Launch {
   public:
    explicit Launch(const LaunchRequest &request) : request_(request) {}

    void run(asc_cpu::ActionRef body);

   private:
    /* Of the workspace the front is the libraries'. A kernel may use it, as it is memory like any other, but for
     * generated ones, which have no reason to. */
    void add(const Buffer &b) const {
        const bool written = b.role == Role::OUTPUT || b.role == Role::WORKSPACE || b.role == Role::SHAPES;
        const bool in_front = request_.strict && b.role == Role::WORKSPACE && b.bytes > WORKSPACE_IN_FRONT;
        const uint64_t skipped = in_front ? WORKSPACE_IN_FRONT : 0;
        asc_cpu::add_global(b.begin + skipped, b.bytes - skipped, b.name, written || b.role == Role::BOTH, written);
        if (b.role == Role::WORKSPACE && !request_.strict) AscendC::SetSysWorkspace(b.begin);
    }
    asc_cpu::Chip memories() const {
        asc_cpu::Chip chip = asc_cpu::chip_of(request_.chip);
        chip.ub = uint32_t(request_.ub);
        return chip;
    }
    /* A tail that no block wrote. Of threads that write what is there nothing is seen. */
    void check_outputs() const;
    /* The shapes that the kernel says of outputs: whole, and no larger than these. */
    void check_shapes(const asc_cpu::Global &words) const;
    static bool has_room(const Buffer &b) { return elements_of(b.shape, b.bytes / b.element) <= b.bytes / b.element; }
    /* The bytes of an output that must be written: those of the shape that the kernel says, if it is one. */
    static uint64_t needed(const Buffer &b) {
        if (!b.shape) return b.bytes;
        return is_shape(b.shape) && has_room(b) ? elements_of(b.shape, b.bytes / b.element) * b.element : 0;
    }
    void tell(const asc_cpu::Fault &fault) const;
    const LaunchRequest &request_;
};

#ifndef ASC_CPU_APART
ASC_RUNTIME void Launch::run(asc_cpu::ActionRef body) {
    asc_cpu::tiling_key() = request_.key;
    asc_cpu::settings().strict = request_.strict;
    asc_cpu::settings().stop = request_.stop;
    const auto begin = [this] {
        asc_cpu::faults().clear();
        if (request_.n_buffers) {
            asc_cpu::globals().clear();
            asc_cpu::events().resize(1);
        }
        for (size_t i = 0; i < request_.n_buffers; i++) add(request_.buffers[i]);
    };
    std::optional<ExplainedSignals> explained;
    if (request_.owns_process) explained.emplace(&request_);
    try {
        asc_cpu::run_on_its_cores(request_.blocks, memories(), begin, body);
        asc_cpu::place() = {};
        if (asc_cpu::CHECKED) check_outputs();
    } catch (const asc_cpu::Fault &fault) {
        tell(fault);
    }
    for (const asc_cpu::Fault &fault : asc_cpu::faults()) tell(fault);
    if (asc_cpu::CHECKED && request_.work) std::memcpy(request_.work, &asc_cpu::launch_work(), sizeof(asc_cpu::Work));
}

ASC_RUNTIME void Launch::check_outputs() const {
    for (size_t i = 0; i < request_.n_buffers; i++) {
        const asc_cpu::Global &g = asc_cpu::globals()[i];
        const Buffer &b = request_.buffers[i];
        if (b.role == Role::SHAPES) check_shapes(g);
        const uint64_t at = b.role == Role::OUTPUT ? asc_cpu::first_unwritten(g) : g.bytes;
        if (at >= std::min(g.bytes, needed(b))) continue;
        if (g.has_threads())
            asc_cpu::advise("AdviceWrite", "see whether a thread writes it",
                            "tensor %s: byte %llu is what it was before the first SIMT threads", g.name,
                            (unsigned long long)at);
        else
            asc_cpu::report_unwritten(g, at);
    }
}

ASC_RUNTIME void Launch::check_shapes(const asc_cpu::Global &g) const {
    const auto *words = reinterpret_cast<const uint64_t *>(g.begin);
    for (uint64_t slot = 0; slot < g.bytes / 8; slot += SHAPE_WORDS) {
        const uint64_t rank = rank_of(words + slot);
        for (uint64_t d = 0; d <= (rank < SHAPE_WORDS ? rank : 0); d++)
            if (!g.wrote((slot + d) * 8)) return asc_cpu::report_unwritten(g, (slot + d) * 8);
        asc_cpu::place() = {g.writer, -1};
        if (rank >= SHAPE_WORDS)
            asc_cpu::report("ErrorParam", "write the number of dims, 8 at most, then the dims", g.name, int64_t(slot),
                            "tensor %s: an output of %llu dims", g.name, (unsigned long long)rank);
        for (size_t i = 0; i < request_.n_buffers && rank < SHAPE_WORDS; i++) {
            const Buffer &b = request_.buffers[i];
            if (b.shape == words + slot && !has_room(b))
                asc_cpu::report("ErrorWrite2", "say the shape of what was written", b.name, -1,
                                "tensor %s: its shape has more elements than the %llu that there is room for", b.name,
                                (unsigned long long)(b.bytes / b.element));
        }
        asc_cpu::place() = {};
    }
}

ASC_RUNTIME void Launch::tell(const asc_cpu::Fault &fault) const {
    const char *text = fault.text;
    if (fault.where.line && text[0] != '[') /* of a block, which names the place itself */
        if (const char *block = std::strstr(text, "block ")) text = block;
    std::string line;
    if (fault.where.line) line = std::string(fault.where.file) + ":" + std::to_string(fault.where.line) + ": ";
    if (std::strncmp(text, "block ", 6) != 0 && fault.block >= 0) line += "block " + std::to_string(fault.block) + ": ";
    request_.tell(request_.to, fault.advice, (line + text).c_str());
}
#endif

template <typename T>
inline T argument_of(void *address) {
    if constexpr (std::is_pointer_v<T>)
        return reinterpret_cast<T>(address);
    else
        return *static_cast<const std::remove_reference_t<T> *>(address);
}

/* A kernel's function with arguments of any types. */
template <auto function>
struct KernelOf;
template <typename... A, void (*function)(A...)>
struct KernelOf<function> {
    static constexpr size_t COUNT = sizeof...(A);
    static constexpr size_t BYTES[COUNT + 1] = {(std::is_pointer_v<A> ? 0 : sizeof(A))..., 0};
    static void launch(const LaunchRequest &request) {
        Launch(request).run([&] { call(request.arguments, std::make_index_sequence<COUNT>()); });
    }

   private:
    template <size_t... i>
    static void call([[maybe_unused]] void *const *arguments, std::index_sequence<i...>) {
        function(argument_of<A>(arguments[i])...);
    }
};

/* The chip that a program runs for: $ASCEND_EP_SOC_VERSION before all. */
inline const char *chip_of_programs() {
    const char *name = std::getenv("ASCEND_EP_SOC_VERSION");
    return name ? name : ASC_CHIP_OF_PROGRAM;
}

/* The name of a kernel as a text, of one that a macro puts together too. */
#define ASC_NAME_OF(...) #__VA_ARGS__

/* name<<<blocks, l2, stream>>>(...) of a source: the launch in place, in a program's own memory. A fault ends the
 * program with status 3. */
template <typename... Rest>
inline auto launcher(uint32_t blocks, Rest &&...) {
    return [blocks](auto kernel, const char *name = "kernel") {
        return [blocks, kernel, name](auto &&...arguments) {
            LaunchRequest request{};
            bool failed = false;
            request.blocks = blocks;
            request.key = asc_cpu::tiling_key();
            request.chip = chip_of_programs();
            request.ub = asc_cpu::chip_of(request.chip).ub;
            request.tell = [](void *to, bool advice, const char *line) {
                std::fprintf(stderr, "%s: %s\n", advice ? "advice" : "fault", line);
                if (!advice) *static_cast<bool *>(to) = true;
            };
            request.to = &failed;
            request.owns_process = true;
            const bool recorded = asc_launch_begin && asc_launch_begin();
            Launch(request).run([&] { kernel(arguments...); });
            if (recorded) {
                if (const asc_cpu::Work &work = asc_cpu::launch_work();
                    asc_cpu::CHECKED && asc_launch_work && work.cores)
                    asc_launch_work(work.cores, work.all, work.most);
                asc_launch_end(name, blocks, failed);
            }
            if (failed) std::exit(3);
        };
    };
}

}  // namespace asc_host

/* acl/asc_printed_forms.h: a launch of what a call does. */
extern "C" __attribute__((weak, visibility("default"))) void asc_launch_call(uint32_t blocks, void (*call)(void *),
                                                                             void *given) {
    asc_host::launcher(blocks)(call)(given);
}

/* Defines the table row `symbol` of a kernel. */
#define ASC_KERNEL_ROW(symbol, function)                                         \
    extern const ::asc_host::Kernel symbol;                                      \
    const ::asc_host::Kernel symbol = {&::asc_host::KernelOf<&function>::launch, \
                                       ::asc_host::KernelOf<&function>::COUNT,   \
                                       ::asc_host::KernelOf<&function>::BYTES};
