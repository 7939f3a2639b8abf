/* unsupported.c - functions of AscendCL that have no meaning on a CPU, or none here yet: they say what and why, and
 * return ACL_ERROR_FEATURE_UNSUPPORTED; those that return something else return none of it. */
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "acl/acl.h"
#include "acl/acl_op_compiler.h"
#include "acl/acl_prof.h"
#include "acl/acl_tdt.h"
#include "acl/ops/acl_cblas.h"
#include "acl/ops/acl_dvpp.h"
#include "acl/ops/acl_fv.h"
#include "error.h"

#define NOT_HERE(name, parameters, why)                                               \
    aclError name parameters {                                                        \
        ASC_ENTER();                                                                  \
        return asc_acl_fail(ACL_ERROR_FEATURE_UNSUPPORTED, "not supported: %s", why); \
    }
#define NONE_HERE(type, name, parameters, none, why)                           \
    type name parameters {                                                     \
        ASC_ENTER();                                                           \
        asc_acl_fail(ACL_ERROR_FEATURE_UNSUPPORTED, "not supported: %s", why); \
        return none;                                                           \
    }

#define CHIP "it asks for what only a chip has"
NOT_HERE(aclrtGetDeviceUtilizationRate, (int32_t deviceId, aclrtUtilizationInfo *utilizationInfo), CHIP);
NOT_HERE(aclrtGetDeviceCapability, (int32_t deviceId, aclrtDevFeatureType devFeatureType, int32_t *value), CHIP);
NOT_HERE(aclrtDeviceTaskAbort, (int32_t deviceId, uint32_t timeout), CHIP);
NOT_HERE(aclrtSetDeviceTaskAbortCallback, (const char *regName, aclrtDeviceTaskAbortCallback callback, void *args),
         CHIP);
NOT_HERE(aclrtRegDeviceStateCallback, (const char *regName, aclrtDeviceStateCallback callback, void *args), CHIP);
NOT_HERE(aclrtActiveStream, (aclrtStream activeStream, aclrtStream stream), CHIP);
NOT_HERE(aclmdlCreateAndGetOpDesc,
         (uint32_t deviceId, uint32_t streamId, uint32_t taskId, char *opName, size_t opNameLen,
          aclTensorDesc **inputDesc, size_t *numInputs, aclTensorDesc **outputDesc, size_t *numOutputs),
         CHIP);
NONE_HERE(const char *, aclmdlGetOpAttr, (aclmdlDesc * modelDesc, const char *opName, const char *attr), NULL, CHIP);
NOT_HERE(aclmdlSetExternalWeightAddress,
         (aclmdlConfigHandle * handle, const char *weightFileName, void *devPtr, size_t size), CHIP);
NOT_HERE(aclmdlQueryExeOMDesc, (const char *fileName, void *mdlPartitionSize), CHIP);

#define LIMITS "a device has the CPUs of the process (ASCEND_EP_THREADS)"
NOT_HERE(aclrtGetDeviceResLimit, (int32_t deviceId, aclrtDevResLimitType type, uint32_t *value), LIMITS);
NOT_HERE(aclrtSetDeviceResLimit, (int32_t deviceId, aclrtDevResLimitType type, uint32_t value), LIMITS);
NOT_HERE(aclrtResetDeviceResLimit, (int32_t deviceId), LIMITS);
NOT_HERE(aclrtGetStreamResLimit, (aclrtStream stream, aclrtDevResLimitType type, uint32_t *value), LIMITS);
NOT_HERE(aclrtSetStreamResLimit, (aclrtStream stream, aclrtDevResLimitType type, uint32_t value), LIMITS);
NOT_HERE(aclrtResetStreamResLimit, (aclrtStream stream), LIMITS);
NOT_HERE(aclrtUseStreamResInCurrentThread, (aclrtStream stream), LIMITS);
NOT_HERE(aclrtUnuseStreamResInCurrentThread, (aclrtStream stream), LIMITS);
NOT_HERE(aclrtGetResInCurrentThread, (aclrtDevResLimitType type, uint32_t *value), LIMITS);

#define OVERFLOW "overflows give infinities and raise no flag"
NOT_HERE(aclrtGetOverflowStatus, (void *outputAddr, size_t outputSize, aclrtStream stream), OVERFLOW);
NOT_HERE(aclrtResetOverflowStatus, (aclrtStream stream), OVERFLOW);
NOT_HERE(aclrtCtxGetFloatOverflowAddr, (void **overflowAddr), OVERFLOW);

#define ALLOCATORS "memory of models comes from the runtime"
NONE_HERE(aclrtAllocatorDesc, aclrtAllocatorCreateDesc, (void), NULL, ALLOCATORS);
NOT_HERE(aclrtAllocatorDestroyDesc, (aclrtAllocatorDesc allocatorDesc), ALLOCATORS);
NOT_HERE(aclrtAllocatorSetObjToDesc, (aclrtAllocatorDesc allocatorDesc, aclrtAllocator allocator), ALLOCATORS);
NOT_HERE(aclrtAllocatorSetAllocFuncToDesc, (aclrtAllocatorDesc allocatorDesc, aclrtAllocatorAllocFunc func),
         ALLOCATORS);
