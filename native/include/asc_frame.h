/* asc_frame.h - the frame of a bundle file: the header and the partition table of an .om, as the converter writes and
 * the runtime reads them. All integers are little-endian. What must hold of a frame is in native/core/bundle.c.
 *
 * Everything between "cffi:begin" and "cffi:end" is read by native/binding/generate.py.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef ASC_FRAME_H
#define ASC_FRAME_H

#include <stdint.h>

/* cffi:begin */

#define ASC_OM_MAGIC 0x444f4d49 /* "IMOD" */
#define ASC_OM_VERSION 0x20000001
#define ASC_OM_FIRST_VERSION 0x20000000 /* whose table has the numbers ASC_PART_... themselves */
#define ASC_OM_PLATFORM_TYPE 0xAE       /* of bundles that run here */
#define ASC_OM_HEADER_BYTES 256
#define ASC_OM_ENTRY_BYTES 24

/* The first bytes of the file. Fields without a remark are zero. */
typedef struct asc_om_header {
    uint32_t magic;
    uint32_t header_bytes;
    uint32_t version;
    uint8_t checksum[64]; /* SHA-256 (asc_bundle_digest), then zeros */
    uint32_t length_low;  /* of model_length */
    uint8_t is_encrypt, is_checksum, modeltype, genmode;
    uint8_t name[32]; /* who wrote it: begins with "ascend-ep", NUL-terminated, zeros behind */
    uint32_t ops;
    uint8_t userdefineinfo[32];
    uint32_t om_ir_version;
    uint32_t model_num;           /* 1 */
    uint8_t platform_version[20]; /* the soc version, such as "Ascend910B3", or nothing; NUL-terminated */
    uint8_t platform_type;
    uint8_t pad[3];
    uint64_t model_length; /* bytes behind the header */
    uint8_t need_check_os_cpu_info;
    uint8_t is_unknown_model; /* 1 when a dimension is dynamic, else 0 */
    uint8_t reserved[62];
} asc_om_header;

/* Types in the table, of what an .om of a card calls so: viewers of .om files refuse numbers that they don't know. */
#define ASC_OM_TYPE_MODEL_DEF 0
#define ASC_OM_TYPE_WEIGHTS 1
#define ASC_OM_TYPE_PLAN 2    /* TASK_INFO */
#define ASC_OM_TYPE_NATIVE 4  /* CUST_AICPU_KERNELS */
#define ASC_OM_TYPE_HOST 6    /* FLOW_MODEL */
#define ASC_OM_TYPE_SAMPLES 8 /* MODEL_INOUT_INFO */

/* Behind the header: how many entries there are, and then these. */
typedef struct asc_om_table {
    uint32_t count, pad;
} asc_om_table;

typedef struct asc_om_entry {
    uint32_t type; /* ASC_OM_TYPE_... */
    uint32_t pad;
    uint64_t mem_offset; /* from the end of the table */
    uint64_t mem_size;   /* at least 1 */
} asc_om_entry;

/* cffi:end */

_Static_assert(sizeof(asc_om_header) == ASC_OM_HEADER_BYTES && sizeof(asc_om_entry) == ASC_OM_ENTRY_BYTES,
               "as the file has them");

#endif
