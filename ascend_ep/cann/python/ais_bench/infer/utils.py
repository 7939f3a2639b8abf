from ascend_ep.cann.ais_bench.log import logger

__all__ = ["logger"]
