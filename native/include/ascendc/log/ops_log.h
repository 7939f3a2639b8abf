/* Logging of host code by its other names. Our own implementation of public names. */
#pragma once
#pragma GCC system_header

#include "log.h"

#ifndef OPS_LOG_D
#define OPS_LOG_D(name, ...) OP_LOGD(name, __VA_ARGS__)
#define OPS_LOG_I(name, ...) OP_LOGI(name, __VA_ARGS__)
#define OPS_LOG_W(name, ...) OP_LOGW(name, __VA_ARGS__)
#define OPS_LOG_E(name, ...) OP_LOGE(name, __VA_ARGS__)
#define OPS_LOG_FULL(level, name, ...) OP_LOGD(name, __VA_ARGS__)
#define OPS_LOG_E_IF(condition, name, result, ...) \
    do {                                           \
        if (condition) {                           \
            OP_LOGE(name, __VA_ARGS__);            \
            result;                                \
        }                                          \
    } while (0)
#define OPS_LOG_E_IF_NULL(name, pointer, result) \
    OPS_LOG_E_IF((pointer) == nullptr, name, result, "%s is null", #pointer)
#define OPS_ERR_IF(condition, log_text, result) OP_CHECK_IF(condition, log_text, result)
#endif
#ifndef OPS_LOG_E_WITHOUT_REPORT
#define OPS_LOG_E_WITHOUT_REPORT(name, ...) OP_LOGE(name, __VA_ARGS__)
#define OPS_LOG_EVENT(name, ...) OP_LOGI(name, __VA_ARGS__)
#define OPS_LOG_D_FULL(name, ...) OP_LOGD(name, __VA_ARGS__)
#define OPS_LOG_I_FULL(name, ...) OP_LOGI(name, __VA_ARGS__)
#define OPS_LOG_W_FULL(name, ...) OP_LOGW(name, __VA_ARGS__)
#define OPS_LOG_D_IF(condition, name, result, ...) OPS_CHECK(condition, OP_LOGD(name, __VA_ARGS__), result)
#define OPS_LOG_I_IF(condition, name, result, ...) OPS_CHECK(condition, OP_LOGI(name, __VA_ARGS__), result)
#define OPS_LOG_W_IF(condition, name, result, ...) OPS_CHECK(condition, OP_LOGW(name, __VA_ARGS__), result)
#define OPS_LOG_EVENT_IF(condition, name, result, ...) OPS_CHECK(condition, OP_LOGI(name, __VA_ARGS__), result)
#endif
#ifndef OPS_CHECK
#define OPS_CHECK(condition, log_text, result) OP_CHECK_IF(condition, log_text, result)
#endif
#ifndef OP_CHECK
#define OP_CHECK(condition, log_text, result) OP_CHECK_IF(condition, log_text, result)
#endif
#ifndef OPS_CHECK_PTR_NULL
#define OPS_CHECK_PTR_NULL(pointer, result) \
    OP_CHECK_IF((pointer) == nullptr, OP_LOGE("", "%s is null", #pointer), result)
#endif
#ifndef OPS_CHECK_NULL_WITH_CONTEXT
#define OPS_CHECK_NULL_WITH_CONTEXT(context, pointer) OP_CHECK_NULL_WITH_CONTEXT(context, pointer)
#endif
#ifndef OPS_REPORT_VECTOR_INNER_ERR
#define OPS_REPORT_VECTOR_INNER_ERR(name, ...) OP_LOGE(name, __VA_ARGS__)
#endif
#ifndef OPS_REPORT_CUBE_INNER_ERR
#define OPS_REPORT_CUBE_INNER_ERR(name, ...) OP_LOGE(name, __VA_ARGS__)
#endif
#ifndef VECTOR_INNER_ERR_REPORT_TILIING
#define VECTOR_INNER_ERR_REPORT_TILIING(name, ...) OP_LOGE(name, __VA_ARGS__)
#endif
#ifndef CUBE_INNER_ERR_REPORT
#define CUBE_INNER_ERR_REPORT(name, ...) OP_LOGE(name, __VA_ARGS__)
#endif
