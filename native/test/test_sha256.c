/* SHA-256 against the vectors of FIPS 180-4 and its examples, in one piece, in pieces of every size, and
 * with and without the CPU's instructions. Linked with --wrap for what the CPU has. */
#include <stdlib.h>
#include <string.h>

#include "ascend_rt.h"
#include "check.h"
#include "sha256.h"

static const struct {
    const char *text, *hex;
} VECTORS[] = {
    {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
     "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
};
#define MILLION_A "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"

static void digest(const char *bytes, size_t size, size_t piece, int portable, char hex[65]) {
    asc_sha256_state s;
    uint8_t d[32];
    asc_sha256_begin(&s, portable);
    for (size_t at = 0; at < size; at += piece) asc_sha256_add(&s, bytes + at, size - at < piece ? size - at : piece);
    asc_sha256_end(&s, d);
    asc_hex(d, hex);
}

static int lacks_instructions;
int __real_asc_cpu_has_sha_ni(void);
int __wrap_asc_cpu_has_sha_ni(void);
int __wrap_asc_cpu_has_sha_ni(void) {
    return !lacks_instructions && __real_asc_cpu_has_sha_ni();
}

int main(void) {
    char hex[65], other[65], *million = malloc(1000000);
    for (int way = 0; way < 3; way++) { /* with the instructions, without, and where there are none */
        lacks_instructions = way == 2;
        for (size_t i = 0; i < sizeof VECTORS / sizeof *VECTORS; i++) {
            digest(VECTORS[i].text, strlen(VECTORS[i].text), 1000, way == 1, hex);
            CHECK(strcmp(hex, VECTORS[i].hex) == 0);
        }
    }
    lacks_instructions = 0;
    memset(million, 'a', 1000000);
    digest(million, 1000000, 1000000, 0, hex);
    CHECK(strcmp(hex, MILLION_A) == 0);
    for (size_t i = 0; i < 300; i++) million[i] = (char)(i * 7);
    for (size_t size = 0; size < 300; size++) {
        digest(million, size, 300, 1, hex);
        for (size_t piece = 1; piece < 130; piece += 9) {
            digest(million, size, piece, 0, other);
            CHECK(strcmp(hex, other) == 0);
        }
    }
    free(million);
    return check_failures();
}
