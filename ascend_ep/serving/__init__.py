"""ascend-serve: bundles behind the Open Inference Protocol v2, over HTTP and gRPC.

A request flows: front end (`http`, `grpc`) -> `request.InferRequest` -> `service.InferenceService` (which
version, do the inputs fit) -> the version's scheduler (`execution`: at once, by an instance, in a batch) ->
its session -> `request.InferResponse` -> the same front end. Everything but sessions runs on one event loop;
sessions run natively, outside the GIL, on the loop's thread when they take microseconds and on instances'
threads otherwise.
"""
