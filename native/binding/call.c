/* call.c - ascend_ep.runtime._call: one run of a bound partition on numpy arrays, without Python between.
 *
 *   Call(bound, keep, inputs, outputs, failure)
 *
 * `bound` is the address of an asc_bound that lives as long as `keep`; inputs are (name, dtype, shape),
 * outputs (maker, dtype, shape), where maker() gives new memory; failure(address of an asc_status) gives the
 * exception of a run that failed.
 *
 *   run(feed, targets=None, ns=0) -> list of outputs, or None when this is no call for these operands
 *   run_at(address, ...) -> list of outputs, for inputs in order whose elements lie at these addresses, of the
 *     types and shapes of the Call, contiguous and aligned: the caller knows, and keeps them
 *
 * A feed is taken when it is a dict of exactly the inputs' names and arrays: numpy's own array type, that very
 * dtype object, that shape, contiguous and aligned. Of whatever else is given the caller makes sense.
 * `targets` has per output an array to write into, or None for new memory. `ns` is the address of room for two
 * uint64 per instruction, which get the nanoseconds of its start and end.
 *
 * Arrays are read through the head that they have had in all of numpy 1 and 2; check_layout holds it against
 * an array whose head is known before anything relies on it. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string.h>

#include "ascend_rt.h"

/* Inputs, and outputs, that a Call takes: a decoder has two of each for a layer. */
enum { MOST = 512 };
enum { NPY_CARRAY_RO = 0x101, NPY_WRITEABLE = 0x400 }; /* contiguous in C order and aligned; may be written */

typedef struct ndarray {
    PyObject_HEAD char *data;
    int nd;
    Py_ssize_t *dims;
    Py_ssize_t *strides;
    PyObject *base;
    PyObject *descr;
    int flags;
} ndarray;

typedef struct operand {
    PyObject *key; /* of an input its name, of an output its maker */
    PyObject *dtype;
    int rank;
    Py_ssize_t dims[ASC_MAX_RANK];
} operand;

typedef struct call {
    PyObject_HEAD asc_bound *bound;
    PyObject *keep;
    PyObject *failure;
    uint32_t n_in, n_out;
    operand *in, *out;
} call;

static PyTypeObject *array_type; /* numpy.ndarray once its layout is known, else NULL */

/* ---- running ------------------------------------------------------------------------------- */

static int fits(const operand *o, PyObject *given, int flags) {
    if (Py_TYPE(given) != array_type) return 0;
    const ndarray *a = (const ndarray *)given;
    if (a->descr != o->dtype || a->nd != o->rank || (a->flags & flags) != flags) return 0;
    return o->rank == 0 || memcmp(a->dims, o->dims, (size_t)o->rank * sizeof *o->dims) == 0;
}

/* New references to the arrays of a feed; 0 when it isn't for this call. */
static uint32_t take_inputs(const call *self, PyObject *feed, PyObject **arrays, const void **data) {
    if (!PyDict_CheckExact(feed) || PyDict_Size(feed) != (Py_ssize_t)self->n_in) return 0;
    for (uint32_t i = 0; i < self->n_in; i++) {
        PyObject *given = PyDict_GetItemWithError(feed, self->in[i].key);
        if (!given || !fits(&self->in[i], given, NPY_CARRAY_RO)) {
            while (i) Py_DECREF(arrays[--i]);
            return 0;
        }
        arrays[i] = given;
        Py_INCREF(given);
        data[i] = ((const ndarray *)given)->data;
    }
    return 1;
}

/* A list of the outputs' memory; NULL when a target doesn't fit or an exception is set. */
static PyObject *take_outputs(const call *self, PyObject *targets, void **data) {
    if (targets && (!PyList_CheckExact(targets) || PyList_Size(targets) != (Py_ssize_t)self->n_out)) return NULL;
    PyObject *results = PyList_New(self->n_out);
    for (uint32_t i = 0; results && i < self->n_out; i++) {
        const operand *o = &self->out[i];
        PyObject *array = targets ? PyList_GetItem(targets, i) : Py_None;
        if (array == Py_None)
            array = PyObject_CallNoArgs(o->key);
        else
            Py_INCREF(array);
        if (!array || !fits(o, array, NPY_CARRAY_RO | NPY_WRITEABLE)) {
            Py_XDECREF(array);
            Py_DECREF(results);
            return NULL;
        }
        PyList_SetItem(results, i, array);
        data[i] = ((const ndarray *)array)->data;
    }
    return results;
}

