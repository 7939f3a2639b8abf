#include <stdlib.h>

#include "plugin.h"

ort_status *list_read(ort_list *list, int slot, const void *of) {
    *list = (ort_list){0};
    TRY(ort_list_count(slot, of, &list->n));
    list->items = calloc(list->n + 1, sizeof *list->items);
    ort_status *status = list->items ? ort_list_items(slot, of, list->items, list->n) : fail_memory();
    if (status) list_free(list);
    return status;
}

void list_free(ort_list *list) {
    free(list->items);
    *list = (ort_list){0};
}
