/* Fuzz entry into Python: the function FUZZ_TARGET of tests/hostile/fuzz_targets.py, which takes bytes and raises
 * only what is wrong; FUZZ_TARGET_mutate(bytes, seed), if there is one, changes them. The interpreter is the one
 * that ASCEND_EP_FUZZ_PYTHON names, ASCEND_EP_FUZZ_TARGETS the folder of that file. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string.h>

#include "fuzz_entry.h"

static PyObject *target, *mutator;

/* The interpreter keeps what it allocates. The sanitizer asks for this by name. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "detect_leaks=0:quarantine_size_mb=32";
}

static void fail(const char *what) {
    fprintf(stderr, "%s\n", what);
    PyErr_Print();
    abort();
}

static void start(void) {
    const char *python = getenv("ASCEND_EP_FUZZ_PYTHON"), *folder = getenv("ASCEND_EP_FUZZ_TARGETS");
    PyConfig config;
    PyConfig_InitPythonConfig(&config);
    if (!python || !folder) fail("ASCEND_EP_FUZZ_PYTHON and ASCEND_EP_FUZZ_TARGETS must be set");
    PyConfig_SetBytesString(&config, &config.program_name, python);
    config.install_signal_handlers = 0;
    PyStatus status = Py_InitializeFromConfig(&config);
    PyConfig_Clear(&config);
    if (PyStatus_Exception(status)) Py_ExitStatusException(status);
    PyObject *entry = PyUnicode_DecodeFSDefault(folder);
    if (!entry || PyList_Insert(PySys_GetObject("path"), 0, entry) != 0) fail("no path");
    PyObject *module = PyImport_ImportModule("fuzz_targets");
    target = module ? PyObject_GetAttrString(module, FUZZ_TARGET) : NULL;
    if (!target) fail("no such target: " FUZZ_TARGET);
    mutator = PyObject_GetAttrString(module, FUZZ_TARGET "_mutate");
    PyErr_Clear();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!target) start();
    PyObject *result = PyObject_CallFunction(target, "y#", (const char *)data, (Py_ssize_t)size);
    if (!result) fail("the target raised what it should not");
    Py_DECREF(result);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed) {
    if (!target) start();
    if (!mutator) return size;
    PyObject *made = PyObject_CallFunction(mutator, "y#I", (const char *)data, (Py_ssize_t)size, seed);
    if (!made || !PyBytes_Check(made)) fail("the mutator failed");
    size_t length = (size_t)PyBytes_GET_SIZE(made);
    if (length <= room) memcpy(data, PyBytes_AS_STRING(made), length);
    Py_DECREF(made);
    return length <= room ? length : size;
}
