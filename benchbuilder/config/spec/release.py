"""What a release of the benchmark holds back, who made it, and where it goes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from benchbuilder.config.spec.base import FileRef, FolderPath, RuntimeOption, Spec

REPOSITORY_PATTERN = r"^[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*$"
"""The name of a repository on the Hub, with its owner."""


class ReleaseSpec(Spec):
    """How ``benchbuild release`` divides and describes the benchmark; no step of the build depends on it.

    `private` is the share of the items, in whole families, whose labels stay with the maker. `dev` is the least number
    of items of each configuration, in whole families, that serve as examples in prompts and are never asked. `authors`
    are the people or groups to cite, `url` is the page of the benchmark, `repository` its place on the Hub
    (``owner/name``).
    """

    private: Annotated[float, Field(ge=0, le=0.9)] = 0.0
    dev: Annotated[int, Field(ge=0, le=1000)] = 0
    names: Literal["none", "public", "private"] | None = None
    """Whom the texts name: nobody (``none``), only persons of public life in published sources (``public``), or private
    persons as well (``private``). ``null``: not stated."""
    authors: tuple[Annotated[str, Field(pattern=r"\S")], ...] = ()
    url: Annotated[str, Field(pattern=r"^(https?://\S+)?$")] = ""
    repository: Annotated[str | None, Field(pattern=REPOSITORY_PATTERN)] = None
    contact: Annotated[str, Field(pattern=r"^(https?://\S+|[^@\s]+@[^@\s]+)?$")] = ""
    """Where readers report an error in an item: a page, or an address of electronic mail. The card prints it."""
    checks: FileRef | None = None
    """The log of facts that experts checked again (``.jsonl``), which ``benchbuild due`` writes."""
    dir: Annotated[FolderPath, RuntimeOption()] = "releases"
    """Folder of all releases, under the current folder."""
