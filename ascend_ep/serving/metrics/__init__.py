"""What Prometheus scrapes: read from plain counters when it does, so that requests pay next to nothing."""