NOT_HERE(aclrtAllocatorSetFreeFuncToDesc, (aclrtAllocatorDesc allocatorDesc, aclrtAllocatorFreeFunc func), ALLOCATORS);
NOT_HERE(aclrtAllocatorSetAllocAdviseFuncToDesc, (aclrtAllocatorDesc allocatorDesc, aclrtAllocatorAllocAdviseFunc func),
         ALLOCATORS);
NOT_HERE(aclrtAllocatorSetGetAddrFromBlockFuncToDesc,
         (aclrtAllocatorDesc allocatorDesc, aclrtAllocatorGetAddrFromBlockFunc func), ALLOCATORS);
NOT_HERE(aclrtAllocatorRegister, (aclrtStream stream, aclrtAllocatorDesc allocatorDesc), ALLOCATORS);
NOT_HERE(aclrtAllocatorUnregister, (aclrtStream stream), ALLOCATORS);
NOT_HERE(aclrtAllocatorGetByStream,
         (aclrtStream stream, aclrtAllocatorDesc *allocatorDesc, aclrtAllocator *allocator,
          aclrtAllocatorAllocFunc *allocFunc, aclrtAllocatorFreeFunc *freeFunc,
          aclrtAllocatorAllocAdviseFunc *allocAdviseFunc, aclrtAllocatorGetAddrFromBlockFunc *getAddrFromBlockFunc),
         ALLOCATORS);

#define MAPPING "physical and virtual memory are one here; use aclrtMalloc"
NOT_HERE(aclrtReserveMemAddress, (void **virPtr, size_t size, size_t alignment, void *expectPtr, uint64_t flags),
         MAPPING);
NOT_HERE(aclrtReleaseMemAddress, (void *virPtr), MAPPING);
NOT_HERE(aclrtMallocPhysical,
         (aclrtDrvMemHandle * handle, size_t size, const aclrtPhysicalMemProp *prop, uint64_t flags), MAPPING);
NOT_HERE(aclrtFreePhysical, (aclrtDrvMemHandle handle), MAPPING);
NOT_HERE(aclrtMapMem, (void *virPtr, size_t size, size_t offset, aclrtDrvMemHandle handle, uint64_t flags), MAPPING);
NOT_HERE(aclrtUnmapMem, (void *virPtr), MAPPING);
NOT_HERE(aclrtMemGetAllocationGranularity,
         (aclrtPhysicalMemProp * prop, aclrtMemGranularityOptions option, size_t *granularity), MAPPING);

#define SHARING "memory of simulated devices is that of one process"
NOT_HERE(aclrtMemExportToShareableHandle,
         (aclrtDrvMemHandle handle, aclrtMemHandleType handleType, uint64_t flags, uint64_t *shareableHandle), SHARING);
NOT_HERE(aclrtMemImportFromShareableHandle, (uint64_t shareableHandle, int32_t deviceId, aclrtDrvMemHandle *handle),
         SHARING);
NOT_HERE(aclrtMemSetPidToShareableHandle, (uint64_t shareableHandle, int32_t *pid, size_t pidNum), SHARING);
NOT_HERE(aclrtDeviceGetBareTgid, (int32_t *pid), SHARING);
NOT_HERE(aclrtIpcMemGetExportKey, (void *devPtr, size_t size, char *key, size_t len, uint64_t flags), SHARING);
NOT_HERE(aclrtIpcMemImportByKey, (void **devPtr, const char *key, uint64_t flags), SHARING);
NOT_HERE(aclrtIpcMemClose, (const char *key), SHARING);
NOT_HERE(aclrtIpcMemSetImportPid, (const char *key, int32_t *pid, size_t num), SHARING);

#define KERNELS "kernels of a chip can not run on a CPU: their binaries have no addresses on it"
NOT_HERE(aclrtBinaryGetFunctionByEntry, (aclrtBinHandle binHandle, uint64_t funcEntry, aclrtFuncHandle *funcHandle),
         KERNELS);
NOT_HERE(aclrtBinaryGetDevAddress, (const aclrtBinHandle binHandle, void **binAddr, size_t *binSize), KERNELS);
NOT_HERE(aclrtGetFunctionAddr, (aclrtFuncHandle funcHandle, void **aicAddr, void **aivAddr), KERNELS);
NOT_HERE(aclrtKernelArgsGetMemSize, (aclrtFuncHandle funcHandle, size_t userArgsSize, size_t *actualArgsSize), KERNELS);
NOT_HERE(aclrtKernelArgsGetHandleMemSize, (aclrtFuncHandle funcHandle, size_t *memSize), KERNELS);
NOT_HERE(aclrtKernelArgsInitByUserMem,
         (aclrtFuncHandle funcHandle, aclrtArgsHandle argsHandle, void *userHostMem, size_t actualArgsSize), KERNELS);

