"""What became of the facts of knowledge graphs, in lines for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from benchbuilder.core import count_phrase
from benchbuilder.pipeline import Manifest

_REASONS = 3
"""So many reasons are named."""


def graph_lines(manifests: Mapping[str, Manifest]) -> Iterator[str]:
    """For each step that makes questions of facts: how many it uses, why not more, and what would bring some back."""
    for name, manifest in manifests.items():
        if manifest.kind not in ("swap_triple", "ask_set_triple"):
            continue
        counts = Counter[str]()
        for _, outcome, reason, n in manifest.counts:
            counts[reason or outcome] += n
        stated = sum(counts.values()) - counts["false_statement"] - counts["switched_off"]
        if not stated:
            continue
        used = counts["kept"] + counts["in_set"]
        what = (
            "exchange their answers" if manifest.kind == "swap_triple" else f"are in {counts['kept']:,} set questions"
        )
        lost = {reason: n for reason, n in counts.most_common() if reason not in _NO_LOSS}
        named = ", ".join(f"{reason} {_share(n, stated)}" for reason, n in list(lost.items())[:_REASONS])
        yield (
            f"{name}: {used:,} of {count_phrase(stated, 'fact')} ({_share(used, stated)}) {what}"
            + (f"; not: {named}" if named else "")
            + _more(manifest.notes.get("presets"))
        )


_NO_LOSS = frozenset({"kept", "in_set", "false_statement", "switched_off", "asked_true_or_false"})


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %"


def _more(tried: Mapping[str, Any] | None) -> str:
    """What other presets would bring, by the facts on which they were tried."""
    if not tried:
        return ""
    exchanged: dict[str, int] = tried["exchanged"]
    now, scale = exchanged["now"], tried["of"] / tried["facts"]
    about = "about " if scale > 1 else ""
    gains = [f"swap={name} {about}{round((n - now) * scale):,} more"
             for name, n in exchanged.items() if name != "now" and n > now]  # fmt: skip
    return f". With people's votes on them, {', '.join(gains)}" if gains else ""
