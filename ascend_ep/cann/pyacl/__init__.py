"""pyACL: AscendCL's functions for Python, over libascendcl."""