#define QUEUES "models fed by queues are not supported; execute with datasets"
NOT_HERE(aclmdlLoadFromFileWithQ,
         (const char *modelPath, uint32_t *modelId, const uint32_t *inputQ, size_t inputQNum, const uint32_t *outputQ,
          size_t outputQNum),
         QUEUES);
NOT_HERE(aclmdlLoadFromMemWithQ,
         (const void *model, size_t modelSize, uint32_t *modelId, const uint32_t *inputQ, size_t inputQNum,
          const uint32_t *outputQ, size_t outputQNum),
         QUEUES);

#define BUNDLES "bundles hold one model each; load them one by one"
NOT_HERE(aclmdlBundleLoadFromFile, (const char *modelPath, uint32_t *bundleId), BUNDLES);
NOT_HERE(aclmdlBundleLoadFromMem, (const void *model, size_t modelSize, uint32_t *bundleId), BUNDLES);
NOT_HERE(aclmdlBundleUnload, (uint32_t bundleId), BUNDLES);
NOT_HERE(aclmdlBundleGetModelNum, (uint32_t bundleId, size_t *modelNum), BUNDLES);
NOT_HERE(aclmdlBundleGetModelId, (uint32_t bundleId, size_t index, uint32_t *modelId), BUNDLES);
NONE_HERE(aclmdlBundleQueryInfo *, aclmdlBundleCreateQueryInfo, (void), NULL, BUNDLES);
NOT_HERE(aclmdlBundleDestroyQueryInfo, (aclmdlBundleQueryInfo * queryInfo), BUNDLES);
NOT_HERE(aclmdlBundleQueryInfoFromFile, (const char *fileName, aclmdlBundleQueryInfo *queryInfo), BUNDLES);

#define CAPTURE "streams are not captured; bring the work again"
NOT_HERE(aclmdlRICaptureBegin, (aclrtStream stream, aclmdlRICaptureMode mode), CAPTURE);
NOT_HERE(aclmdlRICaptureEnd, (aclrtStream stream, aclmdlRI *modelRI), CAPTURE);
NOT_HERE(aclmdlRICaptureThreadExchangeMode, (aclmdlRICaptureMode * mode), CAPTURE);
NOT_HERE(aclmdlRICaptureTaskGrpBegin, (aclrtStream stream), CAPTURE);
NOT_HERE(aclmdlRICaptureTaskGrpEnd, (aclrtStream stream, aclrtTaskGrp *handle), CAPTURE);
NOT_HERE(aclmdlRICaptureTaskUpdateBegin, (aclrtStream stream, aclrtTaskGrp handle), CAPTURE);
NOT_HERE(aclmdlRICaptureTaskUpdateEnd, (aclrtStream stream), CAPTURE);
NOT_HERE(aclmdlRIExecute, (aclmdlRI modelRI, int32_t timeout), CAPTURE);
NOT_HERE(aclmdlRIExecuteAsync, (aclmdlRI modelRI, aclrtStream stream), CAPTURE);
NOT_HERE(aclmdlRIDestroy, (aclmdlRI modelRI), CAPTURE);
NOT_HERE(aclmdlRIDebugPrint, (aclmdlRI modelRI), CAPTURE);
NOT_HERE(aclmdlRIDebugJsonPrint, (aclmdlRI modelRI, const char *path, uint32_t flags), CAPTURE);

#define AIPP "parameters of AIPP are in the bundle (ascend-om inspect)"
NOT_HERE(aclmdlGetFirstAippInfo, (uint32_t modelId, size_t index, aclAippInfo *aippInfo), AIPP);

#define DUMP "the values of nodes are shown by ascend-om and by ascend_ep.InferenceSession"
NOT_HERE(aclGenGraphAndDumpForOp,
         (const char *opType, int numInputs, const aclTensorDesc *const inputDesc[],
          const aclDataBuffer *const inputs[], int numOutputs, const aclTensorDesc *const outputDesc[],
          aclDataBuffer *const outputs[], const aclopAttr *attr, aclopEngineType engineType, const char *graphDumpPath,
          const aclGraphDumpOption *graphDumpOpt),
         DUMP);
NONE_HERE(aclGraphDumpOption *, aclCreateGraphDumpOpt, (void), NULL, DUMP);
NOT_HERE(aclDestroyGraphDumpOpt, (const aclGraphDumpOption *graphDumpOpt), DUMP);

#define HANDLES "casts and products have no handles; call aclopCast and aclblasGemmEx"
NOT_HERE(aclopCreateHandleForCast,
         (aclTensorDesc * srcDesc, aclTensorDesc *dstDesc, uint8_t truncate, aclopHandle **handle), HANDLES);
NOT_HERE(aclblasCreateHandleForGemmEx,
         (aclTransType transA, aclTransType transB, aclTransType transC, int m, int n, int k, aclDataType dataTypeA,
          aclDataType dataTypeB, aclDataType dataTypeC, aclComputeType type, aclopHandle **handle),
         HANDLES);
