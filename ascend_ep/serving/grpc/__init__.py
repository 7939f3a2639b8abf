"""The gRPC front end: the inference service, grpc.health.v1 and server reflection, on the event loop."""
