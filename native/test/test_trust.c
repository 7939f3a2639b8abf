/* Which digests are trusted: options, and every way in which the user's store may look. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "custom.h"

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define BIG (1 << 20)

static uint8_t digest[32];

static void write_store(const char *text, mode_t mode) {
    FILE *f = fopen("store", "wb");
    CHECK(f && fputs(text, f) >= 0);
    if (f) fclose(f);
    CHECK(chmod("store", mode) == 0);
}

static void test_options(void) {
    const char *good[] = {"all", "sha256:" A, "sha256:" A "," B, "sha256:" A ",sha256:" B};
    const char *bad[] = {"", "none", "sha256:", "sha256:abc", "sha256:" A "a", "sha256:" A ";" B, "sha256:" A ",x", A};
    CHECK(asc_trust_option_ok(NULL));
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) CHECK(asc_trust_option_ok(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) CHECK(!asc_trust_option_ok(bad[i]));
    CHECK(asc_is_trusted(digest, "all"));
    CHECK(asc_is_trusted(digest, "sha256:" B "," A) && asc_is_trusted(digest, "sha256:" B ",sha256:" A));
    CHECK(!asc_is_trusted(digest, "sha256:" B) && !asc_is_trusted(digest, "sha256:" B ",x"));
    CHECK(!asc_is_trusted(digest, NULL));
}

static void test_lines(void) {
    const char *good[] = {"sha256 " A,
                          "sha256\t" A "\n",
                          "  sha256  " A " a comment\n",
                          "# no\nsha256 " A "\r\n",
                          "sha256 " B "\nsha256 " A,
                          "\n\n\nsha256 " A "\t"};
    const char *bad[] = {"",          "sha256 " B, A,         "sha256" A,    "sha256 " A "a", "sha256 " A ";",
                         "sha512 " A, "sha256",    "sha256 ", "sha256 " A A, "#sha256 " A,    "sha256 \n" A};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        write_store(good[i], 0600);
        CHECK(asc_is_trusted(digest, NULL) && asc_is_trusted(digest, "sha256:" B));
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_store(bad[i], 0600);
        CHECK(!asc_is_trusted(digest, NULL));
    }
}

/* Cut to half, replaced while it is there, too large, of others: then nothing is trusted by it. */
static void test_files(void) {
    const mode_t open_to_others[] = {0620, 0602, 0666};
    for (int i = 0; i < 3; i++) {
        write_store("sha256 " A "\n", open_to_others[i]);
        CHECK(!asc_is_trusted(digest, NULL));
    }
    write_store("sha256 " A "\n", 0600);
    CHECK(truncate("store", 40) == 0 && !asc_is_trusted(digest, NULL));
    CHECK(truncate("store", 0) == 0 && !asc_is_trusted(digest, NULL));
    write_store("sha256 " A "\n", 0600);
    CHECK(truncate("store", BIG + 1) == 0 && !asc_is_trusted(digest, NULL));
    CHECK(truncate("store", BIG) == 0 && asc_is_trusted(digest, NULL));
    if (geteuid() == 0) { /* of another user */
        CHECK(chown("store", 1, 1) == 0 && !asc_is_trusted(digest, NULL));
        CHECK(chown("store", 0, 0) == 0 && asc_is_trusted(digest, NULL));
    }
    CHECK(unlink("store") == 0 && !asc_is_trusted(digest, NULL));
    CHECK(mkdir("store", 0700) == 0 && !asc_is_trusted(digest, NULL) && rmdir("store") == 0);
    CHECK(mkfifo("store", 0600) == 0 && !asc_is_trusted(digest, NULL) && unlink("store") == 0);
}

static void test_places(const char *folder) {
    char path[256];
    unsetenv("ASCEND_EP_TRUST");
    snprintf(path, sizeof path, "%s/config", folder);
    CHECK(mkdir("config", 0700) == 0 && mkdir("config/ascend_ep", 0700) == 0);
    CHECK(mkdir(".config", 0700) == 0 && mkdir(".config/ascend_ep", 0700) == 0);
    write_store("sha256 " A "\n", 0600);
    CHECK(link("store", "config/ascend_ep/trust") == 0);
    setenv("XDG_CONFIG_HOME", path, 1);
    setenv("HOME", "/nowhere", 1);
    CHECK(asc_is_trusted(digest, NULL));
    setenv("XDG_CONFIG_HOME", "config", 1); /* relative: it doesn't count */
    CHECK(!asc_is_trusted(digest, NULL));
    setenv("XDG_CONFIG_HOME", "", 1);
    setenv("HOME", folder, 1);
    CHECK(!asc_is_trusted(digest, NULL));
    CHECK(link("store", ".config/ascend_ep/trust") == 0 && asc_is_trusted(digest, NULL));
    setenv("HOME", "", 1);
    CHECK(!asc_is_trusted(digest, NULL));
    unsetenv("HOME");
    unsetenv("XDG_CONFIG_HOME");
    setenv("ASCEND_EP_TRUST", "", 1);
    CHECK(!asc_is_trusted(digest, NULL));
}

int main(void) {
    char folder[] = "/tmp/asc_test_XXXXXX", remove[64], store[64];
    CHECK(mkdtemp(folder) && chdir(folder) == 0);
    snprintf(store, sizeof store, "%s/store", folder);
    setenv("ASCEND_EP_TRUST", store, 1);
    memset(digest, 0xAA, sizeof digest);
    test_options();
    test_lines();
    test_files();
    test_places(folder);
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    CHECK(system(remove) == 0);
    return check_failures();
}
