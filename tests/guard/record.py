"""The text of the records of a group: a line a thing. A later record holds only what differs from its base.

The name of a record is that of a case, and after a blank a word for what was done with it. The base of a record is the
first with the same word: that of the build of a variant is the build of the recipe.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

Fields = dict[str, str]
Thing = tuple[str, str]
"""The kind and the name of what a line tells of."""
_GONE = "without"


@dataclass
class Record:
    """What is known of one case: the fields of each thing, and the lines of each list of items."""

    things: dict[Thing, Fields] = field(default_factory=dict[Thing, Fields])
    items: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    @classmethod
    def of_lines(cls, lines: Iterable[str]) -> Record:
        """The record that lines tell."""
        record = cls()
        rows: list[str] = []
        for text in lines:
            if text.startswith("- "):
                rows.append(text)
                continue
            kind, name, *told = text.split("\t")
            record.things[kind, name] = dict(one.split("=", 1) for one in told)
            if kind == "items":
                rows = record.items[name] = []
        return record

    def lines(self, base: Record | None = None) -> list[str]:
        """The lines that tell it; with a base, those that tell how it differs."""
        told: list[str] = []
        for (kind, name), fields in self.things.items():
            rows = self.items.get(name, []) if kind == "items" else []
            known = base is not None and base.things.get((kind, name)) == fields
            if not known or (base is not None and rows and base.items.get(name) != rows):
                told += ["\t".join([kind, name, *(f"{key}={value}" for key, value in fields.items())]), *rows]
        gone = [] if base is None else [thing for thing in base.things if thing not in self.things]
        return [*told, *("\t".join([_GONE, *thing]) for thing in gone)]


def base_of(name: str, names: Iterable[str]) -> str | None:
    """The name of the base of a record, if it is not the first of its sort."""
    return next((other for other in names if other != name and other.partition(" ")[2] == name.partition(" ")[2]), None)


def written(records: Mapping[str, Record]) -> str:
    """The file of a group."""
    lines: list[str] = []
    for name, one in records.items():
        base = base_of(name, list(records)[: list(records).index(name)])
        lines += [f"# {name}", *one.lines(None if base is None else records[base])]
    return "".join(f"{text}\n" for text in lines)


def read(text: str) -> dict[str, Record]:
    """The records of a group by name."""
    parts: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.startswith("# "):
            parts[line[2:]] = []
        else:
            parts[next(reversed(parts))].append(line)
    records: dict[str, Record] = {}
    for name, lines in parts.items():
        own = Record.of_lines(line for line in lines if not line.startswith(f"{_GONE}\t"))
        if (first := base_of(name, records)) is not None:
            base = records[first]
            gone = {tuple(line.split("\t")[1:]) for line in lines if line.startswith(f"{_GONE}\t")}
            things = {thing: told for thing, told in (base.things | own.things).items() if thing not in gone}
            own = Record(things, {name: rows for name, rows in (base.items | own.items).items()
                                  if ("items", name) in things})  # fmt: skip
        records[name] = own
    return records
