/* dump_file.h - files of dumped tensors, in the form that tools of the field read. */
#ifndef ASC_ACL_DUMP_FILE_H
#define ASC_ACL_DUMP_FILE_H

#include <stdio.h>

#include "dump_value.h"

/* What an operator read and wrote, and how its file is named. */
typedef struct asc_dumped {
    const char *type, *name;
    size_t name_bytes; /* of the name, which isn't terminated */
    uint64_t task, stream;
    uint64_t time; /* microseconds since 1970 */
    const asc_dump_value *in, *out;
    uint32_t n_in, n_out;
} asc_dumped;

/* Writes TYPE.NAME.TASK.STREAM.TIME into the folder, which is made: 8 bytes of length, that many of a protobuf
 * (toolkit.dumpdata.DumpData), the tensors' bytes. A name of more than 255 characters is a number in mapping.csv
 * instead. False, with errno set, when it can't be written. */
bool asc_dump_write(const char *folder, const asc_dumped *dumped);
/* As asc_dump_write, but a table TYPE.NAME.TASK.STREAM.TIME.csv of numbers about each tensor. */
bool asc_dump_write_stats(const char *folder, const asc_dumped *dumped);

/* Anything but letters, digits, '_' and '-' becomes '_', as in the names of files. */
void asc_dump_file_name(char *text);

/* Of an element type, as "DT_FLOAT". */
const char *asc_dump_type_name(int32_t dtype);

/* The open file for an operator; NULL with errno set. */
FILE *asc_dump_open(const char *folder, const asc_dumped *dumped, const char *suffix);

#endif
