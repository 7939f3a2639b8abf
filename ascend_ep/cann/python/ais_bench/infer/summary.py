from ascend_ep.cann.ais_bench.summary import Summary, summary

__all__ = ["Summary", "summary"]
