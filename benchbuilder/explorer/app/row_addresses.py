"""Addresses of rows: every filter, search and cursor is in them, so that a page can be kept and sent."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from urllib.parse import quote, urlencode

from starlette.requests import Request

from benchbuilder.explorer.app.page_templates import path_part
from benchbuilder.explorer.reading.branch_pages import BranchFilter
from benchbuilder.explorer.reading.build_folders import BuildFolder
from benchbuilder.explorer.reading.text_search import TextQuery

_LONGEST = 1000


@dataclass(frozen=True)
class RowsQuery:
    """What an address of rows asks for.

    `after` is a cursor, in a sorted selection a number of rows. `re` and `lines` are ``1`` or empty: whether `q` is a
    regular expression, and whether the lines of files stand beside the rows.
    """

    step: str = ""
    source: str = ""
    outcome: str = ""
    reason: str = ""
    q: str = ""
    re: str = ""
    after: str = ""
    sort: str = ""
    sample: str = ""
    lines: str = ""

    @classmethod
    def of(cls, request: Request) -> RowsQuery:
        """The query of a request; what it does not know is left out."""
        given = request.query_params
        return cls(**{field.name: given.get(field.name, "")[:_LONGEST] for field in fields(cls)})

    def with_changes(self, **changes: str) -> RowsQuery:
        """Another query, from the first page on unless `after` is given."""
        return replace(self, **{"after": "", **changes})

    def words(self) -> dict[str, str]:
        """Its values that are not empty, by name."""
        return {name: value for name, value in asdict(self).items() if value}

    def selection(self) -> BranchFilter:
        """The branches that it selects; DataError for what is no regular expression."""
        query = TextQuery(self.q, self.re == "1") if self.q else None
        return BranchFilter(self.source, self.outcome, self.reason, query)


def rows_address(build: BuildFolder, query: RowsQuery, **changes: str) -> str:
    """The address of rows."""
    words = query.with_changes(**changes).words()
    return f"/b/{path_part(build.name)}/rows" + (f"?{urlencode(words)}" if words else "")


def row_address(build: BuildFolder, row: str) -> str:
    """The address of the page of a row."""
    return f"/b/{path_part(build.name)}/row/{path_part(row)}"


def unit_address(build: BuildFolder, file: str, line: int) -> str:
    """The address of the page of a unit of a file."""
    return f"/b/{path_part(build.name)}/unit/{quote(file)}:{line}"
