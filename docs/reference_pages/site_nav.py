"""The navigation of the site, from the index of the documentation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

_BEGIN = "# written by docs/generate.py from docs/README.md\n"
_LINK = re.compile(r"\[(?P<title>[^\]]+)\]\((?P<page>(?!decisions)[^)#:]+\.md)\)")


def site_settings() -> str:
    """``mkdocs.yml`` with the navigation as `docs/README.md` lists the pages: a heading is a section."""
    root = Path(__file__).resolve().parents[2]
    index = (root / "docs" / "README.md").read_text(encoding="utf-8")
    settings = (root / "mkdocs.yml").read_text(encoding="utf-8").partition(_BEGIN)[0]
    records = sorted((root / "docs" / "decisions").glob("*.md"))
    lines = ["nav:", "  - Home: README.md", *_sections(index, "## ", "  "), "  - Decisions:"]
    titles = ((record.read_text(encoding="utf-8").partition("\n")[0], record.name) for record in records)
    lines += [f"      - {_title(title.lstrip('# '))}: decisions/{name}" for title, name in titles]
    return settings + _BEGIN + "\n".join(lines)


def _sections(text: str, mark: str, indent: str) -> Iterator[str]:
    """The lines of the pages before the first heading of this depth, and of each section."""
    first, *rest = re.split(rf"^{mark}", text, flags=re.MULTILINE)
    if mark != "## ":
        yield from (f"{indent}- {_title(link['title'])}: {link['page']}" for link in _LINK.finditer(first))
    for section in rest:
        heading, _, body = section.partition("\n")
        yield f"{indent}- {heading.strip()}:"
        yield from _sections(body, f"#{mark}", f"{indent}    ")


def _title(text: str) -> str:
    """A title on one line, with a capital unless it is a name."""
    text = re.sub(r"\s+", " ", text)
    text = text if "_" in text else text[0].upper() + text[1:]
    return f'"{text}"' if re.search(r"[:?,]", text) else text
