/* The main program of a test: launches a kernel on arrays that a request names, and answers with them.
 *
 * Standard input: uint64 cores, kind (0 vector, 1 cube, 2 mixed, 3 as it says), vector cores to a cube core, numbers,
 * arrays; int64 numbers[]; per array uint64 bytes, uint64 written (0 or 1), the bytes. Standard output: uint64 length
 * of a fault's text, int64 its line, the text; then the bytes of each written array. */
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "kernel_operator.h"

struct Request {
    std::vector<int64_t> numbers;
    std::vector<std::vector<uint8_t>> arrays;
    template <typename T>
    T *of(size_t i) {
        return reinterpret_cast<T *>(arrays[i].data());
    }
};

inline void read_exactly(void *to, size_t n) {
    if (n && std::fread(to, 1, n, stdin) != n) std::exit(3);
}
inline uint64_t read_word() {
    uint64_t word;
    read_exactly(&word, sizeof word);
    return word;
}

inline void look_at_nothing(const Request &) {}

/* with_advice: what is only advice is answered as a fault is. look: at what is there after the launch. */
template <typename Launch, typename Look = decltype(&look_at_nothing)>
inline int serve(Launch launch, bool with_advice = false, Look look = look_at_nothing) {
    Request r;
    const uint64_t cores = read_word(), kind = read_word(), ratio = read_word();
    r.numbers.resize(read_word());
    r.arrays.resize(read_word());
    read_exactly(r.numbers.data(), r.numbers.size() * sizeof(int64_t));
    std::vector<uint64_t> written;
    std::vector<std::string> names;
    for (size_t i = 0; i < r.arrays.size(); i++) {
        r.arrays[i].resize(read_word());
        written.push_back(read_word());
        read_exactly(r.arrays[i].data(), r.arrays[i].size());
        names.push_back("array " + std::to_string(i));
    }
    const auto begin = [&] {
        asc_cpu::globals().clear();
        for (size_t i = 0; i < r.arrays.size(); i++)
            asc_cpu::add_global(r.arrays[i].data(), r.arrays[i].size(), names[i].c_str(), written[i] != 0,
                                written[i] == 1);
    };
    asc_cpu::Fault fault{};
    try {
        const asc_cpu::Chip chip;
        const auto body = [&] { launch(r); };
        if (kind == 3) {
            asc_cpu::run_on_its_cores(uint32_t(cores), chip, begin, body);
        } else {
            begin();
            asc_cpu::Blocks blocks;
            blocks.run(uint32_t(cores), chip, asc_cpu::Kernel(kind), uint32_t(ratio), body);
        }
        look(r);
    } catch (const asc_cpu::Fault &caught) {
        fault = caught;
    }
    if (with_advice && !fault.text[0] && !asc_cpu::faults().empty()) fault = asc_cpu::faults().front();
    const uint64_t length = std::strlen(fault.text);
    const int64_t line = fault.where.line;
    std::fwrite(&length, 1, sizeof length, stdout);
    std::fwrite(&line, 1, sizeof line, stdout);
    std::fwrite(fault.text, 1, length, stdout);
    for (size_t i = 0; i < r.arrays.size(); i++)
        if (written[i]) std::fwrite(r.arrays[i].data(), 1, r.arrays[i].size(), stdout);
    return 0;
}
