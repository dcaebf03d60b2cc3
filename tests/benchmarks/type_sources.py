"""How attributes and parameters of whole libraries got their types: the table of the README.

    python tests/benchmarks/type_sources.py [torchvision timm ...] > table.md

Each library is transpiled, without compiling, and the sources that its manifest gives are counted.
Attributes are those that compiled code reads and that hold no module; parameters are those of
compiled methods. Nothing is observed unless a file of observed types is found beside the library.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

from jit_transpile import transpile
from jit_transpile.emit.manifest import location
from jit_transpile.emit.statistics import SOURCES
from transpile_speed import source_of

LIBRARIES = ("torchvision", "timm", "vit_pytorch", "segmentation_models_pytorch")


def rewritten(library: str) -> list[dict[str, Any]]:
    """The records of the classes of a library that are rewritten, from the manifest."""
    with tempfile.TemporaryDirectory() as folder:
        transpile(source_of(library), Path(folder), compile=False)
        document = json.loads(location(Path(folder)).read_bytes())
    return [record for record in document["classes"] if record["rewritten"]]


def rows(library: str) -> Iterator[tuple[str, str, Counter[str]]]:
    """For attributes and for parameters: how many types came from each source."""
    title = f"{library.replace('_', '-')} {metadata.version(library)}"
    records = rewritten(library)
    attributes = (entry for record in records for entry in record["attributes"].values())
    methods = (method for record in records for method in record["parameters"].values())
    parameters = (entry for method in methods for entry in method.values())
    yield title, "attributes", Counter(entry["source"] for entry in attributes)
    yield "", "parameters", Counter(entry["source"] for entry in parameters)


def main() -> None:
    headings = ["", "", *SOURCES[:-1], "left to torch", "all"]
    print(f"| {' | '.join(headings)} |")
    print(f"| --- | --- |{' ---: |' * (len(SOURCES) + 1)}")
    for library in sys.argv[1:] or LIBRARIES:
        for title, what, counts in rows(library):
            cells = [str(counts[source]) for source in SOURCES]
            print(f"| {' | '.join([title, what, *cells, str(counts.total())])} |")


if __name__ == "__main__":
    main()