NOT_HERE(aclblasCreateHandleForHgemm,
         (aclTransType transA, aclTransType transB, aclTransType transC, int m, int n, int k, aclComputeType type,
          aclopHandle **handle),
         HANDLES);
NOT_HERE(aclblasCreateHandleForS8gemm,
         (aclTransType transA, aclTransType transB, aclTransType transC, int m, int n, int k, aclComputeType type,
          aclopHandle **handle),
         HANDLES);
NOT_HERE(aclblasCreateHandleForGemvEx,
         (aclTransType transA, int m, int n, aclDataType dataTypeA, aclDataType dataTypeX, aclDataType dataTypeY,
          aclComputeType type, aclopHandle **handle),
         HANDLES);
NOT_HERE(aclblasCreateHandleForHgemv, (aclTransType transA, int m, int n, aclComputeType type, aclopHandle **handle),
         HANDLES);
NOT_HERE(aclblasCreateHandleForS8gemv, (aclTransType transA, int m, int n, aclComputeType type, aclopHandle **handle),
         HANDLES);

#define OWN_KERNELS "kernels of a chip can not run on a CPU; build the operator with ascend-op"
NOT_HERE(aclopInferShape,
         (const char *opType, int numInputs, aclTensorDesc *inputDesc[], aclDataBuffer *inputs[], int numOutputs,
          aclTensorDesc *outputDesc[], aclopAttr *attr),
         OWN_KERNELS);
NOT_HERE(aclopRegisterCompileFunc, (const char *opType, aclopCompileFunc func), OWN_KERNELS);
NOT_HERE(aclopUnregisterCompileFunc, (const char *opType), OWN_KERNELS);
NOT_HERE(aclopCreateKernel,
         (const char *opType, const char *kernelId, const char *kernelName, void *binData, int binSize,
          aclopEngineType enginetype, aclDataDeallocator deallocator),
         OWN_KERNELS);
NOT_HERE(aclopSetKernelArgs,
         (aclopKernelDesc * kernelDesc, const char *kernelId, uint32_t blockDim, const void *args, uint32_t argSize),
         OWN_KERNELS);
NOT_HERE(aclopSetKernelWorkspaceSizes, (aclopKernelDesc * kernelDesc, int numWorkspaces, size_t *workspaceSizes),
         OWN_KERNELS);
NOT_HERE(aclopUpdateParams,
         (const char *opType, int numInputs, const aclTensorDesc *const inputDesc[], int numOutputs,
          const aclTensorDesc *const outputDesc[], const aclopAttr *attr),
         OWN_KERNELS);
NOT_HERE(aclopSetMaxOpQueueNum, (uint64_t maxOpNum), OWN_KERNELS);
NOT_HERE(aclopStartDumpArgs, (uint32_t dumpType, const char *path), OWN_KERNELS);
NOT_HERE(aclopStopDumpArgs, (uint32_t dumpType), OWN_KERNELS);

#define PROFILING "runs are recorded between aclprofStart and aclprofStop; msprof --export shows them"
NOT_HERE(aclprofModelSubscribe, (uint32_t modelId, const aclprofSubscribeConfig *profSubscribeConfig), PROFILING);
NOT_HERE(aclprofModelUnSubscribe, (uint32_t modelId), PROFILING);
NONE_HERE(aclprofSubscribeConfig *, aclprofCreateSubscribeConfig,
          (int8_t timeInfoSwitch, aclprofAicoreMetrics aicoreMetrics, void *fd), NULL, PROFILING);
NOT_HERE(aclprofDestroySubscribeConfig, (const aclprofSubscribeConfig *profSubscribeConfig), PROFILING);
NOT_HERE(aclprofGetOpDescSize, (size_t *opDescSize), PROFILING);
NOT_HERE(aclprofGetOpNum, (const void *opInfo, size_t opInfoLen, uint32_t *opNumber), PROFILING);
NOT_HERE(aclprofGetOpTypeLen, (const void *opInfo, size_t opInfoLen, uint32_t index, size_t *opTypeLen), PROFILING);
NOT_HERE(aclprofGetOpType, (const void *opInfo, size_t opInfoLen, uint32_t index, char *opType, size_t opTypeLen),
         PROFILING);
NOT_HERE(aclprofGetOpNameLen, (const void *opInfo, size_t opInfoLen, uint32_t index, size_t *opNameLen), PROFILING);
NOT_HERE(aclprofGetOpName, (const void *opInfo, size_t opInfoLen, uint32_t index, char *opName, size_t opNameLen),
         PROFILING);
