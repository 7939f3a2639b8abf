/* What a kernel asserts itself. */
#include "faulty_kernel.h"

using namespace AscendC;

struct Asserts : faulty::Kernel {
    using Kernel::Kernel;
    void run();
};

void Asserts::run() {
    if (is(120)) {
        for (uint32_t i = 0; i < 4; i++) {
            // 120 ErrorAssert
            ascendc_assert(mended || i * N + N <= 768);
        }
    }
    if (is(121)) {
        // 121 ErrorAssert
        assert(float(wide.GetValue(0)) == (mended ? 1 : 2));
    }
    if (is(122)) {
        // 122 ErrorAssert
        if (!mended) trap();
    }
}

int main() {
    return faulty::serve_all<Asserts>();
}
