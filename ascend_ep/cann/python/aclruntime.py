"""aclruntime, for programs that `ascend-ep run` starts: the one that is installed, or ours."""

import sys

from _ascend_ep_installed import installed

if not installed(__name__, __file__):
    from ascend_ep.cann import aclruntime

    sys.modules[__name__] = aclruntime
