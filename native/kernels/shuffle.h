/* shuffle.h - lanes of one or two vectors of n lanes, as a vector of as many integers says: lane i of the result is
 * lane at[i] of v, or of a followed by b. at is from 0 to n - 1, or to 2n - 1. */
#ifndef ASC_KERNELS_SHUFFLE_H
#define ASC_KERNELS_SHUFFLE_H

#if defined(__clang__) /* its own builtin takes literals only; of constant lanes it makes the same instruction */
#define asc_shuffle(v, at)                                                                         \
    __extension__({                                                                                \
        __typeof__(v) from_ = (v), to_;                                                            \
        __typeof__(at) at_ = (at);                                                                 \
        for (unsigned i_ = 0; i_ < sizeof from_ / sizeof from_[0]; i_++) to_[i_] = from_[at_[i_]]; \
        to_;                                                                                       \
    })
#define asc_shuffle2(a, b, at)                                                                                 \
    __extension__({                                                                                            \
        __typeof__(a) first_ = (a), second_ = (b), to_;                                                        \
        __typeof__(at) at_ = (at);                                                                             \
        enum { N_ = sizeof first_ / sizeof first_[0] };                                                        \
        for (unsigned i_ = 0; i_ < N_; i_++) to_[i_] = at_[i_] < N_ ? first_[at_[i_]] : second_[at_[i_] - N_]; \
        to_;                                                                                                   \
    })
#else
#define asc_shuffle(v, at) __builtin_shuffle(v, at)
#define asc_shuffle2(a, b, at) __builtin_shuffle(a, b, at)
#endif

#endif
