/* rank_table.h - the JSON file that lists the ranks of a communicator, and the devices that they are on. */
#ifndef ASC_HCCL_RANK_TABLE_H
#define ASC_HCCL_RANK_TABLE_H

#include "segment.h"

/* Ranks whose tables are equal, be they copies, belong together. */
typedef struct asc_rank_table {
    uint32_t ranks;
    int32_t devices[ASC_MAX_RANKS]; /* device_id of each rank */
} asc_rank_table;

/* Fails unless it is the table of one host, with each rank from 0 on once. */
HcclResult asc_rank_table_read(const char *path, asc_rank_table *table);

#endif
