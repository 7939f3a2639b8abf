/* Decisions on plans, frames, models and files as no writer makes them, and as no file of a reasonable size holds
 * them: made in memory, of the records themselves. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "model.h"
#include "rows.h"

static asc_status status;

static asc_table table(const void *data, uint64_t count) {
    return (asc_table){.data = data, .count = count};
}

/* ---- plans ----------------------------------------------------------------------------------- */

typedef struct crafted {
    asc_plan_header header;
    asc_section section;
    uint8_t bytes[1 << 20];
} crafted;

/* A plan of one section of `size` bytes, from where the format puts it. */
static int32_t parse(uint32_t kind, uint32_t stride, uint64_t count, uint64_t size) {
    static crafted plan;
    asc_plan parsed;
    uint64_t at = asc_align_up(sizeof plan.header + sizeof plan.section, ASC_ALIGN);
    plan.header = (asc_plan_header){.magic = ASC_PLAN_MAGIC, .version = 1, .min_reader = 1, .n_sections = 1};
    plan.header.version = ASC_PLAN_VERSION;
    plan.header.header_bytes = sizeof plan.header;
    plan.header.plan_bytes = at + size;
    plan.section = (asc_section){.kind = kind, .stride = stride, .offset = at, .count = count};
    int32_t code = asc_plan_parse(&parsed, (const uint8_t *)&plan, at + size, &status);
    if (code == ASC_OK) asc_plan_free(&parsed);
    return code;
}

static void test_sections(void) {
    asc_plan plan;
    uint8_t head[3] = {0};
    CHECK(asc_plan_parse(&plan, head, sizeof head, &status) == ASC_E_FORMAT);
    const uint32_t wide = sizeof(asc_symbol) + 4;
    CHECK(parse(ASC_SEC_SYMBOLS, sizeof(asc_symbol), 1, sizeof(asc_symbol)) == ASC_OK);
    CHECK(parse(ASC_SEC_SYMBOLS, wide, 0, 0) == ASC_OK);
    CHECK(parse(ASC_SEC_SYMBOLS, wide, 2, 2 * wide) == ASC_OK);
    CHECK(parse(ASC_SEC_SYMBOLS, 0, 1, 8) == ASC_E_FORMAT);
    CHECK(parse(ASC_SEC_SYMBOLS, 8192, 1, 8192) == ASC_E_FORMAT);
    CHECK(parse(ASC_SEC_SYMBOLS, 8192, 0, 0) == ASC_E_FORMAT);
    const uint64_t many = ASC_MAX_META + 1;
    CHECK(parse(ASC_SEC_META, sizeof(asc_meta), many, many * sizeof(asc_meta)) == ASC_E_FORMAT);
    CHECK(strstr(status.text, "at most") != NULL);
    const uint64_t heads = sizeof(asc_plan_header) + sizeof(asc_section); /* the plan ends before the section begins */
    CHECK(parse(ASC_SEC_SYMBOLS, sizeof(asc_symbol), 0, heads - asc_align_up(heads, ASC_ALIGN)) == ASC_E_FORMAT);
    asc_blame(NULL, &plan, 0); /* nothing to write to */
}

static void test_strings(void) {
    const char text[] = {0, 'a', 0, (char)0xC3, (char)0xA9, 0};
    asc_plan plan = {0};
    plan.tables[ASC_SEC_STRINGS] = table(text, 0);
    CHECK(asc_verify_names(&plan, &status) == ASC_E_FORMAT);
    plan.tables[ASC_SEC_STRINGS] = table(text, (uint64_t)UINT32_MAX + 1);
    CHECK(asc_verify_names(&plan, &status) == ASC_E_FORMAT);
    plan.tables[ASC_SEC_STRINGS] = table(text + 1, 2);
    CHECK(asc_verify_names(&plan, &status) == ASC_E_FORMAT);
    plan.tables[ASC_SEC_STRINGS] = table(text, 2);
    CHECK(asc_verify_names(&plan, &status) == ASC_E_FORMAT);
    plan.tables[ASC_SEC_STRINGS] = table(text, sizeof text);
    CHECK(asc_verify_names(&plan, &status) == ASC_OK);
    asc_symbol symbol = {.name = 4}; /* in the middle of a character */
    plan.tables[ASC_SEC_SYMBOLS] = table(&symbol, 1);
    CHECK(asc_verify_names(&plan, &status) == ASC_E_FORMAT);
    symbol.name = sizeof text;
    CHECK(asc_verify_names(&plan, &status) == ASC_E_FORMAT);
}

