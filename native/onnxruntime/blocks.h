/* blocks.h - memory that is given out again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef ASC_EP_BLOCKS_H
#define ASC_EP_BLOCKS_H

#include <stddef.h>

#define BLOCK_LINE 64         /* every block begins at a cache line */
#define BLOCK_PAGE 4096       /* and one of BLOCK_LARGE bytes or more at a page */
#define BLOCK_LARGE (1 << 16) /* large blocks that are given back are kept for the next */
#define BLOCK_HUGE (1 << 22)  /* and from here on in huge pages, where the system has them */
#define BLOCKS_IDLE_MOST 64

/* Any number of threads may use a pool. It holds at most as many bytes of large blocks, given out and kept, as were
 * given out at one time. */
typedef struct block_pool block_pool;

block_pool *blocks_create(void);       /* NULL without memory */
void blocks_release(block_pool *pool); /* every block has been given back; NULL is nothing */
void blocks_shrink(block_pool *pool);  /* frees what is kept */
size_t blocks_kept(block_pool *pool);  /* bytes */

void *blocks_take(block_pool *pool, size_t bytes); /* NULL without memory */
void *blocks_take_once(size_t bytes);              /* the same, but freed when given back */
void blocks_give(block_pool *pool, void *block);   /* NULL is nothing */

#endif
