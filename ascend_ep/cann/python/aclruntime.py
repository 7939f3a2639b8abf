"""aclruntime, for programs that `ascend-ep run` starts."""

import sys

from ascend_ep.cann import aclruntime

sys.modules[__name__] = aclruntime
