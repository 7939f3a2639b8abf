"""The other end of the wire: makes load for a server of the protocol, and measures what comes of it."""
