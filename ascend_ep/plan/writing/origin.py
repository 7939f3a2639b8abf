"""What a bundle says about where it comes from."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import onnx_ir as ir

from ascend_ep.runtime.binding import lib, text_of

if TYPE_CHECKING:
    from ascend_ep.compiler.convert_options import ConvertOptions


def origin(model: ir.Model, options: ConvertOptions, where: str) -> dict[str, str]:
    """What the bundle says about its origin; `model.` and `custom:` entries feed get_modelmeta."""
    found = {
        "producer": f"ascend-ep {text_of(lib.asc_version())}",
        "soc_version": options.soc_version,
        "atc_cmdline": options.command_line,
        "precision": options.precision,
        "source": os.path.basename(where),
        "model.graph_name": model.graph.name or "",
        "model.graph_description": model.graph.doc_string or "",
        "model.description": model.doc_string or "",
        "model.domain": model.domain or "",
        "model.producer_name": model.producer_name or "",
        "model.version": str(model.model_version or ""),
    }
    if (lists := options.precision_lists.to_text()) != "{}":
        found["precision_lists"] = lists
    found["fast_types"] = ",".join(sorted(options.fast.types))
    found["fast_names"] = "\n".join(sorted(options.fast.names))
    found["fusions_off"] = ",".join(sorted(options.fusions_off))
    found["weight_clip"] = "" if options.clip_weights else "0"
    found |= {f"custom:{k}": v for k, v in model.metadata_props.items()}
    return {k: v for k, v in found.items() if v} | dict(options.meta)
