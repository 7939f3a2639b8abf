/* bundle.c - the frame of a bundle file: header, partition table, digest.
 *
 * All integers are little-endian. A bundle is
 *
 *   [0, 256)          header
 *   [256, T)          table of num partitions
 *   [T, file size)    partitions
 *
 * A file of ASC_OM_FIRST_VERSION has the types ASC_PART_... in its table, a later one ASC_OM_TYPE_... Here, and for
 * whoever asks, they are the former.
 *
 * Header and table are asc_om_header, asc_om_table and asc_om_entry of asc_frame.h; num is 1..16, each type there at
 * most once, and empty partitions are left out.
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
 *
 * The weights that an asc_weight_file names lie in that file instead, by the same rules, with offsets from its
 * start. The file is outside the checksum; its own digest is in the plan.
 */
#include "bundle.h"

#include <stddef.h>
#include <string.h>

#include "sha256.h"

#define CHECKSUM_AT offsetof(asc_om_header, checksum)
#define CHECKSUM_BYTES sizeof(((asc_om_header *)0)->checksum)
#define DIGEST_BYTES 32

int asc_all_zero(const uint8_t *bytes, uint64_t size) {
    for (uint64_t i = 0; i < size; i++)
        if (bytes[i]) return 0;
    return 1;
}

/* A text field: NUL-terminated, zeros after the NUL. */
static int is_padded_text(const uint8_t *field, uint64_t size) {
    const uint8_t *end = memchr(field, 0, size);
    return end && asc_all_zero(end, size - (uint64_t)(end - field));
}

static int32_t parse_header(const uint8_t *head, uint64_t file_size, uint32_t *version, asc_status *status) {
    asc_om_header h;
    if (file_size < sizeof h + sizeof(asc_om_table) || memcmp(head, "IMOD", 4) != 0)
        return asc_fail(status, ASC_E_FORMAT, "not an .om file: it does not begin with an IMOD header");
    memcpy(&h, head, sizeof h);
    if (h.platform_type != ASC_OM_PLATFORM_TYPE || memcmp(h.name, "ascend-ep", 9) != 0)
        return asc_fail(status, ASC_E_VERSION,
                        "this .om was compiled for an Ascend NPU and holds device code; convert the ONNX model with "
                        "ascend-atc to get a bundle that runs here");
    *version = h.version;
    if (h.header_bytes != sizeof h || h.version < ASC_OM_FIRST_VERSION || h.version > ASC_OM_VERSION)
        return asc_failf(
            status, ASC_E_VERSION,
            "the header is of version %u, and this reader knows %u to %u; update ascend-ep, or convert the "
            "model again",
            h.version, ASC_OM_FIRST_VERSION, ASC_OM_VERSION);
    uint64_t length = h.model_length;
    if (length != file_size - sizeof h)
        return asc_failf(status, ASC_E_FORMAT,
                         "the file has %lu bytes behind its header, which says %lu: truncated or appended to",
                         file_size - sizeof h, length);
    int zeros = !h.is_encrypt && !h.is_checksum && !h.modeltype && !h.genmode && !h.ops && !h.om_ir_version &&
                !h.need_check_os_cpu_info && asc_all_zero(h.checksum + DIGEST_BYTES, CHECKSUM_BYTES - DIGEST_BYTES) &&
                asc_all_zero(h.userdefineinfo, sizeof h.userdefineinfo) && asc_all_zero(h.pad, sizeof h.pad) &&
                asc_all_zero(h.reserved, sizeof h.reserved);
    if (!zeros || h.length_low != (uint32_t)length || !is_padded_text(h.name, sizeof h.name) || h.model_num != 1 ||
        !is_padded_text(h.platform_version, sizeof h.platform_version) || h.is_unknown_model > 1)
        return asc_fail(status, ASC_E_FORMAT, "the header has a field with a value no bundle has");
    return ASC_OK;
}

static uint64_t alignment_of(uint32_t type) {
    return type == ASC_PART_MODEL_DEF ? 1 : type == ASC_PART_WEIGHTS ? ASC_WEIGHTS_ALIGN : ASC_ALIGN;
}

#define UNKNOWN_PART UINT32_MAX

