"""Writes the package's bill of materials as CycloneDX: `sbom.py pyproject.toml OUT COMPILER VERSION`.

The wheel holds code of this project alone. What it needs at run time is what pyproject.toml names, and the C
library; libjpeg and libpng are opened where they are, when a program decodes pictures by AscendCL's DVPP.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
import uuid
from pathlib import Path
from typing import Any

#: Opened by name at run time, when they are there.
OPENED = {"libjpeg": "pictures of AscendCL's DVPP", "libpng": "pictures of AscendCL's DVPP"}


def requirement(text: str, scope: str) -> dict[str, Any]:
    """A component for "name[extra]>=1,<2; marker"."""
    name = re.match(r"[A-Za-z0-9_.-]+", text)
    assert name is not None, text
    bounds = text[name.end() :].partition(";")[0].split("]")[-1].strip()
    normal = re.sub(r"[-_.]+", "-", name[0]).lower()
    return {
        "type": "library",
        "bom-ref": f"pkg:pypi/{normal}",
        "name": normal,
        "purl": f"pkg:pypi/{normal}",
        "scope": scope,
        "properties": [{"name": "ascend-ep:versions", "value": bounds or "any"}],
    }


def bill(project: dict[str, Any], compiler: str) -> dict[str, Any]:
    """project: the table of that name in pyproject.toml."""
    name, version = project["name"], project["version"]
    groups = [project["optional-dependencies"][g] for g in ("convert", "onnxruntime", "torch", "serve")]
    needed = {c["bom-ref"]: c for c in (requirement(r, "required") for r in project["dependencies"])}
    for text in (r for group in groups for r in group):
        found = requirement(text, "optional")
        if found["name"] != name:
            needed.setdefault(found["bom-ref"], found)
    opened = [
        {"type": "library", "bom-ref": n, "name": n, "scope": "optional", "description": why}
        for n, why in OPENED.items()
    ]
    own = f"pkg:pypi/{name}@{version}"
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, own)}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library", "bom-ref": own, "name": name, "version": version, "purl": own,
                "licenses": [{"license": {"id": project["license"]}}],
            },
            "tools": {"components": [{"type": "application", "name": compiler}]},
        },
        "components": [*needed.values(), *opened],
        "dependencies": [{"ref": own, "dependsOn": [*needed, *OPENED]}],
    }  # fmt: skip


def main(pyproject: str, out: str, *compiler: str) -> None:
    project = tomllib.loads(Path(pyproject).read_text(encoding="utf-8"))["project"]
    Path(out).write_text(json.dumps(bill(project, " ".join(compiler)), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
