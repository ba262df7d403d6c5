"""Fills the templates of exported files."""

from __future__ import annotations

from functools import cache

import jinja2


def render(template: str, **values: object) -> str:
    """The text of a template in the folder ``templates``, with `values`; each is needed."""
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> jinja2.Environment:
    loader = jinja2.PackageLoader("benchbuilder.publishing.harnesses")
    environment = jinja2.Environment(  # these files are programs, YAML and Markdown
        loader=loader, autoescape=False, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters["pyrepr"] = repr
    return environment
