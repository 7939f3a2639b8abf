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
