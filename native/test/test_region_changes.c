/* Files that change between two reads of one call, parts of weights in odd places, and memory that ends where it
 * rarely does. Linked with --wrap for pread, sysconf, malloc and calloc. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "model.h"

static asc_status status;
static long countdown = -1; /* allocations until one fails; negative: none does */
static void (*at_read)(int number);
static int reads;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
ssize_t __real_pread(int fd, void *to, size_t size, off_t from);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
ssize_t __wrap_pread(int fd, void *to, size_t size, off_t from);

static long page_bytes; /* 0: the system's */
long __real_sysconf(int name);
long __wrap_sysconf(int name);
long __wrap_sysconf(int name) {
    return name == _SC_PAGESIZE && page_bytes ? page_bytes : __real_sysconf(name);
}

static int fails(void) {
    return countdown >= 0 && countdown-- == 0;
}

void *__wrap_malloc(size_t size) {
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size) {
    return fails() ? NULL : __real_calloc(n, size);
}

ssize_t __wrap_pread(int fd, void *to, size_t size, off_t from) {
    if (at_read) at_read(reads++);
    return __real_pread(fd, to, size, from);
}

static char path[] = "/tmp/asc_region_XXXXXX";
static int file;

/* A frame of a PLAN of 64 bytes, weights, and bytes of libraries behind them. Nothing looks into the parts here. */
static void write_file(uint64_t weights, uint64_t behind) {
    struct {
        asc_om_header header;
        asc_om_table table;
        asc_om_entry entries[3];
    } head = {0};
    uint32_t n = behind ? 3 : 2;
    uint64_t table_end = sizeof head.header + sizeof head.table + n * sizeof *head.entries;
    uint64_t plan = asc_align_up(table_end, ASC_ALIGN), at = asc_align_up(plan + 64, ASC_WEIGHTS_ALIGN);
    uint64_t last = asc_align_up(at + weights, ASC_ALIGN), size = behind ? last + behind : at + weights;
    memcpy(&head.header.magic, "IMOD", 4);
    memcpy(head.header.name, "ascend-ep", 9);
    head.header.header_bytes = sizeof head.header;
    head.header.version = ASC_OM_VERSION;
    head.header.model_num = 1;
    head.header.platform_type = ASC_OM_PLATFORM_TYPE;
    head.header.model_length = size - sizeof head.header;
    head.header.length_low = (uint32_t)head.header.model_length;
    head.table.count = n;
    head.entries[0] = (asc_om_entry){.type = ASC_OM_TYPE_PLAN, .mem_offset = plan - table_end, .mem_size = 64};
    head.entries[1] = (asc_om_entry){.type = ASC_OM_TYPE_WEIGHTS, .mem_offset = at - table_end, .mem_size = weights};
    head.entries[2] = (asc_om_entry){.type = ASC_OM_TYPE_NATIVE, .mem_offset = last - table_end, .mem_size = behind};
    CHECK(ftruncate(file, 0) == 0 && ftruncate(file, (off_t)size) == 0);
    CHECK(pwrite(file, &head, table_end, 0) == (ssize_t)table_end);
}

static int32_t load(uint32_t flags, int mapped) {
    asc_region region = {.fd = -1};
    asc_frame frame;
    reads = 0;
    int32_t code = asc_region_load(&region, &frame, path, flags, &status);
    if (code == ASC_OK) CHECK((region.mapped != NULL) == mapped);
    if (code == ASC_OK) asc_region_free(&region);
    return code;
}

static void change_the_head(int number) {
    const char other = 'x';
    if (number == 1) CHECK(pwrite(file, &other, 1, offsetof(asc_om_header, userdefineinfo)) == 1);
}

static void touch(int number) {
    if (number == 1) CHECK(futimens(file, (const struct timespec[]){{1, 1}, {1, 1}}) == 0);
}

static void touch_at_once(int number) {
    (void)number;
    CHECK(futimens(file, (const struct timespec[]){{2, 2}, {2, 2}}) == 0);
}

static void test_changes_between_reads(void) {
    write_file(100, 0);
    CHECK(load(0, 0) == ASC_OK);
    at_read = touch;
    CHECK(load(0, 0) == ASC_E_IO);
    at_read = change_the_head;
    CHECK(load(0, 0) == ASC_E_IO);
    at_read = NULL;
}

