/* Runs the printed function beside its definition; prints the largest difference. */
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "acl/acl.h"

aclError LaunchLinearAddGeluKernel(aclrtStream stream, const float *x, int M, int K, const float *w, int N,
                                   const float *bias, float *out);

int main() {
    const int M = 33, N = 256, K = 24;
    std::vector<float> x(M * K), w(K * N), bias(N), out(M * N);
    unsigned seed = 1;
    for (std::vector<float> *t : {&x, &w, &bias})
        for (float &v : *t) v = float((seed = seed * 1664525u + 1013904223u) >> 8) / float(1 << 24) - 0.5f;
    aclrtStream stream;
    float *d_x, *d_w, *d_bias, *d_out;
    if (aclInit(nullptr) != ACL_SUCCESS || aclrtSetDevice(0) != ACL_SUCCESS) return 1;
    if (aclrtCreateStream(&stream) != ACL_SUCCESS) return 1;
    for (auto [address, t] : {std::pair(&d_x, &x), {&d_w, &w}, {&d_bias, &bias}, {&d_out, &out}})
        if (aclrtMalloc((void **)address, t->size() * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS)
            return 1;
    aclrtMemcpyH2D(d_x, x.data(), x.size() * sizeof(float));
    aclrtMemcpyH2D(d_w, w.data(), w.size() * sizeof(float));
    aclrtMemcpyH2D(d_bias, bias.data(), bias.size() * sizeof(float));
    LaunchLinearAddGeluKernel(stream, d_x, M, K, d_w, N, d_bias, d_out);
    aclrtMemcpyD2H(out.data(), d_out, out.size() * sizeof(float));
    double most = 0;
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) {
            double y = bias[n];
            for (int k = 0; k < K; k++) y += double(x[m * K + k]) * w[k * N + n];
            const double gelu = 0.5 * y * (1 + std::tanh(0.7978845608028654 * (y + 0.044715 * y * y * y)));
            most = std::max(most, std::fabs(gelu - out[m * N + n]));
        }
    std::printf("%.3g\n", most);
    return 0;
}
