"""Which function of pyACL is which of AscendCL: `acl.rt.set_device` is aclrtSetDevice."""

from __future__ import annotations

import re

#: The prefixes of C names with the module that they stand for and what the names begin with there.
_PREFIXES = {
    "aclrt": ("rt", ""),
    "aclmdl": ("mdl", ""),
    "aclop": ("op", ""),
    "aclprof": ("prof", ""),
    "aclblas": ("blas", ""),
    "acltdt": ("tdt", ""),
    "aclfv": ("fv", ""),
    "acldvpp": ("media", "dvpp_"),
    "aclvdec": ("media", "vdec_"),
    "aclvenc": ("media", "venc_"),
    "aclsys": ("", "sys_"),
    "acl": ("", ""),
}

MODULES = tuple(sorted({module for module, _ in _PREFIXES.values() if module}))

#: What doesn't follow from the C name.
_OWN_NAMES = {
    "aclrtSetCurrentContext": ("rt", "set_context"),
    "aclrtGetCurrentContext": ("rt", "get_context"),
    "aclrtGetSocName": ("", "get_soc_name"),
    "aclrtGetVersion": ("", "get_version"),
    "aclvdecSetChannelDescEnType": ("media", "vdec_set_channel_desc_entype"),
    "aclvdecGetChannelDescEnType": ("media", "vdec_get_channel_desc_entype"),
    "aclvencSetChannelDescEnType": ("media", "venc_set_channel_desc_entype"),
    "aclvencGetChannelDescEnType": ("media", "venc_get_channel_desc_entype"),
    "aclopExecWithHandle": ("op", "execute_with_handle"),
    "aclrtMemcpy2d": ("rt", "memcpy_2d"),
    "aclrtMemcpy2dAsync": ("rt", "memcpy_2d_async"),
}


def python_name(name: str) -> tuple[str, str]:
    """The module ("" for acl itself) and the name of a C function there."""
    if name in _OWN_NAMES:
        return _OWN_NAMES[name]
    prefix = next(p for p in _PREFIXES if re.match(p + r"[A-Z0-9]", name))
    module, start = _PREFIXES[prefix]
    return module, start + snake_case(name[len(prefix) :])


def snake_case(name: str) -> str:
    """`GetInputDimsV2` as `get_input_dims_v2`, `SetDynamicHWSize` as `set_dynamic_hw_size`."""
    apart = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name)
    apart = re.sub(r"([a-z\d])([A-Z])", r"\1_\2", apart).lower()
    return re.sub(r"\bun_(?=subscribe|register|load)|(?<=_)un_(?=subscribe|register|load)", "un", apart)
