"""Where the time goes: traces of the runtime, read, and shown as msprof's files, tables and timelines."""
