/* Which native code may run: digests named by the caller, or by the user's own trust store.
 *
 * The store is $ASCEND_EP_TRUST, else ascend_ep/trust in $XDG_CONFIG_HOME or ~/.config: lines "sha256 <64 hex digits>
 * [comment]". It counts only when it belongs to this user and nobody else may write it. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "custom.h"
#include "sha256.h"

#define MAX_STORE_BYTES (1 << 20)

static int is_hex(const char *text) { /* 64 digits, no more */
    size_t n = strspn(text, "0123456789abcdefABCDEF");
    return n == 64;
}

/* The digests of an option one by one; returns the rest, or NULL at the end or a malformed one. */
static const char *next_digest(const char *text, const char **digest) {
    if (strncmp(text, "sha256:", 7) == 0) text += 7;
    if (!is_hex(text) || (text[64] && text[64] != ',')) return NULL;
    *digest = text;
    return text[64] ? text + 65 : text + 64;
}

int asc_trust_option_ok(const char *option) {
    const char *digest;
    if (!option || strcmp(option, "all") == 0) return 1;
    if (strncmp(option, "sha256:", 7) != 0) return 0;
    do option = next_digest(option, &digest);
    while (option && *option);
    return option != NULL;
}

static int option_trusts(const char *option, const char *hex) {
    const char *digest;
    if (strcmp(option, "all") == 0) return 1;
    for (const char *at = option; at && *at;) {
        at = next_digest(at, &digest);
        if (at && strncasecmp(digest, hex, 64) == 0) return 1;
    }
    return 0;
}

static int open_store(void) {
    char path[4096];
    const char *given = secure_getenv("ASCEND_EP_TRUST"), *home = secure_getenv("HOME");
    const char *config = secure_getenv("XDG_CONFIG_HOME");
    if (given && *given)
        asc_format(path, sizeof path, "%s", given);
    else if (config && *config == '/') /* by its specification a relative one doesn't count */
        asc_format(path, sizeof path, "%s/ascend_ep/trust", config);
    else if (home && *home)
        asc_format(path, sizeof path, "%s/.config/ascend_ep/trust", home);
    else
        return -1;
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

static int is_private(int fd) {
    struct stat info;
    return fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() &&
           !(info.st_mode & (S_IWGRP | S_IWOTH)) && info.st_size <= MAX_STORE_BYTES;
}

static int line_trusts(const char *line, const char *hex) {
    line += strspn(line, " \t");
    if (strncmp(line, "sha256", 6) != 0 || !strchr(" \t", line[6])) return 0;
    line += 6 + strspn(line + 6, " \t");
    return is_hex(line) && strncasecmp(line, hex, 64) == 0 && (!line[64] || strchr(" \t\r\n", line[64]));
}

static int store_trusts(const char *hex) {
    int fd = open_store(), trusted = 0;
    char *text = NULL;
    if (fd >= 0 && is_private(fd) && (text = malloc(MAX_STORE_BYTES + 1))) {
        size_t n = 0;
        for (ssize_t got = 1; got > 0 && n < MAX_STORE_BYTES; n += got > 0 ? (size_t)got : 0)
            got = read(fd, text + n, MAX_STORE_BYTES - n);
        text[n] = 0;
        for (char *line = text; line && !trusted; line = strchr(line, '\n'), line = line ? line + 1 : NULL)
            trusted = line_trusts(line, hex);
    }
    free(text);
    if (fd >= 0) close(fd);
    return trusted;
}

int asc_is_trusted(const uint8_t digest[32], const char *option) {
    char hex[65];
    asc_hex(digest, hex);
    return (option && option_trusts(option, hex)) || store_trusts(hex);
}