NONE_HERE(uint64_t, aclprofGetOpStart, (const void *opInfo, size_t opInfoLen, uint32_t index), 0, PROFILING);
NONE_HERE(uint64_t, aclprofGetOpEnd, (const void *opInfo, size_t opInfoLen, uint32_t index), 0, PROFILING);
NONE_HERE(uint64_t, aclprofGetOpDuration, (const void *opInfo, size_t opInfoLen, uint32_t index), 0, PROFILING);
NONE_HERE(size_t, aclprofGetModelId, (const void *opInfo, size_t opInfoLen, uint32_t index), 0, PROFILING);
NONE_HERE(aclprofStepInfo *, aclprofCreateStepInfo, (void), NULL, PROFILING);
NONE_HERE(void, aclprofDestroyStepInfo, (aclprofStepInfo * stepInfo), , PROFILING);
NOT_HERE(aclprofGetStepTimestamp, (aclprofStepInfo * stepInfo, aclprofStepTag tag, aclrtStream stream), PROFILING);
NONE_HERE(void *, aclprofCreateStamp, (void), NULL, PROFILING);
NONE_HERE(void, aclprofDestroyStamp, (void *stamp), , PROFILING);
NOT_HERE(aclprofSetStampTraceMessage, (void *stamp, const char *msg, uint32_t msgLen), PROFILING);
NOT_HERE(aclprofSetCategoryName, (uint32_t category, const char *categoryName), PROFILING);
NOT_HERE(aclprofSetStampCategory, (void *stamp, uint32_t category), PROFILING);
NOT_HERE(aclprofSetStampPayload, (void *stamp, const int32_t type, void *value), PROFILING);
NOT_HERE(aclprofMark, (void *stamp), PROFILING);
NOT_HERE(aclprofMarkEx, (const char *msg, size_t msgLen, aclrtStream stream), PROFILING);
NOT_HERE(aclprofPush, (void *stamp), PROFILING);
NOT_HERE(aclprofPop, (void), PROFILING);
NOT_HERE(aclprofRangeStart, (void *stamp, uint32_t *rangeId), PROFILING);
NOT_HERE(aclprofRangeStop, (uint32_t rangeId), PROFILING);

#define CHANNELS "there is no queue between this host and a device; models take datasets"
NONE_HERE(acltdtChannelHandle *, acltdtCreateChannel, (uint32_t deviceId, const char *name), NULL, CHANNELS);
NONE_HERE(acltdtChannelHandle *, acltdtCreateChannelWithCapacity,
          (uint32_t deviceId, const char *name, size_t capacity), NULL, CHANNELS);
NOT_HERE(acltdtDestroyChannel, (acltdtChannelHandle * handle), CHANNELS);
NOT_HERE(acltdtStopChannel, (acltdtChannelHandle * handle), CHANNELS);
NOT_HERE(acltdtCleanChannel, (acltdtChannelHandle * handle), CHANNELS);
NOT_HERE(acltdtSendTensor, (const acltdtChannelHandle *handle, const acltdtDataset *dataset, int32_t timeout),
         CHANNELS);
NOT_HERE(acltdtReceiveTensor, (const acltdtChannelHandle *handle, acltdtDataset *dataset, int32_t timeout), CHANNELS);
NOT_HERE(acltdtQueryChannelSize, (const acltdtChannelHandle *handle, size_t *size), CHANNELS);
NONE_HERE(acltdtDataset *, acltdtCreateDataset, (void), NULL, CHANNELS);
NOT_HERE(acltdtDestroyDataset, (acltdtDataset * dataset), CHANNELS);
NONE_HERE(acltdtDataItem *, acltdtGetDataItem, (const acltdtDataset *dataset, size_t index), NULL, CHANNELS);
NOT_HERE(acltdtAddDataItem, (acltdtDataset * dataset, acltdtDataItem *dataItem), CHANNELS);
NONE_HERE(size_t, acltdtGetDatasetSize, (const acltdtDataset *dataset), 0, CHANNELS);
NONE_HERE(const char *, acltdtGetDatasetName, (const acltdtDataset *dataset), NULL, CHANNELS);
NONE_HERE(acltdtDataItem *, acltdtCreateDataItem,
          (enum acltdtTensorType tdtType, const int64_t *dims, size_t dimNum, aclDataType dataType, void *data,
           size_t size),
          NULL, CHANNELS);
NOT_HERE(acltdtDestroyDataItem, (acltdtDataItem * dataItem), CHANNELS);
NONE_HERE(enum acltdtTensorType, acltdtGetTensorTypeFromItem, (const acltdtDataItem *dataItem),
          ACL_TENSOR_DATA_UNDEFINED, CHANNELS);
NONE_HERE(aclDataType, acltdtGetDataTypeFromItem, (const acltdtDataItem *dataItem), ACL_DT_UNDEFINED, CHANNELS);
NONE_HERE(void *, acltdtGetDataAddrFromItem, (const acltdtDataItem *dataItem), NULL, CHANNELS);
NONE_HERE(size_t, acltdtGetDataSizeFromItem, (const acltdtDataItem *dataItem), 0, CHANNELS);
NONE_HERE(size_t, acltdtGetDimNumFromItem, (const acltdtDataItem *dataItem), 0, CHANNELS);
NOT_HERE(acltdtGetDimsFromItem, (const acltdtDataItem *dataItem, int64_t *dims, size_t dimNum), CHANNELS);

