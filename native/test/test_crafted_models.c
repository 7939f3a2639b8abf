/* Decisions on models and on what they map, of records as no writer makes them: made in memory. Linked with --wrap
 * for signal. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "model.h"
#include "sha256.h"

static asc_status status;

static asc_table table(const void *data, uint64_t count) {
    return (asc_table){.data = data, .count = count};
}

/* ---- models ---------------------------------------------------------------------------------- */

static int32_t logged;
static void count_log(void *user, int32_t level, const char *text) {
    (void)user, (void)level, (void)text;
    logged++;
}

static void test_partitions_and_libraries(void) {
    asc_insn insns[3] = {{.native = ASC_NONE}, {.native = 0}, {.native = 1}};
    asc_partition partitions[3] = {{.first_insn = 0, .n_insns = 3, .fallback = 2},
                                   {.n_insns = 1, .fallback = 2},
                                   {.kind = ASC_PARTITION_FALLBACK}};
    asc_native natives[2] = {0};
    asc_library libraries[2] = {0};
    asc_model model = {.libraries = libraries};
    model.plan.tables[ASC_SEC_INSNS] = table(insns, 3);
    model.plan.tables[ASC_SEC_PARTITIONS] = table(partitions, 3);
    model.plan.tables[ASC_SEC_NATIVE] = table(natives, 2);
    CHECK(asc_model_partition_in_use(&model, 0) == 2); /* the first is missing */
    libraries[0].handle = &model;
    CHECK(asc_model_partition_in_use(&model, 0) == 2); /* the second is */
    libraries[1].handle = &model;
    CHECK(asc_model_partition_in_use(&model, 0) == 0);
    CHECK(asc_model_partition_in_use(&model, 1) == 1); /* calls no library */
    CHECK(asc_model_partition_in_use(&model, 2) == 2);
    CHECK(asc_model_partition_in_use(&model, 3) == ASC_NONE);
    asc_model_log(&model, 2, "nobody listens");
    model.log = count_log;
    asc_model_log(&model, 2, "somebody does");
    CHECK(logged == 1);
}

static void test_names_of_inputs(void) {
    const char strings[] = "\0x\0n";
    asc_dim dims[4] = {{.op = ASC_DIM_SYMBOL},
                       {.op = ASC_DIM_CONST, .value = 0},
                       {.op = ASC_DIM_FLOORDIV, .a = 0, .b = 1},
                       {.op = ASC_DIM_CONST, .value = 4}};
    uint32_t indices[3] = {0, 2, 3};
    asc_symbol symbol = {.name = 3, .min = 0, .max = 100};
    asc_edge edges[2] = {{.name = 1, .rank = 3, .role = ASC_EDGE_INPUT}, {.role = ASC_EDGE_OUTPUT}};
    asc_model model = {0};
    model.plan.tables[ASC_SEC_STRINGS] = table(strings, sizeof strings);
    model.plan.tables[ASC_SEC_DIMS] = table(dims, 4);
    model.plan.tables[ASC_SEC_INDICES] = table(indices, 3);
    model.plan.tables[ASC_SEC_SYMBOLS] = table(&symbol, 1);
    model.plan.tables[ASC_SEC_EDGES] = table(edges, 2);
    asc_tensor x = {.rank = 3, .dims = {2, 9, 5}};
    CHECK(asc_model_names_hold(&model, &x, 1, &status)); /* a quotient by zero has no size to hold */
    CHECK(asc_model_names_hold(&model, &x, 0, &status)); /* fewer inputs than the model's, and more */
    CHECK(asc_model_names_hold(&model, &x, 2, &status));
    x.rank = 2;
    CHECK(asc_model_names_hold(&model, &x, 1, &status));
    x.rank = 3;
    dims[1].value = 1;
    CHECK(!asc_model_names_hold(&model, &x, 1, &status));
    x.dims[1] = 2;
    CHECK(asc_model_names_hold(&model, &x, 1, &status));
    const asc_constraint equal = {.left = 0, .right = 3};
    model.plan.tables[ASC_SEC_CONSTRAINTS] = table(&equal, 1);
    CHECK(!asc_model_names_hold(&model, &x, 1, &status));
    x.dims[0] = x.dims[1] = 4;
    CHECK(asc_model_names_hold(&model, &x, 1, &status));
}

static void test_profiles_of_unknown_sizes(void) {
    const char strings[] = "\0h\0w";
    asc_symbol symbols[2] = {{.name = 1}, {.name = 3}};
    asc_profile_size sizes[2] = {{.symbol = 0, .size = 4}, {.symbol = 1, .size = 5}};
    asc_plan plan = {0};
    plan.tables[ASC_SEC_STRINGS] = table(strings, sizeof strings);
    plan.tables[ASC_SEC_SYMBOLS] = table(symbols, 2);
    plan.tables[ASC_SEC_PROFILES] = table(sizes, 2);
    int64_t given[2] = {3, 0};
    uint8_t known[2] = {1, 0};
    const asc_dims dims = {.symbols = given, .symbol_known = known};
    CHECK(asc_check_profiles(&dims, &plan, &status) == ASC_E_SHAPE && strstr(status.text, "'h' = 3:"));
    given[0] = 4;
    CHECK(asc_check_profiles(&dims, &plan, &status) == ASC_OK);
}

