/* usage.h - what `npu-smi info` shows of this process: a file with the bytes that it has on each device. */
#ifndef ASC_ACL_USAGE_H
#define ASC_ACL_USAGE_H

#include <stdint.h>

/* The bytes on each of `devices` devices, written at most a few times in a second; 0 everywhere removes the file. */
void asc_usage_write(const uint64_t *used, uint32_t devices);

#endif
