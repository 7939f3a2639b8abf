"""The messages of the protocol in gRPC, and of the files beside models, from protocol.binpb."""
