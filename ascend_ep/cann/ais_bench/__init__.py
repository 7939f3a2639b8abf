"""ais_bench on bundles: its sessions for programs, and its command line."""
