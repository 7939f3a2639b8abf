/* heights.h - a register tile of each height is a function of its own, which keeps its sums in registers:
 * EACH_HEIGHT(most, each) is each(1) each(2) ... each(most), where `most` is a macro of 4, 6, 8, 12 or 14. */
#ifndef ASC_KERNELS_HEIGHTS_H
#define ASC_KERNELS_HEIGHTS_H

#define HEIGHTS_TO_4(each) each(1) each(2) each(3) each(4)
#define HEIGHTS_TO_6(each) HEIGHTS_TO_4(each) each(5) each(6)
#define HEIGHTS_TO_8(each) HEIGHTS_TO_6(each) each(7) each(8)
#define HEIGHTS_TO_12(each) HEIGHTS_TO_8(each) each(9) each(10) each(11) each(12)
#define HEIGHTS_TO_14(each) HEIGHTS_TO_12(each) each(13) each(14)
#define HEIGHTS_TO(most, each) HEIGHTS_TO_##most(each)
#define EACH_HEIGHT(most, each) HEIGHTS_TO(most, each)

#endif
