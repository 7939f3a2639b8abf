"""W3C trace context as clients send it, and spans for OpenTelemetry."""