#define PICTURES "it is done by the second version's functions (acl/dvpp/hi_dvpp.h), hi_mpi_vpc_pyrdown and its kin"
NOT_HERE(acldvppVpcPyrDownAsync,
         (acldvppChannelDesc * channelDesc, acldvppPicDesc *inputDesc, acldvppPicDesc *outputDesc, void *reserve,
          aclrtStream stream),
         PICTURES);
NOT_HERE(acldvppVpcEqualizeHistAsync,
         (const acldvppChannelDesc *channelDesc, const acldvppPicDesc *inputDesc, acldvppPicDesc *outputDesc,
          const acldvppLutMap *lutMap, aclrtStream stream),
         PICTURES);
NOT_HERE(acldvppVpcMakeBorderAsync,
         (const acldvppChannelDesc *channelDesc, const acldvppPicDesc *inputDesc, acldvppPicDesc *outputDesc,
          const acldvppBorderConfig *borderConfig, aclrtStream stream),
         PICTURES);
NONE_HERE(acldvppHist *, acldvppCreateHist, (void), NULL, PICTURES);
NOT_HERE(acldvppDestroyHist, (acldvppHist * hist), PICTURES);
NOT_HERE(acldvppVpcCalcHistAsync,
         (acldvppChannelDesc * channelDesc, acldvppPicDesc *srcPicDesc, acldvppHist *hist, void *reserve,
          aclrtStream stream),
         PICTURES);

#define VIDEO "video is neither decoded nor encoded; use a library for it, and give pictures"
NONE_HERE(aclvdecChannelDesc *, aclvdecCreateChannelDesc, (void), NULL, VIDEO);
NOT_HERE(aclvdecDestroyChannelDesc, (aclvdecChannelDesc * channelDesc), VIDEO);
NOT_HERE(aclvdecSetChannelDescChannelId, (aclvdecChannelDesc * channelDesc, uint32_t channelId), VIDEO);
NOT_HERE(aclvdecSetChannelDescThreadId, (aclvdecChannelDesc * channelDesc, uint64_t threadId), VIDEO);
NOT_HERE(aclvdecSetChannelDescCallback, (aclvdecChannelDesc * channelDesc, aclvdecCallback callback), VIDEO);
NOT_HERE(aclvdecSetChannelDescEnType, (aclvdecChannelDesc * channelDesc, acldvppStreamFormat enType), VIDEO);
NOT_HERE(aclvdecSetChannelDescOutPicFormat, (aclvdecChannelDesc * channelDesc, acldvppPixelFormat outPicFormat), VIDEO);
NOT_HERE(aclvdecSetChannelDescOutPicWidth, (aclvdecChannelDesc * channelDesc, uint32_t outPicWidth), VIDEO);
NOT_HERE(aclvdecSetChannelDescOutPicHeight, (aclvdecChannelDesc * channelDesc, uint32_t outPicHeight), VIDEO);
NOT_HERE(aclvdecSetChannelDescRefFrameNum, (aclvdecChannelDesc * channelDesc, uint32_t refFrameNum), VIDEO);
NOT_HERE(aclvdecSetChannelDescOutMode, (aclvdecChannelDesc * channelDesc, uint32_t outMode), VIDEO);
NONE_HERE(uint32_t, aclvdecGetChannelDescOutMode, (const aclvdecChannelDesc *channelDesc), 0, VIDEO);
NOT_HERE(aclvdecSetChannelDescBitDepth, (aclvdecChannelDesc * channelDesc, uint32_t bitDepth), VIDEO);
NONE_HERE(uint32_t, aclvdecGetChannelDescChannelId, (const aclvdecChannelDesc *channelDesc), 0, VIDEO);
NONE_HERE(uint64_t, aclvdecGetChannelDescThreadId, (const aclvdecChannelDesc *channelDesc), 0, VIDEO);
NONE_HERE(aclvdecCallback, aclvdecGetChannelDescCallback, (const aclvdecChannelDesc *channelDesc), NULL, VIDEO);
NONE_HERE(acldvppStreamFormat, aclvdecGetChannelDescEnType, (const aclvdecChannelDesc *channelDesc), H265_MAIN_LEVEL,
          VIDEO);
NONE_HERE(acldvppPixelFormat, aclvdecGetChannelDescOutPicFormat, (const aclvdecChannelDesc *channelDesc),
          PIXEL_FORMAT_YUV_400, VIDEO);