static void raise_failure(const call *self, const asc_status *status) {
    PyObject *error = PyObject_CallFunction(self->failure, "K", (unsigned long long)(uintptr_t)status);
    if (error) PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    Py_XDECREF(error);
}

/* Fills `results`, whose memory is `out`; NULL with an exception set where the run fails. */
static PyObject *executed(const call *self, const void **in, void **out, uint64_t *ns, PyObject *results) {
    asc_status status;
    int32_t code;
    Py_BEGIN_ALLOW_THREADS code = asc_execute(self->bound, in, out, ns, &status);
    Py_END_ALLOW_THREADS if (code == ASC_OK) return results;
    Py_DECREF(results);
    raise_failure(self, &status);
    return NULL;
}

static PyObject *run_at(PyObject *object, PyObject *const *args, Py_ssize_t n) {
    const call *self = (const call *)object;
    const void *in[MOST];
    void *out[MOST];
    if (n != (Py_ssize_t)self->n_in) return PyErr_Format(PyExc_TypeError, "run_at takes an address for each input");
    for (Py_ssize_t i = 0; i < n; i++) in[i] = PyLong_AsVoidPtr(args[i]);
    if (PyErr_Occurred()) return NULL;
    PyObject *results = take_outputs(self, NULL, out);
    if (results) return executed(self, in, out, NULL, results);
    return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_RuntimeError, "the memory of an output isn't what it was");
}

static PyObject *run(PyObject *object, PyObject *const *args, Py_ssize_t n) {
    const call *self = (const call *)object;
    PyObject *arrays[MOST], *results = NULL;
    const void *in[MOST];
    void *out[MOST];
    if (n < 1 || n > 3) return PyErr_Format(PyExc_TypeError, "run takes a feed, targets and room for times");
    uint64_t *ns = n == 3 ? PyLong_AsVoidPtr(args[2]) : NULL;
    if (PyErr_Occurred()) return NULL;
    if (take_inputs(self, args[0], arrays, in)) {
        results = take_outputs(self, n >= 2 && args[1] != Py_None ? args[1] : NULL, out);
        if (results) results = executed(self, in, out, ns, results);
        for (uint32_t i = 0; i < self->n_in; i++) Py_DECREF(arrays[i]);
    }
    if (results || PyErr_Occurred()) return results;
    Py_RETURN_NONE;
}

/* ---- the type ------------------------------------------------------------------------------ */

/* Reads (key, dtype, shape); 0 with an exception set when that isn't what it is. */
static int read_operand(PyObject *given, operand *out) {
    PyObject *key, *dtype, *shape;
    if (!PyArg_ParseTuple(given, "OOO!", &key, &dtype, &PyTuple_Type, &shape)) return 0;
    if (PyTuple_Size(shape) > ASC_MAX_RANK) {
        PyErr_SetString(PyExc_ValueError, "an operand has too many dimensions");
        return 0;
    }
    out->rank = (int)PyTuple_Size(shape);
    for (int i = 0; i < out->rank; i++) out->dims[i] = PyLong_AsSsize_t(PyTuple_GetItem(shape, i));
    if (PyErr_Occurred()) return 0;
    Py_INCREF(key);
    Py_INCREF(dtype);
    out->key = key;
    out->dtype = dtype;
    return 1;
}

