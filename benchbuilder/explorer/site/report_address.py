"""Where a reader of a static site reports an error: an issue, an e-mail, a page, or nowhere but the clipboard."""

from __future__ import annotations

import re

_GITHUB = re.compile(r"(https://github\.com/[\w.-]+/[\w.-]+?)(?:\.git|/issues(?:/new)?)?/?\Z")
_HUB = re.compile(r"(https://huggingface\.co/datasets/[\w.-]+/[\w.-]+)/discussions/?\Z")
_GITLAB = re.compile(r"(https://gitlab\.[\w.-]+/[\w./-]+?)(?:\.git|/-/issues(?:/new)?)?/?\Z")


def report_target(contact: str) -> dict[str, str]:
    """How the script makes an address for a report: `kind`, the `address`, and the names of title and text in it.

    >>> report_target("https://github.com/me/bench/issues")["address"]
    'https://github.com/me/bench/issues/new'
    >>> report_target("bench@example.org")["kind"], report_target("https://example.org/x")["kind"]
    ('mail', 'page')
    >>> report_target("")
    {'kind': 'none', 'address': ''}
    """
    if match := _GITHUB.match(contact):
        return {"kind": "issue", "address": f"{match[1]}/issues/new", "title": "title", "text": "body"}
    if match := _GITLAB.match(contact):
        return {"kind": "issue", "address": f"{match[1]}/-/issues/new", "title": "issue[title]",
                "text": "issue[description]"}  # fmt: skip
    if match := _HUB.match(contact):
        return {"kind": "issue", "address": f"{match[1]}/discussions/new", "title": "title", "text": "description"}
    if contact.startswith(("https://", "http://")):
        return {"kind": "page", "address": contact}
    return {"kind": "mail", "address": contact} if contact else {"kind": "none", "address": ""}
