"""What a comparison leaves: its table, its rows, packets for people, and the key that says who wrote what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchbuilder.authoring.dry_run.blind_ratings import RATERS, Shown, Verdicts, read_verdicts, write_packets
from benchbuilder.authoring.dry_run.compare import Comparison, Result
from benchbuilder.core.display import counted
from benchbuilder.core.stats.agreement.ratings import measure_ratings
from benchbuilder.core.text.cells import escape
from benchbuilder.exporters.render.templates import markdown

HEAD = (
    "candidate", "rows", "accuracy by the checks", *(f"accuracy by {rater}" for rater in RATERS),
    "time (s)", "calls", "prompt tokens", "reply tokens", "USD",
)  # fmt: skip
_SAMPLES = 1000
_LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Judged:
    """A rater's verdicts on the texts of a candidate: how many texts there are, were judged, and are right."""

    texts: int
    judged: int
    right: int


@dataclass(frozen=True)
class Filed:
    """The table as cells below its head, the notes below it, and the files that were written."""

    head: tuple[str, ...]
    table: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]
    files: tuple[Path, ...]


def file_comparison(comparison: Comparison, folder: Path, seed: int, language: str) -> Filed:
    """Read the verdicts that people gave so far, and write table, rows, packets and key into `folder`.

    DataError, with nothing written, if a packet holds what cannot be read.
    """
    verdicts = read_verdicts(folder)
    folder.mkdir(parents=True, exist_ok=True)
    shown = _shown(comparison)
    texts = {one.id: one for mine in shown.values() for one in mine.values()}
    packets = write_packets(folder, list(texts.values()), verdicts, seed, language)
    head = (*HEAD, *(f"right of all rows by {rater}" for rater in _heard(shown, verdicts)))
    table = tuple(_line(result, shown, verdicts) for result in comparison.results)
    notes = tuple(_notes(comparison, shown, verdicts, seed))
    files = {
        "table.md": _markdown(comparison, head, table, notes),
        "rows.tsv": _rows(comparison),
        "key.tsv": _key(comparison, shown),
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    return Filed(head, table, notes, (*(folder / name for name in files), *packets))


def _shown(comparison: Comparison) -> dict[str, dict[int, Shown]]:
    """By candidate, the texts that it made, by the place of the row."""
    return {
        result.label: {
            place: Shown(comparison.asked[place].replace("\n", " | "), one.text)
            for place, one in enumerate(result.written)
            if one.text
        }
        for result in comparison.results
    }


def judged(shown: Mapping[int, Shown], verdicts: Verdicts, rater: str) -> Judged:
    """What a rater says of a candidate's texts."""
    found = [verdicts.complete(rater, one.id) for one in shown.values()]
    given = [verdict for verdict in found if verdict is not None]
    return Judged(len(found), len(given), sum(verdict.right for verdict in given))


def _heard(shown: Mapping[str, Mapping[int, Shown]], verdicts: Verdicts) -> list[str]:
    """The raters who judged any text."""
    return [rater for rater in RATERS if any(judged(mine, verdicts, rater).judged for mine in shown.values())]


def _line(result: Result, shown: Mapping[str, Mapping[int, Shown]], verdicts: Verdicts) -> tuple[str, ...]:
    people = {rater: judged(shown[result.label], verdicts, rater) for rater in RATERS}
    name = result.label if result.model in ("", result.label) else f"{result.label} ({result.model})"
    return (
        name,
        str(result.applicable),
        _checked(result),
        *(_share(one.right, one.judged) for one in people.values()),
        _time(result),
        f"{result.calls}" + (f" ({result.before} from before)" if result.before else ""),
        f"{result.prompt_tokens}" + ("+" if result.uncounted else ""),
        f"{result.completion_tokens}" + ("+" if result.uncounted else ""),
        "unknown" if result.usd is None else f"{result.usd:.4f}",
        *(_overall(people[rater], result) for rater in _heard(shown, verdicts)),
    )


def _checked(result: Result) -> str:
    """The share of the rows that it was heard on, and how many it was not."""
    share = _share(result.kept, result.applicable - result.failed)
    return ", ".join(filter(None, (share, f"failed {result.failed}" if result.failed else "")))


def _overall(people: Judged, result: Result) -> str:
    """Right texts among all rows: known once every text is judged."""
    if people.judged < people.texts:
        return "not all judged"
    return _share(people.right, result.applicable - result.failed)


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.2f} ({part}/{whole})" if whole else ""


def _time(result: Result) -> str:
    if not result.calls and not result.failed:
        return f"{result.seconds:.1f}"
    if not result.timed:
        return "not timed"
    return f"{result.seconds:.1f}" + (f" (for {result.timed} of {result.calls})" if result.timed < result.calls else "")


