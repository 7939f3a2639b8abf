/* Running a kernel's blocks with the buffers it may touch: the one place where the host meets the cores. */
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "../cpu/blocks.h"
#include "../tiling/platform/platform_ascendc.h"
#include "kernel.h"

namespace asc_host {

static_assert(asc_cpu::LIBRARY_WORKSPACE == platform_ascendc::LIBRARY_WORKSPACE);

enum class Role { INPUT, OUTPUT, BOTH, WORKSPACE, READABLE };

/* Memory that a kernel may use. */
struct Buffer {
    std::string name;
    uint8_t *begin = nullptr;
    uint64_t bytes = 0;
    Role role = Role::INPUT;
};

/* What a run found. */
struct Findings {
    bool failed = false;
    std::vector<std::string> lines; /* a fault or advice each: "file:line: [Kind] text" */
};

/* Runs `blocks` blocks of a kernel, its buffers registered. */
class Launch {
   public:
    Launch(const fe::PlatFormInfos &chip, std::vector<Buffer> buffers) : chip_(chip), buffers_(std::move(buffers)) {}

    Findings run(uint32_t blocks, uint64_t key, const Kernel &kernel, void *const *arguments) {
        tiling_key() = key;
        std::vector<std::vector<asc_cpu::Stamp>> written(buffers_.size());
        asc_cpu::globals().clear();
        for (size_t i = 0; i < buffers_.size(); i++) {
            const Buffer &b = buffers_[i];
            const bool writable = b.role != Role::INPUT && b.role != Role::READABLE;
            if (b.role == Role::OUTPUT || b.role == Role::WORKSPACE) written[i].resize(size_t(b.bytes / 4 + 1));
            const uint64_t skipped =
                b.role == Role::WORKSPACE && b.bytes > asc_cpu::LIBRARY_WORKSPACE ? asc_cpu::LIBRARY_WORKSPACE : 0;
            asc_cpu::globals().push_back(
                {b.begin + skipped, b.bytes - skipped, b.name.c_str(), writable, &written[i]});
        }
        Findings found;
        asc_cpu::Blocks all;
        try {
            all.run(blocks, uint32_t(chip_.ub), [&] { kernel.call(arguments); });
            for (size_t i = 0; i < buffers_.size(); i++)
                if (buffers_[i].role == Role::OUTPUT) check_written(buffers_[i], written[i]);
        } catch (const asc_cpu::Fault &fault) {
            found.failed = true;
            found.lines.push_back(fault.text);
        }
        return found;
    }

   private:
    static void check_written(const Buffer &b, const std::vector<asc_cpu::Stamp> &written) {
        for (uint64_t k = 0; k * 4 < b.bytes; k++)
            if (written[size_t(k)].block == ~0u)
                asc_cpu::fail("ErrorWrite5", "tensor %s: byte %llu was never written", b.name.c_str(),
                              (unsigned long long)k * 4);
    }
    const fe::PlatFormInfos &chip_;
    std::vector<Buffer> buffers_;
};

}  // namespace asc_host
