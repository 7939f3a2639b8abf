/* The factory: one object for the life of the process, because onnxruntime may release a session's
 * provider through it after the library was unregistered. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

#define TEXT(x) #x
#define TEXT_OF(x) TEXT(x)

enum { VENDOR_ID = 0x19E5, DEVICE_ID = 0, ORT_KEEPS_ALLOCATORS = 28 };

ort_tables ort;

static struct {
    ort_ep_factory base;
    ort_hardware *device;    /* ours to release; NULL when the CPU's device is used */
    ort_memory_info *memory; /* the CPU's */
    _Atomic int32_t users;   /* registrations: a second one that onnxruntime refuses must not take the device away */
} factory;

/* The minor version in "1.31.1" is the API version; asking get_api for a newer one prints to stderr. */
static uint32_t runtime_version(const ort_api_base *base) {
    const char *text = base->version_string();
    if (strncmp(text, "1.", 2) != 0) return 0;
    return (uint32_t)strtoul(text + 2, NULL, 10);
}

ort_status *plugin_bind(const ort_api_base *base) {
    uint32_t version = runtime_version(base);
    if (version > ORT_WRITTEN_AGAINST) version = ORT_WRITTEN_AGAINST;
    const ort_fn *api = base->get_api(version ? version : 1);
    if (!api) return NULL;
    ort.api = api;
    if (version < ORT_OLDEST)
        return fail(ORT_NOT_IMPLEMENTED, "needs onnxruntime 1.25 or newer; this is ", base->version_string());
    ort.ep = ort_ep_table();
    ort.editor = ort_editor_table();
    ort.version = version;
    return NULL;
}

static const char *get_name(const ort_ep_factory *self) {
    (void)self;
    return ASC_EP_NAME;
}

static const char *get_vendor(const ort_ep_factory *self) {
    (void)self;
    return "ascend-ep";
}

static uint32_t get_vendor_id(const ort_ep_factory *self) {
    (void)self;
    return VENDOR_ID;
}

static const char *get_version(const ort_ep_factory *self) {
    (void)self;
    return TEXT_OF(ASC_PACKAGE_VERSION);
}

/* A device of our own, so that importing the package never captures the policies that choose among
 * CPU providers. It is simulated, and says so. */
static ort_status *simulated_device(const ort_hardware **out) {
    if (!factory.device) {
        ort_pairs *metadata = NULL;
        ort_create_pairs(&metadata);
        if (!metadata) return fail_memory();
        ort_add_pair(metadata, "Description", "simulated Ascend NPU: runs on the CPU");
        ort_add_pair(metadata, "Simulated", "1");
        ort_status *status =
            ort_create_hardware(ORT_DEVICE_NPU, VENDOR_ID, DEVICE_ID, "ascend-ep", metadata, &factory.device);
        ort_release_pairs(metadata);
        TRY(status);
    }
    *out = factory.device;
    return NULL;
}

static ort_status *choose_device(const ort_hardware *const *devices, size_t n, const ort_hardware **out) {
    if (ort.version >= 24) return simulated_device(out);
    for (size_t i = 0; i < n && !*out; i++)
        if (ort_hardware_type(devices[i]) == ORT_DEVICE_CPU) *out = devices[i];
    return NULL;
}

/* Releases before 1.28 release a provider's allocator through the provider, and do so when the last tensor goes: after
 * the provider has gone, if a result outlives its session. */
static ort_status *offer_memory(ort_ep_device *device) {
    if (ort.version < ORT_KEEPS_ALLOCATORS) return NULL;
    if (!factory.memory) TRY(ort_create_cpu_memory_info(ORT_DEVICE_ALLOCATOR, ORT_MEMORY_DEFAULT, &factory.memory));
    return ort_add_allocator_info(device, factory.memory);
}

static ort_status *get_supported_devices(ort_ep_factory *self, const ort_hardware *const *devices, size_t n_devices,
                                         ort_ep_device **out, size_t max, size_t *n) {
    const ort_hardware *device = NULL;
    *n = 0;
    if (max < 1) return NULL;
    TRY(choose_device(devices, n_devices, &device));
    if (!device) return NULL;
    TRY(ort_create_ep_device(self, device, NULL, NULL, &out[0]));
    *n = 1;
    return offer_memory(out[0]);
}

static ort_status *create_ep(ort_ep_factory *self, const ort_hardware *const *devices, const ort_pairs *const *metadata,
                             size_t n_devices, const ort_session_options *options, const ort_logger *logger,
                             ort_ep **out) {
    (void)self, (void)devices, (void)metadata, (void)n_devices;
    return ep_create(options, logger, out);
}

static void release_ep(ort_ep_factory *self, ort_ep *ep) {
    (void)self;
    ep_release(ep);
}

static ort_status *create_allocator(ort_ep_factory *self, const ort_memory_info *info, const ort_pairs *options,
                                    ort_allocator **out) {
    (void)self, (void)options;
    return memory_create(info, out);
}

static void release_allocator(ort_ep_factory *self, ort_allocator *allocator) {
    (void)self;
    memory_release(allocator);
}

static ort_status *create_data_transfer(ort_ep_factory *self, void **out) {
    (void)self;
    *out = NULL; /* our tensors live in CPU memory */
    return NULL;
}

static bool is_stream_aware(const ort_ep_factory *self) {
    (void)self;
    return false;
}

ASC_API ort_status *CreateEpFactories(const char *registration, const ort_api_base *base, const ort_logger *logger,
                                      ort_ep_factory **out, size_t max, size_t *n);
ASC_API ort_status *ReleaseEpFactory(ort_ep_factory *self);

ort_status *CreateEpFactories(const char *registration, const ort_api_base *base, const ort_logger *logger,
                              ort_ep_factory **out, size_t max, size_t *n) {
    (void)registration, (void)logger;
    *n = 0;
    TRY(plugin_bind(base));
    if (!ort.api) return NULL; /* nothing to report an error with */
    if (max < 1) return fail(ORT_INVALID_ARGUMENT, "no room for a factory", NULL);
    factory.base = (ort_ep_factory){
        .version = ort.version,
        .name = get_name,
        .vendor = get_vendor,
        .supported_devices = get_supported_devices,
        .create_ep = create_ep,
        .release_ep = release_ep,
        .vendor_id = get_vendor_id,
        .version_text = get_version,
        .create_allocator = create_allocator,
        .release_allocator = release_allocator,
        .create_data_transfer = create_data_transfer,
        .is_stream_aware = is_stream_aware,
    };
    atomic_fetch_add(&factory.users, 1);
    out[0] = &factory.base;
    *n = 1;
    return NULL;
}

ort_status *ReleaseEpFactory(ort_ep_factory *self) {
    (void)self;
    if (atomic_fetch_sub(&factory.users, 1) != 1) return NULL;
    if (factory.device) ort_release_hardware(factory.device);
    if (factory.memory) ort_release_memory_info(factory.memory);
    factory.device = NULL;
    factory.memory = NULL;
    return NULL;
}
