// clang-format off: printed so.
#include "common.h"
#include "kernel_interface.h"

aclError LaunchLinearAddGeluKernel(
aclrtStream stream,
const float* x, int M, int K,
const float* w, int N,
const float* bias,
float* out
) {
// 1. 准备Tiling参数
LinearAddGeluTiling tiling;
tiling.M = M; tiling.N = N; tiling.K = K;
tiling.BM = 8; // 需根据性能测试调整
tiling.BN = 64; // 需对齐硬件
tiling.gridM = (M + tiling.BM - 1) / tiling.BM;
tiling.gridN = (N + tiling.BN - 1) / tiling.BN;
tiling.gelu_const = 0.044715f;
// 2. 将Tiling参数拷贝到设备端
void* tiling_dev = nullptr;
ACL_CHECK(aclrtMalloc(&tiling_dev, sizeof(tiling), ACL_MEM_TYPE_DEVICE));
ACL_CHECK(aclrtMemcpy(tiling_dev, sizeof(tiling), &tiling, sizeof(tiling),
ACL_MEMCPY_HOST_TO_DEVICE));
// 3. 计算启动的核数(总Block数)
int total_blocks = tiling.gridM * tiling.gridN;
// 4. 调用Runtime API启动核函数
ACL_CHECK(aclrtKernelLaunch(
(void*)LinearAddGeluKernel, // 核函数指针
total_blocks, // 启动的Block数
nullptr, // L2配置,高级优化用
stream, // 异步流
(void*)x, (void*)w, (void*)bias, (void*)out, (void*)tiling_dev // 核函数参数
));
// 5. 注意:tiling_dev的内存在stream任务完成后异步释放(需事件同步)
return ACL_SUCCESS;
}
