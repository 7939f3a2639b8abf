"""pyACL, for programs that `ascend-ep run` starts."""

import sys

from ascend_ep.cann.pyacl.modules import make

sys.modules[__name__] = make()