static void test_weights_of_no_file(void) {
    static uint8_t bytes[128];
    asc_weight weights[2] = {{.offset = 0, .bytes = 4}, {.offset = 64, .bytes = 4}};
    asc_model model = {0};
    CHECK(asc_model_verify_weights(&model, &status) == ASC_OK); /* neither weights nor a place for them */
    model.region.bytes = bytes;
    model.frame = (asc_frame){.n_parts = 1, .parts = {{ASC_PART_WEIGHTS, 0, 68}}};
    model.plan.tables[ASC_SEC_WEIGHTS] = table(weights, 2);
    for (int i = 0; i < 2; i++) asc_sha256(bytes, 4, weights[i].sha256);
    CHECK(asc_model_verify_weights(&model, &status) == ASC_OK);
    bytes[10] = 1; /* between them */
    CHECK(asc_model_verify_weights(&model, &status) == ASC_E_CHECKSUM);
    bytes[10] = 0, bytes[65] = 1;
    CHECK(asc_model_verify_weights(&model, &status) == ASC_E_CHECKSUM);
}

/* ---- what is mapped -------------------------------------------------------------------------- */

static void test_files_that_are_watched(void) {
    char path[] = "/tmp/asc_crafted_XXXXXX";
    int fd = mkstemp(path);
    asc_watched seen = {0}, other;
    CHECK(fd >= 0 && write(fd, "12", 2) == 2 && asc_watch(&seen, fd) && asc_unchanged(&seen, fd, NULL));
    CHECK(!asc_watch(&other, -1));
    other = seen, other.inode++, other.bytes++;
    CHECK(asc_unchanged(&other, fd, NULL)); /* another file in its place */
    other = seen, other.device++, other.bytes++;
    CHECK(asc_unchanged(&other, fd, NULL));
    other = seen, other.bytes++;
    CHECK(!asc_unchanged(&other, fd, NULL));
    other = seen, other.modified++;
    CHECK(!asc_unchanged(&other, fd, NULL));

    asc_weight_file file = {.name = 0};
    asc_guard guard = {0};
    asc_model model = {0};
    int folder = open("/tmp", O_PATH | O_DIRECTORY);
    model.plan.tables[ASC_SEC_STRINGS] = table(path + 5, strlen(path + 5) + 1);
    model.plan.tables[ASC_SEC_WEIGHT_FILES] = table(&file, 1);
    model.outside = (asc_region){.watched = &seen, .n_watched = 1, .fd = folder, .guard = &guard};
    CHECK(asc_files_unchanged(&model, &status) == ASC_OK);
    atomic_store(&guard.lost, 1);
    CHECK(asc_files_unchanged(&model, &status) == ASC_E_CHANGED);
    atomic_store(&guard.lost, 0);
    CHECK(write(fd, "3", 1) == 1 && asc_files_unchanged(&model, &status) == ASC_E_CHANGED);
    close(folder), close(fd), unlink(path);
}

static void test_memory_that_is_given_back(void) {
    uint64_t page = asc_page_bytes();
    uint8_t *at = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    asc_region region = {.bytes = at, .size = 4 * page};
    memset(at, 1, 4 * page);
    asc_region_drop(&region, at, page); /* nothing is mapped */
    region.mapped = at + page, region.mapped_bytes = 2 * page;
    asc_region_drop(&region, at, page);
    asc_region_drop(&region, at + 3 * page, page);
    CHECK(at[0] == 1 && at[page] == 1 && at[3 * page] == 1);
    asc_region_drop(&region, at + 2 * page, 2 * page); /* more than is mapped */
    CHECK(at[page] == 1 && at[2 * page] == 0 && at[3 * page] == 1);
    munmap(at, 4 * page);
}

static volatile sig_atomic_t handled;
static void note_signal(int number) {
    handled = number;
}

/* The handler of before is what ends the process. Here it comes back instead, so that what was counted is written. */
static sigjmp_buf ended;
static void come_back(int number) {
    siglongjmp(ended, number);
}

void (*__real_signal(int number, void (*handler)(int)))(int);
void (*__wrap_signal(int number, void (*handler)(int)))(int);
void (*__wrap_signal(int number, void (*handler)(int)))(int) {
    return __real_signal(number, handler == SIG_DFL ? come_back : handler);
}

/* Reads what a file no longer has, in memory that nobody guards. */
static void fault(void) {
    FILE *file = tmpfile();
    volatile uint8_t *at = mmap(NULL, asc_page_bytes(), PROT_READ, MAP_PRIVATE, fileno(file), 0);
    (void)*at;
}

typedef struct before {
    void (*handler)(int);
    int sent, ends; /* by a program, not by a page that is gone; whether the process would end */
} before;

/* Whether the process, which is one for this alone, goes on or comes back as it should. */
static int is_as_before(const before *b) {
    static uint8_t bytes[16];
    (void)__real_signal(SIGBUS, b->handler);
    asc_guard_free(asc_guard_new(bytes, sizeof bytes));
    int number = sigsetjmp(ended, 1);
    if (!number && b->sent) raise(SIGBUS);
    if (!number && !b->sent) fault();
    return number == (b->ends ? SIGBUS : 0) && handled == (b->handler == note_signal ? SIGBUS : 0);
}

/* A handler of before gets signals that no guard takes. One that was ignored stays so, but a page that is gone ends
 * the process as if nobody had ever asked. */
static void test_handlers_of_before(void) {
    const before all[] = {{SIG_IGN, 1, 0}, {SIG_IGN, 0, 1}, {SIG_DFL, 1, 1}, {SIG_DFL, 0, 1}, {note_signal, 1, 0}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        pid_t child = fork();
        if (child == 0) exit(!is_as_before(&all[i])); /* not _exit: what was counted is written */
        int end = 0;
        CHECK(waitpid(child, &end, 0) == child && WIFEXITED(end) && WEXITSTATUS(end) == 0);
    }
}

int main(void) {
    test_partitions_and_libraries();
    test_names_of_inputs();
    test_profiles_of_unknown_sizes();
    test_weights_of_no_file();
    test_files_that_are_watched();
    test_memory_that_is_given_back();
    test_handlers_of_before();
    return check_failures();
}