NONE_HERE(uint32_t, aclvdecGetChannelDescOutPicWidth, (const aclvdecChannelDesc *channelDesc), 0, VIDEO);
NONE_HERE(uint32_t, aclvdecGetChannelDescOutPicHeight, (const aclvdecChannelDesc *channelDesc), 0, VIDEO);
NONE_HERE(uint32_t, aclvdecGetChannelDescRefFrameNum, (const aclvdecChannelDesc *channelDesc), 0, VIDEO);
NONE_HERE(uint32_t, aclvdecGetChannelDescBitDepth, (const aclvdecChannelDesc *channelDesc), 0, VIDEO);
NOT_HERE(aclvdecCreateChannel, (aclvdecChannelDesc * channelDesc), VIDEO);
NOT_HERE(aclvdecDestroyChannel, (aclvdecChannelDesc * channelDesc), VIDEO);
NOT_HERE(aclvdecSendFrame,
         (aclvdecChannelDesc * channelDesc, acldvppStreamDesc *input, acldvppPicDesc *output,
          aclvdecFrameConfig *config, void *userData),
         VIDEO);
NOT_HERE(aclvdecSendSkippedFrame,
         (aclvdecChannelDesc * channelDesc, acldvppStreamDesc *input, aclvdecFrameConfig *config, void *userData),
         VIDEO);
NONE_HERE(aclvdecFrameConfig *, aclvdecCreateFrameConfig, (void), NULL, VIDEO);
NOT_HERE(aclvdecDestroyFrameConfig, (aclvdecFrameConfig * vdecFrameConfig), VIDEO);
NONE_HERE(aclvencChannelDesc *, aclvencCreateChannelDesc, (void), NULL, VIDEO);
NOT_HERE(aclvencDestroyChannelDesc, (aclvencChannelDesc * channelDesc), VIDEO);
NOT_HERE(aclvencSetChannelDescThreadId, (aclvencChannelDesc * channelDesc, uint64_t threadId), VIDEO);
NOT_HERE(aclvencSetChannelDescCallback, (aclvencChannelDesc * channelDesc, aclvencCallback callback), VIDEO);
NOT_HERE(aclvencSetChannelDescEnType, (aclvencChannelDesc * channelDesc, acldvppStreamFormat enType), VIDEO);
NOT_HERE(aclvencSetChannelDescPicFormat, (aclvencChannelDesc * channelDesc, acldvppPixelFormat picFormat), VIDEO);
NOT_HERE(aclvencSetChannelDescPicWidth, (aclvencChannelDesc * channelDesc, uint32_t picWidth), VIDEO);
NOT_HERE(aclvencSetChannelDescPicHeight, (aclvencChannelDesc * channelDesc, uint32_t picHeight), VIDEO);
NOT_HERE(aclvencSetChannelDescKeyFrameInterval, (aclvencChannelDesc * channelDesc, uint32_t keyFrameInterval), VIDEO);
NOT_HERE(aclvencSetChannelDescRcMode, (aclvencChannelDesc * channelDesc, uint32_t rcMode), VIDEO);
NOT_HERE(aclvencSetChannelDescSrcRate, (aclvencChannelDesc * channelDesc, uint32_t srcRate), VIDEO);
NOT_HERE(aclvencSetChannelDescMaxBitRate, (aclvencChannelDesc * channelDesc, uint32_t maxBitRate), VIDEO);
NOT_HERE(aclvencSetChannelDescBufAddr, (aclvencChannelDesc * channelDesc, void *bufAddr), VIDEO);
NOT_HERE(aclvencSetChannelDescBufSize, (aclvencChannelDesc * channelDesc, uint32_t bufSize), VIDEO);
NOT_HERE(aclvencSetChannelDescParam,
         (aclvencChannelDesc * channelDesc, enum aclvencChannelDescParamType paramType, size_t length,
          const void *param),
         VIDEO);
NONE_HERE(uint32_t, aclvencGetChannelDescChannelId, (const aclvencChannelDesc *channelDesc), 0, VIDEO);
NONE_HERE(uint64_t, aclvencGetChannelDescThreadId, (const aclvencChannelDesc *channelDesc), 0, VIDEO);
NONE_HERE(aclvencCallback, aclvencGetChannelDescCallback, (const aclvencChannelDesc *channelDesc), NULL, VIDEO);
NONE_HERE(acldvppStreamFormat, aclvencGetChannelDescEnType, (const aclvencChannelDesc *channelDesc), H265_MAIN_LEVEL,
          VIDEO);
NONE_HERE(acldvppPixelFormat, aclvencGetChannelDescPicFormat, (const aclvencChannelDesc *channelDesc),
          PIXEL_FORMAT_YUV_400, VIDEO);
NONE_HERE(uint32_t, aclvencGetChannelDescPicWidth, (const aclvencChannelDesc *channelDesc), 0, VIDEO);
NONE_HERE(uint32_t, aclvencGetChannelDescPicHeight, (const aclvencChannelDesc *channelDesc), 0, VIDEO);
NONE_HERE(uint32_t, aclvencGetChannelDescKeyFrameInterval, (const aclvencChannelDesc *channelDesc), 0, VIDEO);
NONE_HERE(uint32_t, aclvencGetChannelDescRcMode, (const aclvencChannelDesc *channelDesc), 0, VIDEO);
NONE_HERE(uint32_t, aclvencGetChannelDescSrcRate, (const aclvencChannelDesc *channelDesc), 0, VIDEO);
NONE_HERE(uint32_t, aclvencGetChannelDescMaxBitRate, (const aclvencChannelDesc *channelDesc), 0, VIDEO);
NONE_HERE(void *, aclvencGetChannelDescBufAddr, (const aclvencChannelDesc *channelDesc), NULL, VIDEO);
NONE_HERE(uint32_t, aclvencGetChannelDescBufSize, (const aclvencChannelDesc *channelDesc), 0, VIDEO);
NOT_HERE(aclvencGetChannelDescParam,
         (const aclvencChannelDesc *channelDesc, enum aclvencChannelDescParamType paramType, size_t length,
          size_t *paramRetSize, void *param),
         VIDEO);
