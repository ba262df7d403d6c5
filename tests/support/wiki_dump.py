"""Small dumps of a wiki in the format of MediaWiki's exports, as they are published."""

from __future__ import annotations

import bz2
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

NAMESPACES = {-2: "Media", 0: "", 1: "Talk", 4: "维基百科", 6: "文件", 10: "Template", 14: "分类"}


@dataclass(frozen=True)
class Written:
    """A page to be written."""

    title: str
    text: str = ""
    ns: int = 0
    redirect: str = ""
    model: str = "wikitext"


def head(host: str = "zh.wikipedia.org") -> str:
    spaces = "".join(
        f'\n      <namespace key="{key}" case="first-letter"' + (f">{name}</namespace>" if name else " />")
        for key, name in NAMESPACES.items()
    )
    return (
        '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" '
        'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" version="0.11" xml:lang="zh">\n  <siteinfo>\n'
        f"    <sitename>Wikipedia</sitename>\n    <dbname>zhwiki</dbname>\n    <base>https://{host}/wiki/</base>\n"
        f"    <namespaces>{spaces}\n    </namespaces>\n  </siteinfo>\n"
    )


def page(written: Written, number: int) -> str:
    redirect = f"\n    <redirect title={quoteattr(written.redirect)} />" if written.redirect else ""
    size = len(written.text.encode())
    text = f'<text bytes="{size}" xml:space="preserve">{escape(written.text)}</text>' if size else '<text bytes="0" />'
    return (
        f"  <page>\n    <title>{escape(written.title)}</title>\n    <ns>{written.ns}</ns>\n    <id>{number}</id>"
        f"{redirect}\n"
        f"    <revision>\n      <id>{number + 1000}</id>\n      <parentid>7</parentid>\n"
        "      <timestamp>2024-05-01T00:00:00Z</timestamp>\n"
        "      <contributor>\n        <username>Ünal &amp; 人</username>\n        <id>12</id>\n      </contributor>\n"
        f"      <comment>/* text */ [[x]]</comment>\n      <model>{written.model}</model>\n"
        f"      <format>text/x-wiki</format>\n      {text}\n      <sha1>phoiac9h4m842xq45sp7s6u21eteeq1</sha1>\n"
        "    </revision>\n  </page>\n"
    )


def dump(pages: Sequence[Written]) -> bytes:
    """A dump as plain XML."""
    return (head() + "".join(page(one, at) for at, one in enumerate(pages, 1)) + "</mediawiki>\n").encode()


def multistream(pages: Sequence[Written], each: int = 2) -> tuple[bytes, bytes]:
    """A dump of many bzip2 streams of `each` pages, and its index: offset of the stream, number and title of a page."""
    data, lines = bz2.compress(head().encode()), list[str]()
    for start in range(0, len(pages), each):
        group = pages[start : start + each]
        lines += [f"{len(data)}:{start + at}:{one.title}" for at, one in enumerate(group, 1)]
        data += bz2.compress("".join(page(one, start + at) for at, one in enumerate(group, 1)).encode())
    return data + bz2.compress(b"</mediawiki>\n"), bz2.compress("\n".join(lines).encode())
