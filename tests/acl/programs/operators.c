/* operators.c - `operators FOLDER`: runs single operators: one loaded from the folder, one compiled, a conversion, a
 * product. Prints a line for each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl.h"
#include "acl/acl_op_compiler.h"
#include "acl/ops/acl_cblas.h"

static aclrtStream stream;

static aclDataBuffer *buffer(const void *from, size_t bytes) {
    void *at;
    if (aclrtMalloc(&at, bytes, ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS) exit(3);
    aclrtMemcpy(at, bytes, from, bytes, ACL_MEMCPY_HOST_TO_DEVICE);
    return aclCreateDataBuffer(at, bytes);
}

static void show(const char *name, aclError code, aclDataBuffer *result, size_t count) {
    float values[16];
    aclError after = aclrtSynchronizeStream(stream);
    aclrtMemcpy(values, count * sizeof(float), aclGetDataBufferAddr(result), count * sizeof(float),
                ACL_MEMCPY_DEVICE_TO_HOST);
    const char *text = code ? aclGetRecentErrMsg() : NULL;
    printf("%s %d %d", name, code, after);
    for (size_t i = 0; !code && i < count; i++) printf(" %g", values[i]);
    printf("%s%s", text ? " " : "\n", text ? text : "");
}

int main(int argc, char **argv) {
    static const float x[6] = {0, 1, 2, 3, 4, 5}, zeros[16];
    static const int32_t whole[6] = {7, -8, 9, 1, 2, 3};
    int64_t dims[2] = {2, 3}, axes[1] = {-1}, first[1] = {0};
    aclInit(NULL);
    aclrtSetDevice(0);
    aclrtCreateStream(&stream);
    if (argc < 2 || aclopSetModelDir(argv[1]) != ACL_SUCCESS) return 2;
    aclTensorDesc *desc = aclCreateTensorDesc(ACL_FLOAT, 2, dims, ACL_FORMAT_ND);
    aclTensorDesc *ints = aclCreateTensorDesc(ACL_INT32, 2, dims, ACL_FORMAT_ND);
    aclDataBuffer *in = buffer(x, sizeof x), *out = buffer(zeros, sizeof x), *numbers = buffer(whole, sizeof whole);
    aclTensorDesc *one[] = {desc}, *two[] = {desc, desc};
    aclDataBuffer *in_one[] = {in}, *in_two[] = {in, in}, *outs[] = {out};
    aclopAttr *attr = aclopCreateAttr();

    show("loaded", aclopExecuteV2("Add", 2, two, in_two, 1, one, outs, NULL, stream), out, 6);
    show("absent", aclopExecuteV2("Sub", 2, two, in_two, 1, one, outs, NULL, stream), out, 6);
    show("other types", aclopExecuteV2("Add", 2, (aclTensorDesc *[]){ints, ints}, in_two, 1, one, outs, NULL, stream),
         out, 6);
    aclopHandle *handle = NULL;
    aclError code = aclopCreateHandle("Add", 2, (const aclTensorDesc *const *)two, 1, (const aclTensorDesc *const *)one,
                                      NULL, &handle);
    printf("handle %d\n", code);
    aclrtMemset(aclGetDataBufferAddr(out), sizeof x, 0, sizeof x);
    show("by handle", aclopExecWithHandle(handle, 2, (const aclDataBuffer *const *)in_two, 1, outs, stream), out, 6);
    printf("too few %d\n", aclopExecWithHandle(handle, 1, (const aclDataBuffer *const *)in_two, 1, outs, stream));
    aclopDestroyHandle(handle);
    printf("gone %d\n", aclopExecWithHandle(handle, 2, (const aclDataBuffer *const *)in_two, 1, outs, stream));
    aclopSetAttrListInt(attr, "axes", 1, axes);
    show("softmax", aclopExecuteV2("SoftmaxV2", 1, one, in_one, 1, one, outs, attr, stream), out, 6);
    aclopSetAttrListInt(attr, "axes", 1, first);
    show("other attributes", aclopExecuteV2("SoftmaxV2", 1, one, in_one, 1, one, outs, attr, stream), out, 6);
    show("cast", aclopCast(ints, numbers, desc, out, 0, stream), out, 6);
    show("compiled",
         aclopCompileAndExecute("Mul", 2, (const aclTensorDesc *const *)two, (const aclDataBuffer *const *)in_two, 1,
                                (const aclTensorDesc *const *)one, outs, NULL, ACL_ENGINE_SYS, ACL_COMPILE_SYS, NULL,
                                stream),
         out, 6);

    /* A row of three and one number: the bundle of the one isn't the other's. */
    aclTensorDesc *row = aclCreateTensorDesc(ACL_FLOAT, 1, dims + 1, ACL_FORMAT_ND);
    aclTensorDesc *scalar = aclCreateTensorDesc(ACL_FLOAT, 0, NULL, ACL_FORMAT_ND);
    aclDataBuffer *three = buffer(x + 1, 3 * sizeof *x), *number = buffer(x + 5, sizeof *x);
    aclopAttr *shape = aclopCreateAttr();
    aclopSetAttrListInt(shape, "shape", 2, dims);
    show("row",
         aclopCompileAndExecuteV2("BroadcastToD", 1, &row, &three, 1, one, outs, shape, ACL_ENGINE_SYS, ACL_COMPILE_SYS,
                                  NULL, stream),
         out, 6);
    show("number",
         aclopCompileAndExecuteV2("BroadcastToD", 1, &scalar, &number, 1, one, outs, shape, ACL_ENGINE_SYS,
                                  ACL_COMPILE_SYS, NULL, stream),
         out, 6);

    /* A precision that is set to nothing is the types' own. */
    static const float tenths[6] = {0.1f, 0.2f, 0.3f, 0.4f, 0.6f, 0.7f};
    aclDataBuffer *exact[] = {buffer(tenths, sizeof tenths)};
    aclSetCompileopt(ACL_PRECISION_MODE, "");
    show("exact",
         aclopCompileAndExecuteV2("Neg", 1, one, exact, 1, one, outs, NULL, ACL_ENGINE_SYS, ACL_COMPILE_SYS, NULL,
                                  stream),
         out, 6);

    /* [2,3] by its own transpose, twice, and one of what is there. */
    static const float scale[2] = {2, 1};
    aclDataBuffer *scales = buffer(scale, sizeof scale), *square = buffer(x, 4 * sizeof(float));
    const float *alpha = aclGetDataBufferAddr(scales), *beta = alpha + 1;
    show("product",
         aclblasGemmEx(ACL_TRANS_N, ACL_TRANS_T, ACL_TRANS_N, 2, 2, 3, alpha, aclGetDataBufferAddr(in), -1, ACL_FLOAT,
                       aclGetDataBufferAddr(in), -1, ACL_FLOAT, beta, aclGetDataBufferAddr(square), -1, ACL_FLOAT,
                       ACL_COMPUTE_HIGH_PRECISION, stream),
         square, 4);
    return 0;
}
