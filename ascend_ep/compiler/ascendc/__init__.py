"""Ascend C from expression programs: primitives -> registers -> kernel, tiling and host text; and its CPU twin."""
