/* regular_file.h - files that a program or its user names: a pipe's opening would wait for its other end. */
#ifndef ASC_REGULAR_FILE_H
#define ASC_REGULAR_FILE_H

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The file, to be read. NULL, and errno, for what is no regular file nor a link to one. */
FILE *asc_open_regular(const char *path);

/* dlopen of a file, with what dlopen says; NULL, and *why, which isn't the caller's, when it can't be loaded. */
void *asc_load_regular(const char *path, const char **why);

#ifdef __cplusplus
}
#endif
#endif
