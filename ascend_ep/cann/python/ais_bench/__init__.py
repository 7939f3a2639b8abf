"""ais_bench, for programs that `ascend-ep run` starts: the one that is installed, or ours."""

from _ascend_ep_installed import installed

installed(__name__, __file__)
