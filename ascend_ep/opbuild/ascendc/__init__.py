"""Ascend C from expressions: instructions -> registers -> kernel, tiling and host text; and its CPU twin."""
