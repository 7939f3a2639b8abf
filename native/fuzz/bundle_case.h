/* bundle_case.h - one hostile bundle: opened, and as far as it goes, read, bound and executed. */
#ifndef ASC_FUZZ_BUNDLE_CASE_H
#define ASC_FUZZ_BUNDLE_CASE_H

#include "ascend_rt.h"

#define CASE_CODES (ASC_E_INTERNAL + 1)

typedef struct case_counts {
    uint64_t cases;
    uint64_t opened;
    uint64_t bound;             /* partitions */
    uint64_t executed;          /* partitions that ran to the end */
    uint64_t codes[CASE_CODES]; /* of everything that failed */
    int64_t max_work;           /* larger runs are left out; 0: none is */
    int64_t largest_work;       /* of the runs made, in products of operand sizes */
} case_counts;

/* Returns whether the bundle was opened. Buffers have exactly the size the model asks for, so that under
 * AddressSanitizer a kernel that leaves them is caught. Runs of more than max_work are left out. */
int bundle_case(const uint8_t *bytes, uint64_t size, case_counts *counts);

#endif