def _notes(
    comparison: Comparison, shown: Mapping[str, Mapping[int, Shown]], verdicts: Verdicts, seed: int
) -> list[str]:
    texts = list({one.id: None for mine in shown.values() for one in mine.values()})
    notes = [f"{result.label}: {counted(rows, 'row')} failed: {why}"
             for result in comparison.results for why, rows in result.failures().items()]  # fmt: skip
    if any(result.failed and result.timed for result in comparison.results):
        notes.append("The time holds the attempts at rows that failed; the shares leave these rows out.")
    if len(comparison.results) > 1:
        notes.append(f"{len(comparison.disagreements())} of {len(comparison.ids)} rows: the candidates differ.")
    if _heard(shown, verdicts):
        wrote = ", ".join(f"{one.label} wrote {one.kept} of {one.applicable - one.failed} rows" for one in
                          comparison.results)  # fmt: skip
        notes.append(f"The accuracy by a rater is a share of judged texts: {wrote}.")
    return [*notes, *_kept_notes(comparison), *_people_notes(texts, verdicts, seed)]


def _kept_notes(comparison: Comparison) -> list[str]:
    """What to know of times, tokens and prices."""
    notes: list[str] = []
    if any(result.timed < result.calls for result in comparison.results):
        notes.append("Replies that were kept from before a first comparison took no time that could be measured.")
    if any(result.uncounted for result in comparison.results):
        notes.append("+: the service did not count the tokens of some replies.")
    if dates := sorted({result.prices_as_of for result in comparison.results if result.prices_as_of}):
        notes.append(f"Prices of {', '.join(dates)}.")
    return notes


def _people_notes(texts: Sequence[str], verdicts: Verdicts, seed: int) -> list[str]:
    """What is not judged yet, and how far people agree."""
    notes: list[str] = []
    for rater in RATERS:
        missing = sum(verdicts.complete(rater, text) is None for text in texts)
        if missing:
            notes.append(f"{rater}: {missing} of {len(texts)} texts are not judged yet.")
    both = [
        [{RATERS[0]: int(first.right), RATERS[1]: int(second.right)}]
        for text in texts
        if (first := verdicts.complete(RATERS[0], text)) and (second := verdicts.complete(RATERS[1], text))
    ]
    if both:
        found = measure_ratings(
            both, level="nominal", samples=_SAMPLES, confidence_level=_LEVEL, seed=seed, categories=(0, 1)
        )
        told = ", ".join(f"{name} {_value(found[name])}" for name in ("percent", "kappa", "ac1", "alpha"))
        notes.append(f"Agreement of the two on {len(both)} texts (right or not): {told}.")
    return notes


def _value(found: Mapping[str, Any]) -> str:
    if "undefined" in found:
        return str(found["undefined"])
    interval = "" if found["low"] is None else f" [{found['low']:.2f}, {found['high']:.2f}]"
    return f"{found['value']:.2f}{interval}"


def _markdown(comparison: Comparison, head: Sequence[str], table: Sequence[Sequence[str]], notes: Sequence[str]) -> str:
    lines = [f"# {markdown(comparison.step)}: {counted(len(comparison.ids), 'row')}", ""]
    lines += [f"| {' | '.join(head)} |", f"| --- |{' ---: |' * (len(head) - 1)}"]
    lines += [f"| {' | '.join(markdown(cell) for cell in line)} |" for line in table]
    lines += ["", *(f"- {markdown(note)}" for note in notes)]
    return "\n".join(lines) + "\n"


def _rows(comparison: Comparison) -> str:
    """A line a row: what each candidate made of it, or why it made nothing."""
    head = ["id", "origin", "asked", *(result.label for result in comparison.results), "differ"]
    lines = ["\t".join(map(escape, head))]
    differ = set(comparison.disagreements())
    for place, name in enumerate(comparison.ids):
        made = [one.text or one.told for one in (result.written[place] for result in comparison.results)]
        cells = [name, comparison.origins[place], comparison.asked[place], *made, str(int(place in differ))]
        lines.append("\t".join(map(escape, cells)))
    return "\n".join(lines) + "\n"


def _key(comparison: Comparison, shown: Mapping[str, Mapping[int, Shown]]) -> str:
    """Who wrote each text of the packets."""
    lines = ["id\trow\tcandidate"]
    lines += sorted(
        "\t".join((one.id, comparison.ids[place], escape(label)))
        for label, mine in shown.items()
        for place, one in mine.items()
    )
    return "\n".join(lines) + "\n"
