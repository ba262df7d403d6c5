"""What a comparison leaves: its table, its rows, packets for people, and the key that says who wrote what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchbuilder.authoring.dry_run.blind_ratings import (
    RATERS,
    BlindRatings,
    TextToRate,
    read_blind_ratings,
    write_rating_sheets,
)
from benchbuilder.authoring.dry_run.compare import Comparison, ComparisonResult
from benchbuilder.core import count_phrase, escape_cell, measure_agreement
from benchbuilder.exporters import markdown_text

TABLE_HEAD = (
    "candidate", "rows", "accuracy by the checks", *(f"accuracy by {rater}" for rater in RATERS),
    "time (s)", "calls", "prompt tokens", "reply tokens", "USD",
)  # fmt: skip
_SAMPLES = 1000
_LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class RatedTexts:
    """A rater's verdicts on the texts of a candidate: how many texts there are, were judged, and are right."""

    texts: int
    rated: int
    right: int


@dataclass(frozen=True)
class ComparisonFiles:
    """The table as cells below its head, the notes below it, and the files that were written."""

    head: tuple[str, ...]
    table: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]
    files: tuple[Path, ...]


def write_comparison(comparison: Comparison, folder: Path, seed: int, language: str) -> ComparisonFiles:
    """Read the verdicts that people gave so far, and write table, rows, packets and key into `folder`.

    DataError, with nothing written, if a packet holds what cannot be read.
    """
    verdicts = read_blind_ratings(folder)
    folder.mkdir(parents=True, exist_ok=True)
    shown = _texts_to_rate(comparison)
    texts = {one.id: one for mine in shown.values() for one in mine.values()}
    packets = write_rating_sheets(folder, list(texts.values()), verdicts, seed, language)
    head = (*TABLE_HEAD, *(f"right of all rows by {rater}" for rater in _active_raters(shown, verdicts)))
    table = tuple(_table_line(result, shown, verdicts) for result in comparison.results)
    notes = tuple(_notes(comparison, shown, verdicts, seed))
    files = {
        "table.md": _markdown(comparison, head, table, notes),
        "rows.tsv": _rows(comparison),
        "key.tsv": _key(comparison, shown),
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    return ComparisonFiles(head, table, notes, (*(folder / name for name in files), *packets))


def _texts_to_rate(comparison: Comparison) -> dict[str, dict[int, TextToRate]]:
    """By candidate, the texts that it made, by the place of the row."""
    return {
        result.label: {
            place: TextToRate(comparison.inputs[place].replace("\n", " | "), one.text)
            for place, one in enumerate(result.texts)
            if one.text
        }
        for result in comparison.results
    }


def count_ratings(texts: Mapping[int, TextToRate], ratings: BlindRatings, rater: str) -> RatedTexts:
    """What a rater says of a candidate's texts."""
    found = [ratings.complete_rating(rater, one.id) for one in texts.values()]
    given = [verdict for verdict in found if verdict is not None]
    return RatedTexts(len(found), len(given), sum(verdict.is_right for verdict in given))


def _active_raters(texts: Mapping[str, Mapping[int, TextToRate]], ratings: BlindRatings) -> list[str]:
    """The raters who judged any text."""
    return [rater for rater in RATERS if any(count_ratings(mine, ratings, rater).rated for mine in texts.values())]


def _table_line(
    result: ComparisonResult, texts: Mapping[str, Mapping[int, TextToRate]], ratings: BlindRatings
) -> tuple[str, ...]:
    people = {rater: count_ratings(texts[result.label], ratings, rater) for rater in RATERS}
    name = result.label if result.model in ("", result.label) else f"{result.label} ({result.model})"
    return (
        name,
        str(result.applicable_count),
        _checked_proportion(result),
        *(_proportion(one.right, one.rated) for one in people.values()),
        _time(result),
        f"{result.calls}" + (f" ({result.kept_replies} from before)" if result.kept_replies else ""),
        f"{result.prompt_tokens}" + ("+" if result.replies_without_usage else ""),
        f"{result.completion_tokens}" + ("+" if result.replies_without_usage else ""),
        "unknown" if result.usd is None else f"{result.usd:.4f}",
        *(_proportion_right(people[rater], result) for rater in _active_raters(texts, ratings)),
    )


def _checked_proportion(result: ComparisonResult) -> str:
    """The share of the rows that it was heard on, and how many it was not."""
    share = _proportion(result.passed_count, result.applicable_count - result.failed_count)
    return ", ".join(filter(None, (share, f"failed {result.failed_count}" if result.failed_count else "")))


def _proportion_right(rated: RatedTexts, result: ComparisonResult) -> str:
    """Right texts among all rows: known once every text is judged."""
    if rated.rated < rated.texts:
        return "not all judged"
    return _proportion(rated.right, result.applicable_count - result.failed_count)


def _proportion(part: int, whole: int) -> str:
    return f"{part / whole:.2f} ({part}/{whole})" if whole else ""


def _time(result: ComparisonResult) -> str:
    if not result.calls and not result.failed_count:
        return f"{result.seconds:.1f}"
    if not result.timed_replies:
        return "not timed"
    return f"{result.seconds:.1f}" + (
        f" (for {result.timed_replies} of {result.calls})" if result.timed_replies < result.calls else ""
    )


def _notes(
    comparison: Comparison, texts_to_rate: Mapping[str, Mapping[int, TextToRate]], ratings: BlindRatings, seed: int
) -> list[str]:
    texts = list({one.id: None for mine in texts_to_rate.values() for one in mine.values()})
    notes = [f"{result.label}: {count_phrase(rows, 'row')} failed: {why}"
             for result in comparison.results for why, rows in result.failures().items()]  # fmt: skip
    if any(result.failed_count and result.timed_replies for result in comparison.results):
        notes.append("The time holds the attempts at rows that failed; the shares leave these rows out.")
    if len(comparison.results) > 1:
        notes.append(f"{len(comparison.disagreements())} of {len(comparison.ids)} rows: the candidates differ.")
    if _active_raters(texts_to_rate, ratings):
        wrote = ", ".join(
            f"{one.label} wrote {one.passed_count} of {one.applicable_count - one.failed_count} rows"
            for one in comparison.results
        )
        notes.append(f"The accuracy by a rater is a share of judged texts: {wrote}.")
    return [*notes, *_cost_notes(comparison), *_rating_notes(texts, ratings, seed)]


def _cost_notes(comparison: Comparison) -> list[str]:
    """What to know of times, tokens and prices."""
    notes: list[str] = []
    if any(result.timed_replies < result.calls for result in comparison.results):
        notes.append("Replies that were kept from before a first comparison took no time that could be measured.")
    if any(result.replies_without_usage for result in comparison.results):
        notes.append("+: the service did not count the tokens of some replies.")
    if dates := sorted({result.prices_as_of for result in comparison.results if result.prices_as_of}):
        notes.append(f"Prices of {', '.join(dates)}.")
    return notes


def _rating_notes(texts: Sequence[str], ratings: BlindRatings, seed: int) -> list[str]:
    """What is not judged yet, and how far people agree."""
    notes: list[str] = []
    for rater in RATERS:
        missing = sum(ratings.complete_rating(rater, text) is None for text in texts)
        if missing:
            notes.append(f"{rater}: {missing} of {len(texts)} texts are not judged yet.")
    both = [
        [{RATERS[0]: int(first.is_right), RATERS[1]: int(second.is_right)}]
        for text in texts
        if (first := ratings.complete_rating(RATERS[0], text)) and (second := ratings.complete_rating(RATERS[1], text))
    ]
    if both:
        found = measure_agreement(
            both, level="nominal", samples=_SAMPLES, confidence_level=_LEVEL, seed=seed, categories=(0, 1)
        )
        told = ", ".join(f"{name} {_value(found[name])}" for name in ("percent", "kappa", "ac1", "alpha"))
        notes.append(f"Agreement of the two on {len(both)} texts (right or not): {told}.")
    return notes


def _value(estimate: Mapping[str, Any]) -> str:
    if "undefined" in estimate:
        return str(estimate["undefined"])
    interval = "" if estimate["low"] is None else f" [{estimate['low']:.2f}, {estimate['high']:.2f}]"
    return f"{estimate['value']:.2f}{interval}"


def _markdown(comparison: Comparison, head: Sequence[str], table: Sequence[Sequence[str]], notes: Sequence[str]) -> str:
    lines = [f"# {markdown_text(comparison.step)}: {count_phrase(len(comparison.ids), 'row')}", ""]
    lines += [f"| {' | '.join(head)} |", f"| --- |{' ---: |' * (len(head) - 1)}"]
    lines += [f"| {' | '.join(markdown_text(cell) for cell in line)} |" for line in table]
    lines += ["", *(f"- {markdown_text(note)}" for note in notes)]
    return "\n".join(lines) + "\n"


def _rows(comparison: Comparison) -> str:
    """A line a row: what each candidate made of it, or why it made nothing."""
    head = ["id", "origin", "asked", *(result.label for result in comparison.results), "differ"]
    lines = ["\t".join(map(escape_cell, head))]
    differ = set(comparison.disagreements())
    for place, name in enumerate(comparison.ids):
        made = [one.text or one.explanation for one in (result.texts[place] for result in comparison.results)]
        cells = [name, comparison.origins[place], comparison.inputs[place], *made, str(int(place in differ))]
        lines.append("\t".join(map(escape_cell, cells)))
    return "\n".join(lines) + "\n"


def _key(comparison: Comparison, texts: Mapping[str, Mapping[int, TextToRate]]) -> str:
    """Who wrote each text of the packets."""
    lines = ["id\trow\tcandidate"]
    lines += sorted(
        "\t".join((one.id, comparison.ids[place], escape_cell(label)))
        for label, mine in texts.items()
        for place, one in mine.items()
    )
    return "\n".join(lines) + "\n"
