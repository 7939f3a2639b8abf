/* Whole numbers rounded to multiples, as tiling needs them. Our own implementation of public names. */
#pragma once
#pragma GCC system_header

namespace Ops {
namespace Base {

/* x / y rounded up, and down; x where y is 0. */
template <typename T>
constexpr T CeilDiv(T x, T y) {
    return y == 0 ? x : x / y + (x % y != 0 && (x > 0) == (y > 0) ? 1 : 0);
}
template <typename T>
constexpr T FloorDiv(T x, T y) {
    return y == 0 ? x : x / y;
}
/* x as a multiple of align, rounded up, and down. */
template <typename T>
constexpr T CeilAlign(T x, T align) {
    return CeilDiv(x, align) * align;
}
template <typename T>
constexpr T FloorAlign(T x, T align) {
    return align == 0 ? 0 : x / align * align;
}

}  // namespace Base
}  // namespace Ops
