"""Native code that users wrote runs in a process of its own for each version of a model: it can crash, end or
hang that process, and the server goes on. Built-in and generated kernels stay in the server's process.

Server: `session` (restarts) -> `process` (one process) -> `line` (one caller's messages and tensors). The
process: `main`. Tensors pass by shared memory (`segment`), what is said of them by `messages`.
"""
