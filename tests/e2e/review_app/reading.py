"""What stands in a page: links, and forms with their fields and buttons."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any


@dataclass
class FoundForm:
    """A form as a browser would send it; `buttons` are the names and values of what sends it."""

    action: str
    id: str
    fields: dict[str, str] = field(default_factory=dict)
    buttons: list[tuple[str, str]] = field(default_factory=list)


class Page(HTMLParser):
    """The addresses that a page names, and its forms."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.forms: list[FoundForm] = []
        self._form: FoundForm | None = None
        self._area = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        given = {name: value or "" for name, value in attrs}
        self.links += [given[name] for name in ("href", "src") if name in given]
        if tag == "form" and given.get("method") == "post":
            self._form = FoundForm(given["action"], given.get("id", ""))
            self.forms.append(self._form)
        form = self._form
        if form is None:
            return
        name, value = given.get("name", ""), given.get("value", "")
        if tag == "button" and "form" not in given and given.get("type") != "button":
            form.buttons.append((name, value))
        elif name and tag == "textarea":
            form.fields[name] = ""
            self._area = name
        elif name and tag == "input" and (given.get("type") not in ("radio", "checkbox") or "checked" in given):
            form.fields[name] = value
        elif name and tag == "input":
            form.fields.setdefault(name, "")

    def handle_data(self, data: str) -> None:
        if self._area and self._form is not None:
            self._form.fields[self._area] += data.removeprefix("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = None
        elif tag == "textarea":
            self._area = ""