static void test_names_of_weight_files(void) {
    const char *const names[] = {".", "..", "a/..", "./a", "a//b", "a/", "/a", "a\\b"};
    asc_weight weight = {0};
    asc_weight_file file = {.name = 0, .n_weights = 1, .bytes = 1};
    asc_plan plan = {0};
    plan.tables[ASC_SEC_WEIGHTS] = table(&weight, 1);
    plan.tables[ASC_SEC_WEIGHT_FILES] = table(&file, 1);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        plan.tables[ASC_SEC_STRINGS] = table(names[i], strlen(names[i]) + 1);
        CHECK(asc_verify_weight_files(&plan, &status) == ASC_E_FORMAT);
    }
    const char *const good[] = {".a", "..a", "a/.b", "a"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        plan.tables[ASC_SEC_STRINGS] = table(good[i], strlen(good[i]) + 1);
        CHECK(asc_verify_weight_files(&plan, &status) == ASC_OK);
    }
}

/* ---- frames ---------------------------------------------------------------------------------- */

static void test_frames(void) {
    struct {
        asc_om_header header;
        asc_om_table table;
        asc_om_entry entries[ASC_MAX_PARTS];
    } good = {0}, file;
    memcpy(&good.header.magic, "IMOD", 4);
    memcpy(good.header.name, "ascend-ep", 9);
    good.header.header_bytes = sizeof good.header;
    good.header.version = ASC_OM_VERSION;
    good.header.model_num = 1;
    good.header.platform_type = ASC_OM_PLATFORM_TYPE;
    good.table.count = 1;
    good.entries[0] = (asc_om_entry){.type = ASC_OM_TYPE_PLAN, .mem_size = 64};
    uint64_t table_end = sizeof good.header + sizeof good.table + sizeof *good.entries;
    uint64_t at = asc_align_up(table_end, ASC_ALIGN), size = at + 64;
    good.entries[0].mem_offset = at - table_end;
    asc_frame frame;
#define PARSED(bytes)                                             \
    (file.header.model_length = (bytes) - sizeof file.header,     \
     file.header.length_low = (uint32_t)file.header.model_length, \
     asc_frame_parse(&frame, (const uint8_t *)&file, bytes, &status))
    file = good;
    CHECK(PARSED(size) == ASC_OK);
    CHECK(PARSED(table_end - 1) == ASC_E_FORMAT); /* the table itself is cut */
    CHECK(PARSED(table_end) == ASC_E_FORMAT);     /* what it names lies behind the end */
    CHECK(PARSED(at) == ASC_E_FORMAT);
    memset(file.header.name + 9, 'x', sizeof file.header.name - 9); /* no NUL */
    CHECK(PARSED(size) == ASC_E_FORMAT);
    file = good;
    memset(file.header.platform_version, 'x', sizeof file.header.platform_version);
    CHECK(PARSED(size) == ASC_E_FORMAT);
    for (uint32_t n = 0; n <= ASC_MAX_PARTS + 1; n += ASC_MAX_PARTS + 1) {
        file = good;
        file.table.count = n;
        CHECK(PARSED(size) == ASC_E_FORMAT);
    }
    file = good;
    file.entries[0].pad = 1;
    CHECK(PARSED(size) == ASC_E_FORMAT);
    file = good;
    file.entries[0].mem_size = 0;
    CHECK(PARSED(at) == ASC_E_FORMAT);
    file.entries[0].mem_size = 65;
    CHECK(PARSED(size) == ASC_E_FORMAT);
    file.entries[0].mem_offset++;
    CHECK(PARSED(size) == ASC_E_FORMAT);
    file = good, file.table.count = 2; /* the second would begin behind the end of the file */
    file.entries[0].mem_offset =
        asc_align_up(table_end + sizeof *file.entries, ASC_ALIGN) - table_end - sizeof *file.entries;
    file.entries[0].mem_size = 65;
    file.entries[1] = (asc_om_entry){.type = ASC_OM_TYPE_NATIVE, .mem_offset = 128, .mem_size = 1};
    CHECK(PARSED(asc_align_up(table_end + sizeof *file.entries, ASC_ALIGN) + 65) == ASC_E_FORMAT);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static void test_boundaries_of_partitions(void) {
    asc_partition partitions[4] = {{.kind = ASC_PARTITION_HOST, .first_output = 5, .n_outputs = 1}};
    asc_plan plan = {0};
    uint32_t index = 0;
    plan.tables[ASC_SEC_PARTITIONS] = table(partitions, 1);
    plan.tables[ASC_SEC_INDICES] = table(&index, 1);
    CHECK(asc_verify_ranges(&plan, &status) == ASC_E_FORMAT);
    partitions[0] = (asc_partition){.kind = ASC_PARTITION_HOST, .first_input = 5, .n_inputs = 1};
    CHECK(asc_verify_ranges(&plan, &status) == ASC_E_FORMAT);
    partitions[0] = (asc_partition){.kind = ASC_PARTITION_HOST};
    CHECK(asc_verify_ranges(&plan, &status) == ASC_OK);
    for (int i = 0; i < 4; i++) partitions[i] = (asc_partition){.kind = ASC_PARTITION_HOST, .n_inputs = 1u << 17};
    plan.tables[ASC_SEC_PARTITIONS] = table(partitions, 4);
    plan.tables[ASC_SEC_INDICES] = table(&index, ASC_MAX_INDICES); /* nobody looks at them yet */
    CHECK(asc_verify_ranges(&plan, &status) == ASC_E_FORMAT);
}

static int32_t verified(asc_plan *plan) {
    int32_t code = asc_verify_insns(plan, 0, &status);
    free(plan->rows);
    plan->rows = NULL;
    return code;
}

static void test_totals_of_instructions(void) {
    asc_insn insn = {.native = ASC_NONE};
    asc_partition partition = {.n_insns = 1};
    asc_attr_record records[2] = {{.kind = ASC_ATTR_INTS, .count = ASC_MAX_TOTAL_INTS},
                                  {.kind = ASC_ATTR_INTS, .count = 1}};
    asc_dim dim = {0};
    uint32_t *indices = calloc(ASC_MAX_TOTAL_INTS + 1, sizeof *indices);
    asc_plan plan = {0};
    plan.tables[ASC_SEC_PARTITIONS] = table(&partition, 1);
    plan.tables[ASC_SEC_INSNS] = table(&insn, 1);
    plan.tables[ASC_SEC_DIMS] = table(&dim, 1);
    plan.tables[ASC_SEC_INDICES] = table(indices, ASC_MAX_TOTAL_INTS + 1);
    plan.tables[ASC_SEC_ATTRS] = table(records, 2);
    insn.n_ints = ASC_MAX_TOTAL_INTS + 1;
    CHECK(verified(&plan) == ASC_E_FORMAT && strstr(status.text, "takes"));
    insn.n_ints = 0, insn.n_floats = ASC_MAX_FLOATS + 1;
    CHECK(verified(&plan) == ASC_E_FORMAT && strstr(status.text, "takes"));
    insn.n_floats = 0, insn.n_attrs = ASC_MAX_ATTRS + 1;
    CHECK(verified(&plan) == ASC_E_FORMAT && strstr(status.text, "takes"));
    insn.n_attrs = 2; /* together one more than there may be */
    CHECK(verified(&plan) == ASC_E_FORMAT && strstr(status.text, "attribute values"));
    records[0].count = 1, records[1].first = ASC_MAX_TOTAL_INTS + 1;
    CHECK(verified(&plan) == ASC_E_FORMAT && strstr(status.text, "outside"));
    insn.n_attrs = 0, insn.n_in = ASC_MAX_OPERANDS + 1;
    CHECK(verified(&plan) == ASC_E_FORMAT && strstr(status.text, "takes"));
    free(indices);
}

/* As many joins of 255 tensors as there may be operands over all, and one more. */
static void test_total_of_operands(void) {
    enum { EACH = ASC_MAX_OPERANDS, MOST = ASC_MAX_TOTAL_OPERANDS / EACH };
    const char strings[] = "\0concat";
    const asc_dim dim = {.op = ASC_DIM_CONST};
    asc_insn *insns = calloc(MOST + 1, sizeof *insns);
    asc_value *values = calloc(MOST + 2, sizeof *values);
    uint32_t *indices = calloc((MOST + 1) * EACH, sizeof *indices);
    asc_partition partition = {.n_values = MOST + 2};
    asc_plan plan = {0};
    for (uint32_t i = 0; i < MOST + 2; i++)
        values[i] = (asc_value){.dtype = ASC_FLOAT32, .rank = 1, .kind = i ? ASC_VALUE_TEMP : ASC_VALUE_INPUT};
    for (uint32_t i = 0; i <= MOST; i++) {
        insns[i] = (asc_insn){.kernel = 1, .n_in = EACH - 1, .n_out = 1, .first_operand = i * EACH, .n_ints = 1};
        insns[i].native = ASC_NONE;
        indices[(i + 1) * EACH - 1] = i + 1;
    }
    plan.roots = calloc(MOST + 2, sizeof *plan.roots);
    for (uint32_t i = 0; i < MOST + 2; i++) plan.roots[i] = i;
    plan.tables[ASC_SEC_STRINGS] = table(strings, sizeof strings);
    plan.tables[ASC_SEC_DIMS] = table(&dim, 1);
    plan.tables[ASC_SEC_INSNS] = table(insns, MOST + 1);
    plan.tables[ASC_SEC_VALUES] = table(values, MOST + 2);
    plan.tables[ASC_SEC_INDICES] = table(indices, (MOST + 1) * EACH);
    plan.tables[ASC_SEC_PARTITIONS] = table(&partition, 1);
    partition.n_insns = MOST;
    plan.tables[ASC_SEC_VALUES].count = MOST + 1;
    CHECK(verified(&plan) == ASC_OK);
    plan.tables[ASC_SEC_VALUES].count = MOST + 2;
    partition.n_insns = MOST + 1;
    CHECK(verified(&plan) == ASC_E_FORMAT && strstr(status.text, "more operands"));
    free(plan.roots), free(insns), free(values), free(indices);
}

static void test_sizes_of_weights(void) {
    const asc_value value = {.dtype = ASC_FLOAT32, .rank = 2, .layout = ASC_LAYOUT_PLAIN};
    uint64_t bytes;
    CHECK(asc_weight_bytes(&value, (const int64_t[]){2, 3}, &bytes) && bytes == 24);
    CHECK(!asc_weight_bytes(&value, (const int64_t[]){INT64_MAX, 2}, &bytes));
    CHECK(!asc_weight_bytes(&value, (const int64_t[]){-1, 2}, &bytes));
    CHECK(!asc_weight_bytes(&value, (const int64_t[]){2, -1}, &bytes));
    const asc_value packed = {.dtype = ASC_FLOAT32, .rank = 3, .layout = 1};
    CHECK(packed.layout != ASC_LAYOUT_PLAIN && !asc_weight_bytes(&packed, (const int64_t[]){2, -1, -1}, &bytes));
}

static void test_empty_weights_without_a_part(void) {
    asc_weight weights[2] = {{0}, {0}};
    const asc_frame frame = {0};
    const uint8_t file[1] = {0};
    asc_plan plan = {0};
    plan.tables[ASC_SEC_WEIGHTS] = table(weights, 2);
    CHECK(asc_verify_segments(&plan, &frame, file, &status) == ASC_OK);
    const asc_edge edge = {.dtype = ASC_FLOAT32, .rank = 1};
    asc_sample sample = {.rank = 1}; /* of a tensor without elements */
    plan.tables[ASC_SEC_EDGES] = table(&edge, 1);
    plan.tables[ASC_SEC_SAMPLES] = table(&sample, 1);
    CHECK(asc_verify_segments(&plan, &frame, file, &status) == ASC_OK);
    weights[1].bytes = 1;
    CHECK(asc_verify_segments(&plan, &frame, file, &status) == ASC_E_FORMAT);
}

int main(void) {
    test_sections();
    test_strings();
    test_names_of_weight_files();
    test_frames();
    test_boundaries_of_partitions();
    test_totals_of_instructions();
    test_total_of_operands();
    test_sizes_of_weights();
    test_empty_weights_without_a_part();
    return check_failures();
}
