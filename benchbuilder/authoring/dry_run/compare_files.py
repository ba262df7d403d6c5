"""The files of a comparison: its table, its rows, sheets for raters, and the key to who wrote what."""

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
from benchbuilder.core import count_phrase, escape_cell, measure_agreement, write_atomically
from benchbuilder.exporters import markdown_text

TABLE_HEAD = (
    "candidate", "rows", "accuracy by the checks", *(f"accuracy by {rater}" for rater in RATERS),
    "time (s)", "calls", "prompt tokens", "reply tokens", "USD",
)  # fmt: skip
_SAMPLES = 1000
_LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class RatedTexts:
    """A rater's counts for a candidate: all texts, rated texts and right texts."""

    texts: int
    rated: int
    right: int


@dataclass(frozen=True)
class ComparisonFiles:
    """The table as cells with its head, the notes below it, and the written files."""

    head: tuple[str, ...]
    table: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]
    files: tuple[Path, ...]


def write_comparison(comparison: Comparison, folder: Path, seed: int, language: str) -> ComparisonFiles:
    """Read the ratings so far, and write table, rows, sheets and key.

    Args:
        comparison: The comparison.
        folder: Where the files go.
        seed: The seed of the recipe.
        language: The language of the sheets.

    Raises:
        DataError: A sheet cannot be read; nothing is written.
    """
    ratings = read_blind_ratings(folder)
    folder.mkdir(parents=True, exist_ok=True)
    by_label = _texts_to_rate(comparison)
    texts = {text.id: text for own in by_label.values() for text in own.values()}
    sheets = write_rating_sheets(folder, list(texts.values()), ratings, seed, language)
    head = (*TABLE_HEAD, *(f"right of all rows by {rater}" for rater in _active_raters(by_label, ratings)))
    table = tuple(_table_line(result, by_label, ratings) for result in comparison.results)
    notes = tuple(_notes(comparison, by_label, ratings, seed))
    files = {
        "table.md": _markdown(comparison, head, table, notes),
        "rows.tsv": _rows(comparison),
        "key.tsv": _key(comparison, by_label),
    }
    for name, text in files.items():
        write_atomically(folder / name, text)
    return ComparisonFiles(head, table, notes, (*(folder / name for name in files), *sheets))


def _texts_to_rate(comparison: Comparison) -> dict[str, dict[int, TextToRate]]:
    """The texts of each candidate, by the position of the row."""
    return {
        result.label: {
            position: TextToRate(comparison.inputs[position].replace("\n", " | "), text.text)
            for position, text in enumerate(result.texts)
            if text.text
        }
        for result in comparison.results
    }


def count_ratings(texts: Mapping[int, TextToRate], ratings: BlindRatings, rater: str) -> RatedTexts:
    """A rater's counts for the texts of a candidate."""
    rated = [rating for text in texts.values() if (rating := ratings.complete_rating(rater, text.id)) is not None]
    return RatedTexts(len(texts), len(rated), sum(rating.is_right for rating in rated))


def _active_raters(texts: Mapping[str, Mapping[int, TextToRate]], ratings: BlindRatings) -> list[str]:
    """The raters with any complete rating."""
    return [rater for rater in RATERS if any(count_ratings(own, ratings, rater).rated for own in texts.values())]


def _table_line(
    result: ComparisonResult, texts: Mapping[str, Mapping[int, TextToRate]], ratings: BlindRatings
) -> tuple[str, ...]:
    people = {rater: count_ratings(texts[result.label], ratings, rater) for rater in RATERS}
    name = result.label if result.model in ("", result.label) else f"{result.label} ({result.model})"
    return (
        name,
        str(result.applicable_count),
        _checked_proportion(result),
        *(_proportion(counts.right, counts.rated) for counts in people.values()),
        _time(result),
        f"{result.calls}" + (f" ({result.kept_replies} from before)" if result.kept_replies else ""),
        f"{result.prompt_tokens}" + ("+" if result.replies_without_usage else ""),
        f"{result.completion_tokens}" + ("+" if result.replies_without_usage else ""),
        "unknown" if result.usd is None else f"{result.usd:.4f}",
        *(_proportion_right(people[rater], result) for rater in _active_raters(texts, ratings)),
    )


def _checked_proportion(result: ComparisonResult) -> str:
    """The proportion of answered rows whose text passed, and the number of failed rows."""
    passed = _proportion(result.passed_count, result.applicable_count - result.failed_count)
    return ", ".join(filter(None, (passed, f"failed {result.failed_count}" if result.failed_count else "")))