NOT_HERE(aclvencCreateChannel, (aclvencChannelDesc * channelDesc), VIDEO);
NOT_HERE(aclvencDestroyChannel, (aclvencChannelDesc * channelDesc), VIDEO);
NOT_HERE(aclvencSendFrame,
         (aclvencChannelDesc * channelDesc, acldvppPicDesc *input, void *reserve, aclvencFrameConfig *config,
          void *userdata),
         VIDEO);
NONE_HERE(aclvencFrameConfig *, aclvencCreateFrameConfig, (void), NULL, VIDEO);
NOT_HERE(aclvencDestroyFrameConfig, (aclvencFrameConfig * config), VIDEO);
NOT_HERE(aclvencSetFrameConfigForceIFrame, (aclvencFrameConfig * config, uint8_t forceIFrame), VIDEO);
NONE_HERE(uint8_t, aclvencGetFrameConfigForceIFrame, (const aclvencFrameConfig *config), 0, VIDEO);
NOT_HERE(aclvencSetFrameConfigEos, (aclvencFrameConfig * config, uint8_t eos), VIDEO);
NONE_HERE(uint8_t, aclvencGetFrameConfigEos, (const aclvencFrameConfig *config), 0, VIDEO);

#define RETRIEVAL "retrieval of features needs a chip made for it"
NONE_HERE(aclfvInitPara *, aclfvCreateInitPara, (uint64_t fsNum), NULL, RETRIEVAL);
NOT_HERE(aclfvDestroyInitPara, (aclfvInitPara * initPara), RETRIEVAL);
NOT_HERE(aclfvInit, (aclfvInitPara * initPara), RETRIEVAL);
NOT_HERE(aclfvRelease, (void), RETRIEVAL);
NONE_HERE(aclfvFeatureInfo *, aclfvCreateFeatureInfo,
          (uint32_t id0, uint32_t id1, uint32_t offset, uint32_t featureLen, uint32_t featureCount,
           uint8_t *featureData, uint32_t featureDataLen),
          NULL, RETRIEVAL);
NOT_HERE(aclfvDestroyFeatureInfo, (aclfvFeatureInfo * featureInfo), RETRIEVAL);
NONE_HERE(aclfvRepoRange *, aclfvCreateRepoRange, (uint32_t id0Min, uint32_t id0Max, uint32_t id1Min, uint32_t id1Max),
          NULL, RETRIEVAL);
NOT_HERE(aclfvDestroyRepoRange, (aclfvRepoRange * repoRange), RETRIEVAL);
NONE_HERE(aclfvQueryTable *, aclfvCreateQueryTable,
          (uint32_t queryCnt, uint32_t tableLen, uint8_t *tableData, uint32_t tableDataLen), NULL, RETRIEVAL);
NOT_HERE(aclfvDestroyQueryTable, (aclfvQueryTable * queryTable), RETRIEVAL);
NONE_HERE(aclfvSearchInput *, aclfvCreateSearchInput,
          (aclfvQueryTable * queryTable, aclfvRepoRange *repoRange, uint32_t topk), NULL, RETRIEVAL);
NOT_HERE(aclfvDestroySearchInput, (aclfvSearchInput * searchInput), RETRIEVAL);
NONE_HERE(aclfvSearchResult *, aclfvCreateSearchResult,
          (uint32_t queryCnt, uint32_t *resultNum, uint32_t resultNumDataLen, uint32_t *id0, uint32_t *id1,
           uint32_t *resultOffset, float *resultDistance, uint32_t dataLen),
          NULL, RETRIEVAL);
NOT_HERE(aclfvDestroySearchResult, (aclfvSearchResult * searchResult), RETRIEVAL);
NOT_HERE(aclfvRepoAdd, (enum aclfvSearchType type, aclfvFeatureInfo *featureInfo), RETRIEVAL);
NOT_HERE(aclfvRepoDel, (enum aclfvSearchType type, aclfvRepoRange *repoRange), RETRIEVAL);
NOT_HERE(aclfvDel, (aclfvFeatureInfo * featureInfo), RETRIEVAL);
NOT_HERE(aclfvModify, (aclfvFeatureInfo * featureInfo), RETRIEVAL);
NOT_HERE(aclfvSearch, (enum aclfvSearchType type, aclfvSearchInput *searchInput, aclfvSearchResult *searchRst),
         RETRIEVAL);
