/* The memory of a session's tensors: what onnxruntime calls an allocator. Its own gives memory that begins 64 bytes
 * into a page, while inputs of numpy begin 16 bytes into one: a kernel that walks through both then reads where, but
 * for the page, it has just written, and CPUs wait for such stores. Here large tensors begin at a page.
 *
 * It is offered for the CPU's memory itself, so tensors pass between providers as they are; the first provider of a
 * session that offers some gives all of it, to the CPU provider's nodes, too. */
#include <stdlib.h>

#include "blocks.h"
#include "plugin.h"

typedef struct memory {
    ort_allocator base; /* first: what onnxruntime sees */
    const ort_memory_info *info;
    block_pool *blocks;
} memory;

static void *take(ort_allocator *self, size_t bytes) {
    return blocks_take(((memory *)self)->blocks, bytes);
}

static void *reserve(ort_allocator *self, size_t bytes) {
    (void)self;
    return blocks_take_once(bytes); /* for weights: what is freed while a session is made isn't wanted again */
}

static void give(ort_allocator *self, void *block) {
    blocks_give(((memory *)self)->blocks, block);
}

static const ort_memory_info *get_info(const ort_allocator *self) {
    return ((const memory *)self)->info;
}

/* What the run option memory.enable_memory_arena_shrinkage asks for. */
static ort_status *shrink(ort_allocator *self) {
    blocks_shrink(((memory *)self)->blocks);
    return NULL;
}

ort_status *memory_create(const ort_memory_info *info, ort_allocator **out) {
    memory *self = calloc(1, sizeof *self);
    if (self) self->blocks = blocks_create();
    if (!self || !self->blocks) {
        free(self);
        return fail_memory();
    }
    self->base = (ort_allocator){
        .version = ort.version,
        .alloc = take,
        .free = give,
        .info = get_info,
        .reserve = reserve,
        .shrink = shrink,
    };
    self->info = info;
    *out = &self->base;
    return NULL;
}

void memory_release(ort_allocator *allocator) {
    memory *self = (memory *)allocator;
    if (!self) return;
    blocks_release(self->blocks);
    free(self);
}