/* ASC_PART_... of a type in the table of a file of that version. */
static uint32_t part_of_type(uint32_t version, uint32_t type) {
    static const struct {
        uint32_t type, part;
    } known[] = {{ASC_OM_TYPE_MODEL_DEF, ASC_PART_MODEL_DEF}, {ASC_OM_TYPE_WEIGHTS, ASC_PART_WEIGHTS},
                 {ASC_OM_TYPE_PLAN, ASC_PART_PLAN},           {ASC_OM_TYPE_HOST, ASC_PART_HOST},
                 {ASC_OM_TYPE_NATIVE, ASC_PART_NATIVE},       {ASC_OM_TYPE_SAMPLES, ASC_PART_SAMPLES}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (type == (version == ASC_OM_FIRST_VERSION ? known[i].part : known[i].type)) return known[i].part;
    return UNKNOWN_PART;
}

int32_t asc_frame_parse(asc_frame *frame, const uint8_t *head, uint64_t file_size, asc_status *status) {
    uint32_t version = 0;
    int32_t code = parse_header(head, file_size, &version, status);
    if (code != ASC_OK) return code;
    const uint8_t *entries = head + sizeof(asc_om_header) + sizeof(asc_om_table);
    asc_om_table table;
    memcpy(&table, head + sizeof(asc_om_header), sizeof table);
    uint32_t n = table.count;
    uint64_t table_end = sizeof(asc_om_header) + sizeof table + sizeof(asc_om_entry) * (uint64_t)n;
    if (n < 1 || n > ASC_MAX_PARTS || table.pad || file_size < table_end)
        return asc_fail(status, ASC_E_FORMAT, "the partition table is damaged");
    *frame = (asc_frame){.n_parts = n, .table_end = table_end, .file_size = file_size};
    uint64_t at = frame->table_end;
    for (uint32_t i = 0; i < n; i++) {
        asc_om_entry entry;
        memcpy(&entry, entries + sizeof entry * i, sizeof entry);
        asc_part part = {part_of_type(version, entry.type), entry.mem_offset, entry.mem_size};
        if (part.type == UNKNOWN_PART || asc_frame_part(frame, part.type) || (part.type == ASC_PART_MODEL_DEF && i))
            return asc_failf(status, ASC_E_FORMAT, "partition %u has an unknown or repeated type (%u)", i, entry.type);
        at = asc_align_up(at, alignment_of(part.type));
        if (entry.pad || at > file_size || part.offset != at - frame->table_end || !part.size ||
            part.size > file_size - at)
            return asc_failf(status, ASC_E_FORMAT, "partition %u (type %u) does not lie where the format puts it", i,
                             entry.type);
        part.offset = at;
        frame->parts[i] = part;
        at += part.size;
    }
    if (at != file_size) return asc_fail(status, ASC_E_FORMAT, "there are bytes behind the last partition");
    if (!asc_frame_part(frame, ASC_PART_PLAN))
        return asc_fail(status, ASC_E_FORMAT, "the bundle has no PLAN partition");
    return ASC_OK;
}

const asc_part *asc_frame_part(const asc_frame *frame, uint32_t type) {
    for (uint32_t i = 0; i < frame->n_parts; i++)
        if (frame->parts[i].size && frame->parts[i].type == type) return &frame->parts[i];
    return NULL;
}

static void digest_file(const asc_frame *frame, const uint8_t *file, uint8_t digest[32]) {
    static const uint8_t zeros[CHECKSUM_BYTES];
    const asc_part *weights = asc_frame_part(frame, ASC_PART_WEIGHTS);
    uint64_t from = CHECKSUM_AT + CHECKSUM_BYTES;
    asc_sha256_state s;
    asc_sha256_begin(&s, 0);
    asc_sha256_add(&s, file, CHECKSUM_AT);
    asc_sha256_add(&s, zeros, sizeof zeros);
    if (weights) {
        asc_sha256_add(&s, file + from, weights->offset - from);
        from = weights->offset + weights->size;
    }
    asc_sha256_add(&s, file + from, frame->file_size - from);
    asc_sha256_end(&s, digest);
}

int32_t asc_frame_check(const asc_frame *frame, const uint8_t *file, asc_status *status) {
    uint8_t digest[32];
    digest_file(frame, file, digest);
    if (memcmp(digest, file + CHECKSUM_AT, sizeof digest) != 0)
        return asc_fail(status, ASC_E_CHECKSUM, "the file was changed after it was written: its SHA-256 differs");
    uint64_t end = frame->table_end;
    for (uint32_t i = 0; i < frame->n_parts; i++) {
        if (!asc_all_zero(file + end, frame->parts[i].offset - end))
            return asc_failf(status, ASC_E_FORMAT, "the padding before partition %u is not zero", i);
        end = frame->parts[i].offset + frame->parts[i].size;
    }
    return ASC_OK;
}

int32_t asc_bundle_digest(const void *bytes, uint64_t size, uint8_t digest[32], asc_status *status) {
    asc_frame frame;
    int32_t code = asc_frame_parse(&frame, bytes, size, status);
    if (code == ASC_OK) digest_file(&frame, bytes, digest);
    return code;
}
