"""Command blocks of Markdown pages, with what the comment before each says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"(?:^<!-- (?P<mark>[^\n]*?) -->\n+)?^```bash\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A block of commands: `exits` is the code that it must end with, `skipped` why it is not run ("" if it is)."""

    line: int
    text: str
    exits: int = 0
    skipped: str = ""
    command: str = ""


def pages() -> list[Path]:
    """Every page that people read."""
    top = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    return [*top, *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path) -> Iterator[Block]:
    """The blocks of a page in order."""
    text = page.read_text(encoding="utf-8")
    for match in _BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("text")) + 1
        word, _, value = (match["mark"] or "").partition(":")
        value = value.strip()
        yield Block(
            line,
            match["text"],
            exits=int(value) if word == "exits" else 0,
            skipped=value if word == "not run" else "the tests of this project" if word == "command" else "",
            command=value if word == "command" else "",
        )


def script(found: list[Block], page: Path) -> str:
    """One script of all blocks; each says where it stands if it ends otherwise than it should."""
    parts = ["set -uo pipefail"]
    for block in found:
        if block.skipped:
            continue
        where = f"{page.name}:{block.line}"
        # only a block that is to fail runs in a shell of its own: the others may set variables
        body = f"(\nset -e\n{block.text})" if block.exits else f"set -e\n{block.text}\nset +e"
        parts.append(f"trap 'echo \"in {where}\" >&2' EXIT\n{body}\ncode=$?")
        if block.exits:
            parts.append(f'[ $code -eq {block.exits} ] || {{ echo "exit code $code, not {block.exits}" >&2; exit 1; }}')
    return "\n".join([*parts, "trap - EXIT\n"])
