"""A preview as one HTML page that stands alone."""

from __future__ import annotations

from benchbuilder.exporters.rendering import render_html
from benchbuilder.previewing import Preview
from benchbuilder.spec.recipe import Recipe


def preview_page(preview: Preview, recipe: Recipe) -> str:
    """The page; every text in it is escaped."""
    return render_html("preview.html.j2", preview=preview, name=recipe.name, language=recipe.language)
