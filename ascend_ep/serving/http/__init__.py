"""The HTTP front end: connections (httptools parses), routes, and the Open Inference Protocol v2 on them."""