static void test_places_of_weights(void) {
    const uint64_t large = ASC_LEAST_MAPPED + 100;
    write_file(large, 0);
    CHECK(load(0, 1) == ASC_OK && load(ASC_OPEN_NO_MMAP, 0) == ASC_OK);
    write_file(large, 200);
    CHECK(load(0, 1) == ASC_OK);
    write_file(100, 200);
    CHECK(load(0, 0) == ASC_OK);
    write_file(large, 0);
    page_bytes = 1 << 16; /* as some systems have them: the weights are aligned to less */
    CHECK(load(0, 0) == ASC_OK);
    page_bytes = 0;
    for (long n = 0; n < 6; n++) { /* the guard, and what is watched: without them the weights are read */
        write_file(large, 0);
        countdown = n;
        asc_region region = {.fd = -1};
        asc_frame frame;
        if (asc_region_load(&region, &frame, path, 0, &status) == ASC_OK) asc_region_free(&region);
        countdown = -1;
    }
}

static void test_files_of_weights(void) {
    int folder = open("/tmp", O_PATH | O_DIRECTORY), empty = -1;
    uint64_t page = asc_page_bytes();
    CHECK(ftruncate(file, (off_t)page) == 0);
    for (int kind = 0; kind < 4; kind++) {
        asc_region region = {.fd = -1};
        CHECK(asc_region_reserve(&region, 4 * page, 1, folder, &status) == ASC_OK);
        reads = 0;
        at_read = kind == 1 ? touch_at_once : NULL;
        int fd = kind == 2 ? empty : file;
        uint64_t size = kind == 3 ? 2 * page : page; /* more than there is */
        int32_t code = asc_region_place(&region, 0, 0, fd, size, ASC_OPEN_NO_MMAP, &status);
        CHECK(code == (kind ? ASC_E_IO : ASC_OK));
        at_read = NULL;
        asc_region_free(&region);
    }
    int failed = 0;
    for (long n = 0; n < 3; n++) {
        asc_region region = {.fd = -1};
        countdown = n;
        int32_t code = asc_region_reserve(&region, page, 1, folder, &status);
        countdown = -1;
        failed += code != ASC_OK;
        if (code == ASC_OK) asc_region_free(&region);
    }
    CHECK(failed > 0);
    close(folder);
}

static void test_no_memory(void) {
    static uint8_t bytes[16];
    asc_guard *taken[64];
    int n = 0;
    while (n < 64 && (countdown = 0, taken[n] = asc_guard_new(bytes, sizeof bytes)) != NULL) n++;
    countdown = -1; /* all that were made are taken by now */
    CHECK(n < 64);
    asc_region region = {.fd = -1};
    countdown = 0;
    CHECK(asc_region_reserve(&region, 4096, 1, -1, &status) == ASC_E_MEMORY);
    countdown = -1;
    for (int i = 0; i < n; i++) asc_guard_free(taken[i]);
    struct {
        asc_plan_header header;
        asc_section section;
        uint8_t rest[128];
    } wide = {.header = {.magic = ASC_PLAN_MAGIC, .version = ASC_PLAN_VERSION, .min_reader = 1, .n_sections = 1}};
    uint64_t at = asc_align_up(sizeof wide.header + sizeof wide.section, ASC_ALIGN), stride = sizeof(asc_symbol) + 4;
    wide.header.header_bytes = sizeof wide.header;
    wide.header.plan_bytes = at + stride;
    wide.section = (asc_section){.kind = ASC_SEC_SYMBOLS, .stride = (uint32_t)stride, .offset = at, .count = 1};
    asc_plan plan;
    countdown = 0;
    CHECK(asc_plan_parse(&plan, (const uint8_t *)&wide, at + stride, &status) == ASC_E_MEMORY);
    countdown = 0;
    CHECK(asc_image_new(4096, &status) == NULL && status.code == ASC_E_MEMORY);
    const asc_model model = {0};
    const asc_tensor x = {0};
    countdown = 0;
    CHECK(asc_model_names_hold(&model, &x, 0, &status)); /* nothing can be said of them */
    countdown = 1;
    CHECK(asc_model_names_hold(&model, &x, 0, &status));
    countdown = -1;
}

int main(void) {
    file = mkstemp(path);
    CHECK(file >= 0);
    test_changes_between_reads();
    test_places_of_weights();
    test_files_of_weights();
    test_no_memory();
    close(file);
    unlink(path);
    return check_failures();
}
