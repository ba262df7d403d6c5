"""The table of ratios: what was measured, beside the plain way of the same run, and what had to be reached."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scale.fits import Fit, growing, with_constant
from scale.sizes import AGAIN, EXPONENT, NIGHT_H, PEAK_MB, START, TARGETS

README = Path(__file__).parents[2] / "README.md"
MARK = "benchmarks"
Tasks = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Line:
    """A row: what was done, the plain way, ours, how they relate, the target if there is one, and whether it is met."""

    what: str
    plain: str
    ours: str
    relation: str
    target: str = ""
    met: bool | None = None


def lines(results: Mapping[str, Any]) -> list[Line]:
    """Every row that the results have figures for."""
    tasks: Tasks = results["tasks"]
    makers: Sequence[Callable[[Tasks], Iterator[Line]]] = (_retrieval, _tokens, _topic, _questions, _real, _big, _start)
    return [line for make in makers for line in make(tasks)]


def _retrieval(tasks: Tasks) -> Iterator[Line]:
    both = [int(name.rpartition(".")[2]) for name in tasks if name.startswith("retrieval.plain.")]
    both = [count for count in both if f"retrieval.ours.{count}" in tasks]
    if not both:
        return
    count = max(both)
    plain, ours = tasks[f"retrieval.plain.{count}"], tasks[f"retrieval.ours.{count}"]
    a, b = plain["queries_s"] / plain["queries"], ours["queries_s"] / ours["queries"]
    equal = f"equal on {ours.get('equal', 0)} of {ours.get('compared', 0)}"
    same = 0 < ours.get("compared", 0) == ours.get("equal")
    what = f"BM25, {count:,} paragraphs: a query ({equal})"
    yield _times(what, a, b, "query", same=same)
    asked = ours["queries"]
    searched, part = ours["open_s"] + ours["queries_s"], f"(plain: {plain['queries']} of them, extrapolated)"
    if "index_cut_s" in ours:
        what = f"BM25, {count:,} paragraphs that are cut already: index and {asked:,} queries {part}"
        yield _times(what, plain["index_s"] + a * asked, ours["index_cut_s"] + searched, "retrieval", same=same)
    what = f"BM25, {count:,} paragraphs: tokenising, index and {asked:,} queries {part}"
    first = plain["tokens_s"] + plain["index_s"]
    yield _times(what, first + a * asked, ours["index_s"] + searched, "", same=same)


def _tokens(tasks: Tasks) -> Iterator[Line]:
    if plain_ours := _pair(tasks, "tokens"):
        plain, ours = plain_ours
        same = plain["digest"] == ours["digest"]
        what = f"tokenising {plain['texts']:,} paragraphs (tokens {'equal' if same else 'NOT equal'})"
        yield _times(what, plain["seconds"], ours["seconds"], "tokens", same=same)


def _topic(tasks: Tasks) -> Iterator[Line]:
    if plain_ours := _pair(tasks, "topic"):
        plain, ours = plain_ours
        what = f"both ends of {plain['triples']:,} triples in {plain['words']} words"
        yield _times(what, plain["seconds"], ours["seconds"], "topic", same=plain["kept"] == ours["kept"])


def _questions(tasks: Tasks) -> Iterator[Line]:
    if plain_ours := _pair(tasks, "questions"):
        plain, ours = plain_ours
        same = plain["kept"] == ours["kept"]
        what = f"any word of the list in {plain['questions']:,} questions"
        yield _times(what, plain["seconds"], ours["seconds"], "", same=same)


def _real(tasks: Tasks) -> Iterator[Line]:
    for words, called in (("care_mi", "bundled word list"), ("broad", "broad word list")):
        pair = _pair(tasks, f"real.{words}")
        if pair is None or "skipped" in pair[0] or "skipped" in pair[1]:
            continue
        plain, ours = pair
        what = (
            f"whole build of real files and {plain['paragraphs']:,} paragraphs, {called}: {plain['queries']:,} "
            f"candidates (plain: {plain['searched']} of the queries, equal on {plain['equal']})"
        )
        same = plain["equal"] == plain["searched"]
        yield _times(what, plain["seconds"], ours["seconds"], f"real_{words}", same=same)


def _big(tasks: Tasks) -> Iterator[Line]:
    sizes = sorted(int(name.partition(".")[2]) for name in tasks if name.startswith("triples."))
    if not sizes:
        return
    largest = tasks[f"triples.{sizes[-1]}"]
    first, again = largest["first"], largest["again"]
    name = f"{sizes[-1]:,} triples to {largest['candidates']:,} candidates with evidence"
    if first["tree_mb"] is not None:
        peak = first["tree_mb"]
        shared = f"{first['shared_mb']:,.0f} MB" if first["shared_mb"] else "unknown"
        relation = f"shared memory once: {shared}; largest process: {first['process_mb']:,.0f} MB"
        met = peak < PEAK_MB
        what, most = f"{name}: peak memory of all processes", f"< {PEAK_MB:,.0f} MB"
        yield Line(what, "", f"{peak:,.0f} MB", relation, most, met)
    points = [(float(size), float(tasks[f"triples.{size}"]["first"]["seconds"])) for size in sizes]
    if (fit := growing(points)) is not None:
        whole = with_constant(points)
        above = "" if whole is None else f"; above a constant of {whole.constant:.1f} s: {whole.exponent:.2f}"
        relation = f"exponent {fit.exponent:.2f} from {fit.first:,.0f} triples on{above}"
        met = fit.exponent <= EXPONENT
        yield Line(f"{name}: growth of the time", "", _seconds(first["seconds"]), relation, f"≤ {EXPONENT}", met)
        yield _extrapolated(fit, sizes, tasks)
    share = again["seconds"] / first["seconds"]
    opened = again["sources_opened"]
    unread = "unknown" if opened is None else f"sources opened: {opened['opened']}"
    met = share < AGAIN and not (opened and opened["opened"])
    ours, relation = _seconds(again["seconds"]), f"{share:.2%} of the first; {unread}"
    yield Line("the same again with nothing changed", "", ours, relation, f"< {AGAIN:.0%}, none opened", met)


def _extrapolated(fit: Fit, sizes: Sequence[int], tasks: Tasks) -> Line:
    """Ten times the largest size, by the law of the measured ones; what is on the disk grows evenly."""
    most, last = 10 * sizes[-1], tasks[f"triples.{sizes[-1]}"]["first"]
    disk = f"; disk: {(last['stored_mb'] + last['sources_mb']) / 100:,.0f} GB" if "stored_mb" in last else ""
    what, hours = f"{most:,} triples, not run: by the same law", fit.at(most) / 3600
    return Line(what, "", f"{hours:.1f} h", f"extrapolated{disk}", f"≤ {NIGHT_H:g} h", hours <= NIGHT_H)


def _start(tasks: Tasks) -> Iterator[Line]:
    if "start" in tasks:
        found = tasks["start"]
        share = found["help_s"] / found["hydra_s"]
        plain, ours = f"{found['hydra_s'] * 1000:.0f} ms", f"{found['help_s'] * 1000:.0f} ms"
        what = "`benchbuild --help`, beside Python with argparse and hydra"
        yield Line(what, plain, ours, f"{share:.2f} × its time", f"≤ {START:g} ×", share <= START)


def _pair(tasks: Tasks, name: str) -> tuple[Mapping[str, Any], Mapping[str, Any]] | None:
    plain, ours = tasks.get(f"{name}.plain"), tasks.get(f"{name}.ours")
    return None if plain is None or ours is None else (plain, ours)


def _times(what: str, plain: float, ours: float, target: str, *, same: bool) -> Line:
    """A row whose target is a number of times; without equal results it is missed."""
    least, ratio = TARGETS.get(target), plain / ours
    told = f"{ratio:,.0f} ×" if ratio >= 20 else f"{ratio:.1f} ×"
    told += "" if same else ", results differ"
    if least is None:
        return Line(what, _seconds(plain), _seconds(ours), told, "", None if same else False)
    return Line(what, _seconds(plain), _seconds(ours), told, f"≥ {least:,g} ×", same and ratio >= least)


def _seconds(value: float) -> str:
    if value < 1:
        return f"{value * 1000:.3g} ms"
    return f"{value:.1f} s" if value < 100 else f"{value:,.0f} s"


HEAD = ("what", "plain way", "benchbuilder", "relation", "target")


def text(rows: Sequence[Line]) -> str:
    """For a terminal."""
    marks = {True: "met", False: "MISSED", None: ""}
    return "\n".join(
        f"{row.what}\n    {' | '.join(filter(None, (row.plain, row.ours, row.relation, row.target, marks[row.met])))}"
        for row in rows
    )


def markdown(results: Mapping[str, Any]) -> str:
    """The table for a page, and what it was measured on."""
    cells = [HEAD, ("---", "---:", "---:", "---", "---")]
    for row in lines(results):
        missed = " (missed)" if row.met is False else ""
        cells.append((row.what, row.plain or "-", row.ours, row.relation, (row.target or "-") + missed))
    drawn = "\n".join(f"| {' | '.join(row)} |" for row in cells)
    return f"{drawn}\n\n{measured_on(results['run'])}"


def measured_on(run: Mapping[str, Any]) -> str:
    """A sentence about machine, versions and date."""
    memory = f", {run['memory_gb']:g} GB of memory" if run["memory_gb"] else ""
    versions = ", ".join(f"{name} {found}" for name, found in run["versions"].items())
    return (
        f"Measured on {run['date']} on {run['machine']} ({run['cores']} cores{memory}), Python {run['python']}, "
        f"{versions}; load before it began: {run['load']}." + (f" {run['note']}" if "note" in run else "")
    )


def short(found: Mapping[str, Any]) -> str:
    """A measurement in a line."""
    if "skipped" in found:
        return f"skipped: {found['skipped']}"
    told = [f"{key} {value:.4g}" for key, value in found.items() if isinstance(value, float) and key != "in_all_s"]
    return ", ".join(told + [f"{key} {value:,}" for key, value in found.items() if isinstance(value, int)])


def marks(name: str) -> tuple[str, str]:
    """The lines of a page between which what is called `name` stands."""
    return f"<!-- {name}: begin -->", f"<!-- {name}: end -->"


def filled(page: str, name: str, content: str) -> str:
    """`page` with `content` between the marks of `name`."""
    begin, end = marks(name)
    before, mark, rest = page.partition(begin)
    _, other, after = rest.partition(end)
    if not mark or not other:
        raise ValueError(f"the page has no lines {begin} and {end}")
    return f"{before}{begin}\n\n{content}\n\n{end}{after}"


def write_readme(results: Mapping[str, Any]) -> int:
    """Put the table into README.md."""
    README.write_text(filled(README.read_text(encoding="utf-8"), MARK, markdown(results)), encoding="utf-8")
    print(f"written: {README}")
    return 0
