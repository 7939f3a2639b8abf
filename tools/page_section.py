"""A section of a page of the documentation that a tool writes: what stands between two markers."""

from __future__ import annotations

from pathlib import Path

PAGES = Path(__file__).resolve().parent.parent / "docs"


def with_section(whole: str, start: str, end: str, section: str) -> str:
    """The text with another section between its markers. Raises ValueError when one is missing."""
    before, found, rest = whole.partition(start)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"the page lacks the markers {start} and {end}")
    return f"{before}{start}\n\n{section}\n\n{end}{after}"


def write_section(page: Path, start: str, end: str, section: str) -> None:
    """Raises ValueError when a marker is missing; the file is as it was then."""
    page.write_text(with_section(page.read_text(), start, end, section))
