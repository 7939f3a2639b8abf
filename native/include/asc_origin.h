/* asc_origin.h - what a bundle says of its values to those who compare them with the model that was converted.
 *
 * Everything between "cffi:begin" and "cffi:end" is read by native/binding/generate.py.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef ASC_ORIGIN_H
#define ASC_ORIGIN_H

#include <stdint.h>

/* cffi:begin */

/* A section of the PLAN partition: asc_origin, in the order of their values. Nothing runs by it, so readers that don't
 * know it skip it. Of a value that it doesn't name nothing is known. */
#define ASC_SEC_ORIGINS 20

/* How a value lies, and which tensor it is. `last` 0: its axes are in the model's order. 1: channels are last,
 * [N, spatial.., C]. n: so are they, and n neighbours of a line are one element, [N, .., W / n, n C]. */
typedef struct asc_origin {
    uint32_t value;
    uint32_t name; /* string: the tensor of MODEL_DEF that an operator of the source model made, and that this value is
                      the first to be; "": none */
    uint32_t last;
} asc_origin;

/* cffi:end */

#endif
