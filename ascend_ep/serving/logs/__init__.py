"""The server's log: lines of text or of JSON, with a limit on how many of a kind come."""
