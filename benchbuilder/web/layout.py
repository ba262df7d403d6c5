"""Finds the templates that the web apps and the reports share: the frame of a page, and the design tokens."""

from __future__ import annotations

from importlib.resources import files

from jinja2 import BaseLoader, FileSystemLoader


def layout_loader() -> BaseLoader:
    """A loader of the shared templates and style sheets."""
    own = files("benchbuilder.web")
    return FileSystemLoader([str(own.joinpath("templates")), str(own.joinpath("static"))])
