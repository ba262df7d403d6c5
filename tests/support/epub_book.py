"""Small books in EPUB, made as the format asks."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

_XHTML = (
    '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE html>\n<html xmlns="http://www.w3.org/1999/xhtml" '
    'xmlns:epub="http://www.idpf.org/2007/ops"><head><title/><style>p {{}}</style></head><body>{}</body></html>'
)
CONTAINER = (
    '<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="{}" media-type="application/oebps-package+xml"/></rootfiles></container>'
)


def epub(title: str, chapters: Mapping[str, str], version: int = 3, more: Mapping[str, bytes] | None = None) -> bytes:
    """A book whose chapters are named by its table of contents; `more` files are added, or take the place of others."""
    files: dict[str, bytes] = {"mimetype": b"application/epub+zip"}
    files["META-INF/container.xml"] = CONTAINER.format("OPS/package.opf").encode()
    items, spine, places = "", "", dict[str, str]()
    for number, (name, body) in enumerate(chapters.items(), 1):
        places[name] = f"text/chapter%20{number}.xhtml"
        files[f"OPS/text/chapter {number}.xhtml"] = _XHTML.format(body).encode()
        items += f'<item id="c{number}" href="{places[name]}" media-type="application/xhtml+xml"/>'
        spine += f'<itemref idref="c{number}"/>'
    if version == 3:
        links = "".join(f'<li><a href="{place}#top">{name}</a></li>' for name, place in places.items() if name)
        files["OPS/nav.xhtml"] = _XHTML.format(f'<nav epub:type="toc"><ol>{links}</ol></nav>').encode()
        items += '<item id="nav" href="nav.xhtml" properties="nav" media-type="application/xhtml+xml"/>'
        spine = f'<itemref idref="nav"/>{spine}'
    else:
        points = "".join(
            f"<navPoint><navLabel><text>{name}</text></navLabel><content src='{place}'/></navPoint>"
            for name, place in places.items()
            if name
        )
        ncx = f'<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap>{points}</navMap></ncx>'
        files["OPS/toc.ncx"] = ncx.encode()
        items += '<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>'
    files["OPS/package.opf"] = (
        f'<package xmlns="http://www.idpf.org/2007/opf" version="{version}.0">'
        f'<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title></metadata>'
        f"<manifest>{items}</manifest><spine>{spine}</spine></package>"
    ).encode()
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as book:
        for place, data in {**files, **(more or {})}.items():
            book.writestr(place, data)
    return held.getvalue()
