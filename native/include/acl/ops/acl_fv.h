/* acl/ops/acl_fv.h - AscendCL's retrieval of features, which chips of their own do; here it returns
 * ACL_ERROR_FEATURE_UNSUPPORTED.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef ASCEND_EP_ACL_FV_H
#define ASCEND_EP_ACL_FV_H

#include "../acl.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct aclfvFeatureInfo aclfvFeatureInfo;
typedef struct aclfvRepoRange aclfvRepoRange;
typedef struct aclfvQueryTable aclfvQueryTable;
typedef struct aclfvSearchInput aclfvSearchInput;
typedef struct aclfvSearchResult aclfvSearchResult;
typedef struct aclfvInitPara aclfvInitPara;
enum aclfvSearchType { SEARCH_1_N, SEARCH_N_M };

ACL_FUNC_VISIBILITY aclfvInitPara *aclfvCreateInitPara(uint64_t fsNum);
ACL_FUNC_VISIBILITY aclError aclfvDestroyInitPara(aclfvInitPara *initPara);
ACL_FUNC_VISIBILITY aclError aclfvInit(aclfvInitPara *initPara);
ACL_FUNC_VISIBILITY aclError aclfvRelease(void);
ACL_FUNC_VISIBILITY aclfvFeatureInfo *aclfvCreateFeatureInfo(uint32_t id0, uint32_t id1, uint32_t offset,
                                                             uint32_t featureLen, uint32_t featureCount,
                                                             uint8_t *featureData, uint32_t featureDataLen);
ACL_FUNC_VISIBILITY aclError aclfvDestroyFeatureInfo(aclfvFeatureInfo *featureInfo);
ACL_FUNC_VISIBILITY aclfvRepoRange *aclfvCreateRepoRange(uint32_t id0Min, uint32_t id0Max, uint32_t id1Min,
                                                         uint32_t id1Max);
ACL_FUNC_VISIBILITY aclError aclfvDestroyRepoRange(aclfvRepoRange *repoRange);
ACL_FUNC_VISIBILITY aclfvQueryTable *aclfvCreateQueryTable(uint32_t queryCnt, uint32_t tableLen, uint8_t *tableData,
                                                           uint32_t tableDataLen);
ACL_FUNC_VISIBILITY aclError aclfvDestroyQueryTable(aclfvQueryTable *queryTable);
ACL_FUNC_VISIBILITY aclfvSearchInput *aclfvCreateSearchInput(aclfvQueryTable *queryTable, aclfvRepoRange *repoRange,
                                                             uint32_t topk);
ACL_FUNC_VISIBILITY aclError aclfvDestroySearchInput(aclfvSearchInput *searchInput);
ACL_FUNC_VISIBILITY aclfvSearchResult *aclfvCreateSearchResult(uint32_t queryCnt, uint32_t *resultNum,
                                                               uint32_t resultNumDataLen, uint32_t *id0, uint32_t *id1,
                                                               uint32_t *resultOffset, float *resultDistance,
                                                               uint32_t dataLen);
ACL_FUNC_VISIBILITY aclError aclfvDestroySearchResult(aclfvSearchResult *searchResult);
ACL_FUNC_VISIBILITY aclError aclfvRepoAdd(enum aclfvSearchType type, aclfvFeatureInfo *featureInfo);
ACL_FUNC_VISIBILITY aclError aclfvRepoDel(enum aclfvSearchType type, aclfvRepoRange *repoRange);
ACL_FUNC_VISIBILITY aclError aclfvDel(aclfvFeatureInfo *featureInfo);
ACL_FUNC_VISIBILITY aclError aclfvModify(aclfvFeatureInfo *featureInfo);
ACL_FUNC_VISIBILITY aclError aclfvSearch(enum aclfvSearchType type, aclfvSearchInput *searchInput,
                                         aclfvSearchResult *searchRst);

#ifdef __cplusplus
}
#endif
#endif