def _proportion_right(rated: RatedTexts, result: ComparisonResult) -> str:
    """The proportion of right texts in all rows, once every text is rated."""
    if rated.rated < rated.texts:
        return "not all rated"
    return _proportion(rated.right, result.applicable_count - result.failed_count)


def _proportion(part: int, whole: int) -> str:
    return f"{part / whole:.2f} ({part}/{whole})" if whole else ""


def _time(result: ComparisonResult) -> str:
    if not result.calls and not result.failed_count:
        return f"{result.seconds:.1f}"
    if not result.timed_replies:
        return "not timed"
    part = f" (for {result.timed_replies} of {result.calls})" if result.timed_replies < result.calls else ""
    return f"{result.seconds:.1f}{part}"


def _notes(
    comparison: Comparison, texts_to_rate: Mapping[str, Mapping[int, TextToRate]], ratings: BlindRatings, seed: int
) -> list[str]:
    texts = list({text.id: None for own in texts_to_rate.values() for text in own.values()})
    notes = [f"{result.label}: {count_phrase(rows, 'row')} failed: {why}"
             for result in comparison.results for why, rows in result.failures().items()]  # fmt: skip
    if any(result.failed_count and result.timed_replies for result in comparison.results):
        notes.append("The time includes attempts at failed rows; the proportions leave these rows out.")
    if len(comparison.results) > 1:
        notes.append(f"{len(comparison.disagreements())} of {len(comparison.ids)} rows: the candidates differ.")
    if _active_raters(texts_to_rate, ratings):
        wrote = ", ".join(
            f"{result.label} wrote {result.passed_count} of {result.applicable_count - result.failed_count} rows"
            for result in comparison.results
        )
        notes.append(f"The accuracy by a rater is a proportion of rated texts: {wrote}.")
    return [*notes, *_cost_notes(comparison), *_rating_notes(texts, ratings, seed)]


def _cost_notes(comparison: Comparison) -> list[str]:
    """Notes on times, tokens and prices."""
    notes: list[str] = []
    if any(result.timed_replies < result.calls for result in comparison.results):
        notes.append("Replies that were stored before the first comparison have no measured time.")
    if any(result.replies_without_usage for result in comparison.results):
        notes.append("+: the service did not count the tokens of some replies.")
    if dates := sorted({result.prices_as_of for result in comparison.results if result.prices_as_of}):
        notes.append(f"Prices of {', '.join(dates)}.")
    return notes


def _rating_notes(texts: Sequence[str], ratings: BlindRatings, seed: int) -> list[str]:
    """Notes on missing ratings and on agreement."""
    notes: list[str] = []
    for rater in RATERS:
        missing = sum(ratings.complete_rating(rater, text) is None for text in texts)
        if missing:
            notes.append(f"{rater}: {missing} of {len(texts)} texts are not rated yet.")
    both = [
        [{RATERS[0]: int(first.is_right), RATERS[1]: int(second.is_right)}]
        for text in texts
        if (first := ratings.complete_rating(RATERS[0], text)) and (second := ratings.complete_rating(RATERS[1], text))
    ]
    if both:
        agreement = measure_agreement(
            both, level="nominal", samples=_SAMPLES, confidence_level=_LEVEL, seed=seed, categories=(0, 1)
        )
        values = ", ".join(f"{name} {_value(agreement[name])}" for name in ("percent", "kappa", "ac1", "alpha"))
        notes.append(f"Agreement of the two on {len(both)} texts (right or not): {values}.")
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
    """One line per row: the text of each candidate, or why it wrote none."""
    head = ["id", "origin", "asked", *(result.label for result in comparison.results), "differ"]
    lines = ["\t".join(map(escape_cell, head))]
    differ = set(comparison.disagreements())
    for n, name in enumerate(comparison.ids):
        texts = [result.texts[n].text or result.texts[n].explanation for result in comparison.results]
        cells = [name, comparison.origins[n], comparison.inputs[n], *texts, str(int(n in differ))]
        lines.append("\t".join(map(escape_cell, cells)))
    return "\n".join(lines) + "\n"


def _key(comparison: Comparison, texts: Mapping[str, Mapping[int, TextToRate]]) -> str:
    """Who wrote each text of the sheets."""
    lines = (
        "\t".join((text.id, comparison.ids[position], escape_cell(label)))
        for label, own in texts.items()
        for position, text in own.items()
    )
    return "\n".join(["id\trow\tcandidate", *sorted(lines)]) + "\n"
