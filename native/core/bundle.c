/* bundle.c - the frame of a bundle file: header, partition table, digest.
 *
 * All integers are little-endian. A bundle is
 *
 *   [0, 256)          header
 *   [256, T)          table, T = 264 + 24 * num
 *   [T, file size)    partitions
 *
 * Header                                            Table at 256
 *     0 u32 magic          "IMOD"                     0 u32 num           1..16
 *     4 u32 headsize       256                        4 u32 pad           0
 *     8 u32 version        0x20000000                 8 num entries of 24 bytes:
 *    12 u8  checksum[64]   SHA-256, then 32 zeros         0 u32 type        ASC_PART_..., each at most once
 *    76 u32 length         low 32 bits of model_length    4 u32 pad         0
 *    80 u8  is_encrypt     0                              8 u64 mem_offset  from T
 *    81 u8  is_checksum    0                             16 u64 mem_size    >= 1; empty partitions are left out
 *    82 u8  modeltype      0
 *    83 u8  genmode        0
 *    84 u8  name[32]       "ascend-ep...", NUL-padded
 *   116 u32 ops            0
 *   120 u8  userdefineinfo[32]  zeros
 *   152 u32 om_ir_version  0
 *   156 u32 model_num      1
 *   160 u8  platform_version[20]  the soc version, NUL-padded ("Ascend910B3"), at most 19 bytes
 *   180 u8  platform_type  0xAE
 *   181 u8  pad[3]         zeros
 *   184 u64 model_length   file size - 256
 *   192 u8  need_check_os_cpu_info  0
 *   193 u8  is_unknow_model  1 when a dimension is dynamic, else 0
 *   194 u8  reserved[62]   zeros
 *
 * Partitions lie in the order of their entries. Each starts at the first file offset, not before the
 * end of the previous one (of the table, for the first), that is a multiple of
 *     1 for MODEL_DEF (which is the first entry when present, so its mem_offset is 0),
 *     4096 for WEIGHTS,
 *     ASC_ALIGN (64) for every other type;
 * mem_offset = that file offset - T, mem_size is the exact number of bytes, the bytes in between are
 * zero. The file ends with the last byte of the last partition. PLAN is required.
 *
 * checksum[0..31] is the SHA-256 of the file with the checksum field as zeros and the bytes of the
 * WEIGHTS partition left out: asc_bundle_digest.
 *
 * PLAN: asc_plan_header (header_bytes = 64), asc_section[n_sections] right behind it, then the bytes of
 * the sections in the order of the array, each at the first multiple of ASC_ALIGN (from the start of
 * PLAN) not before the end of the previous one, zeros in between; plan_bytes = mem_size = end of the last
 * section. Every pad field is zero. Strides are 1 for STRINGS, 4 for INDICES, 8 for FLOATS, else sizeof.
 *
 * HOST, NATIVE, SAMPLES and WEIGHTS are filled by the segments that asc_partition (host partitions),
 * asc_native, asc_sample and asc_weight describe, in the order of their sections: each at the first
 * multiple of ASC_ALIGN (from the start of the partition) not before the end of the previous one, zeros in
 * between; the partition ends with the last segment. A segment may not be empty, except a weight or a
 * sample without elements.
 */
#include "kernel.h"