static int read_operands(PyObject *given, operand **out, uint32_t *n) {
    Py_ssize_t count = PyTuple_Size(given);
    if (count > MOST) {
        PyErr_Format(PyExc_ValueError, "a Call takes up to %d inputs and outputs", MOST);
        return 0;
    }
    *out = PyMem_Calloc((size_t)count, sizeof **out);
    if (!*out) return PyErr_NoMemory() != NULL;
    for (; *n < count; ++*n)
        if (!read_operand(PyTuple_GetItem(given, *n), &(*out)[*n])) return 0;
    return 1;
}

static PyObject *make(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    unsigned long long bound;
    PyObject *keep, *inputs, *outputs, *failure;
    (void)keywords;
    if (!PyArg_ParseTuple(args, "KOO!O!O", &bound, &keep, &PyTuple_Type, &inputs, &PyTuple_Type, &outputs, &failure))
        return NULL;
    if (!array_type) return PyErr_Format(PyExc_RuntimeError, "the layout of numpy's arrays isn't known");
    call *self = (call *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (!self) return NULL;
    self->bound = (asc_bound *)(uintptr_t)bound;
    Py_INCREF(keep);
    Py_INCREF(failure);
    self->keep = keep;
    self->failure = failure;
    if (read_operands(inputs, &self->in, &self->n_in) && read_operands(outputs, &self->out, &self->n_out))
        return (PyObject *)self;
    Py_DECREF(self);
    return NULL;
}

static void drop_operands(operand *operands, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        Py_DECREF(operands[i].key);
        Py_DECREF(operands[i].dtype);
    }
    PyMem_Free(operands);
}

static void destroy(PyObject *object) {
    call *self = (call *)object;
    PyTypeObject *type = Py_TYPE(object);
    drop_operands(self->in, self->n_in);
    drop_operands(self->out, self->n_out);
    Py_XDECREF(self->keep);
    Py_XDECREF(self->failure);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

/* ---- the module ---------------------------------------------------------------------------- */

/* check_layout(ndarray, array, address, dtype, shape): whether the head of this contiguous, writable array
 * says what numpy says about it. Calls can be made once it has. */
static PyObject *check_layout(PyObject *module, PyObject *args) {
    PyObject *type, *dtype, *array;
    unsigned long long address;
    operand known = {0};
    (void)module;
    if (!PyArg_ParseTuple(args, "OOKO", &type, &array, &address, &dtype)) return NULL;
    known.dtype = dtype;
    known.rank = 2;
    known.dims[0] = 2;
    known.dims[1] = 3;
    array_type = (PyTypeObject *)type;
    const ndarray *a = (const ndarray *)array;
    if (!fits(&known, array, NPY_CARRAY_RO | NPY_WRITEABLE) || (unsigned long long)(uintptr_t)a->data != address)
        array_type = NULL;
    if (array_type) Py_INCREF(type);
    return PyBool_FromLong(array_type != NULL);
}

static PyMethodDef call_methods[] = {
    {"run", (PyCFunction)(void (*)(void))run, METH_FASTCALL, "The outputs for this feed; None when it isn't for this."},
    {"run_at", (PyCFunction)(void (*)(void))run_at, METH_FASTCALL, "The outputs for inputs at these addresses."},
    {0}};
static PyType_Slot call_slots[] = {
    {Py_tp_new, make}, {Py_tp_dealloc, destroy}, {Py_tp_methods, call_methods}, {0, NULL}};
static PyType_Spec call_spec = {"ascend_ep.runtime._call.Call", sizeof(call), 0, Py_TPFLAGS_DEFAULT, call_slots};
static PyMethodDef module_methods[] = {{"check_layout", check_layout, METH_VARARGS, "Whether arrays can be read."},
                                       {0}};
static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "ascend_ep.runtime._call", NULL, -1, module_methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__call(void) {
    PyObject *made = PyModule_Create(&module), *type = made ? PyType_FromSpec(&call_spec) : NULL;
    if (type && PyModule_AddObjectRef(made, "Call", type) == 0 && PyModule_AddIntConstant(made, "MOST", MOST) == 0) {
        Py_DECREF(type);
        return made;
    }
    Py_XDECREF(type);
    Py_XDECREF(made);
    return NULL;
}
