"""The environment variables that are read, so that a misspelt one can be told."""

from __future__ import annotations

VARIABLES = frozenset(
    f"ASCEND_EP_{name}"
    for name in (
        "ACL_CHECK",
        "BACKEND",
        "CACHE",
        "CACHE_LIMIT",
        "CODEGEN",
        "CPU",
        "DEVICES",
        "DEVICE_MEMORY",
        "DEVICE_STATE",
        "LLM_KEY",
        "LLM_MODEL",
        "LLM_ROUNDS",
        "LLM_SECONDS",
        "LLM_URL",
        "PROFILE",
        "REGISTER",
        "SEARCH",
        "SOC",
        "SOC_VERSION",
        "SYNC",
        "THREADS",
        "TRUST",
        "VERIFY",
    )
)
