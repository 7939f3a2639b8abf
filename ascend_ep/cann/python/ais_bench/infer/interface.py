from ascend_ep.cann.ais_bench.interface import InferSession, MemorySummary, MultiDeviceSession

__all__ = ["InferSession", "MemorySummary", "MultiDeviceSession"]
