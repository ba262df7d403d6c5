"""Makes the bundled table of languages from CLDR: ``python make_language_table.py FOLDER > languages.tsv``.

FOLDER holds the unpacked packages cldr-core, cldr-misc-full, cldr-numbers-full and cldr-segments-full of the npm
registry, each under its own name. What CLDR does not say is in the lists below.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import regex

TAGS = """
af am ar as az be bg bn bs ca ceb cs cy da de el en es et eu fa fi fil fr ga gl gu ha he hi hr hu hy id ig is it ja
jv ka kk km kn ko ku ky lo lt lv mg mk ml mn mr ms mt my nb ne nl om or pa pl ps pt ro ru rw si sk sl sn so sq sr st su
sv sw ta te tg th ti tk tn tr uk ur uz vi wo xh yo yue zh zh-Hant zu
""".split()  # noqa: SIM905
COLUMNS = ("tag", "script", "joiner", "stop", "question_mark", "open_mark", "quotes", "comma", "list_and", "direction",
           "digits", "unit", "stops", "abbreviations")  # fmt: skip
STOPS = {
    "th": "", "lo": "", "mr": ".", "gu": ".", "kn": ".", "ml": ".", "ta": ".", "te": ".", "si": ".", "ko": ".",
    "my": "။", "pa": "।",
}  # fmt: skip
"""Stops that the punctuation in CLDR leaves unclear: none, or the one in use of several."""
QUESTION_MARKS = {"el": ";", "hy": "՞", "ko": "?", "ps": "؟"}
OPEN_MARKS = {"es": "¿", "gl": ""}
COMMAS = {"ko": ","}
WORDS = frozenset(
    "To In Is All Link Long Do On Up Go As Act Hat Or Ex Id Job Joe Jam Sun Sol Bien jun mar lun".split()  # noqa: SIM905
)
"""Abbreviations in CLDR that are words, too."""
SPACED = {"ko"}
"""Languages with spaces in a script that may break lines between letters."""
ABBREVIATIONS = {
    "en": "e.g i.e vs approx", "es": "Ej ej p.ej aprox", "fr": "p.ex env", "pt": "p.ex aprox", "it": "p.es ca",
    "de": "z.B bzw ca", "nl": "bijv ca", "zu": "isb njll nom", "sw": "k.m n.k", "id": "dll mis",
}  # fmt: skip


def read(folder: Path, *parts: str) -> Any:
    """The JSON of a file of a package."""
    return json.loads(folder.joinpath(*parts).read_text(encoding="utf-8"))


def sole(tree: Any, *keys: str) -> Any:
    """The value below `keys`, where ``*`` stands for the only key."""
    for key in keys:
        tree = next(iter(tree.values())) if key == "*" else tree[key]
    return tree


def exemplars(text: str) -> set[str]:
    """The single characters of a set of CLDR."""
    return set(regex.sub(r"[\s\\{}]|^\[|\]$", "", text))


def row(folder: Path, tag: str) -> list[str]:
    """The cells of one language."""
    misc, core = partial(read, folder, "cldr-misc-full", "main", tag), partial(read, folder, "cldr-core")
    likely = core("supplemental", "likelySubtags.json")["supplemental"]["likelySubtags"]
    script = likely.get(tag, tag).split("-")[1]
    letters = core("scriptMetadata.json")["scriptMetadata"][script]["lbLetters"]
    spaced = letters != "YES" or tag in SPACED
    quotes = sole(misc("delimiters.json"), "main", "*", "delimiters")
    patterns = sole(misc("listPatterns.json"), "main", "*", "listPatterns", "listPattern-type-standard")
    marks = exemplars(sole(misc("characters.json"), "main", "*", "characters").get("punctuation", ". , ?"))
    numbers = sole(read(folder, "cldr-numbers-full", "main", tag, "numbers.json"), "main", "*", "numbers")
    systems = sole(core("supplemental", "numberingSystems.json"), "supplemental", "numberingSystems")
    ends = {mark for mark in marks if regex.match(r"\p{Sentence_Terminal}", mark)}
    asking = {mark for mark in ends if regex.match(r"[?؟？፧⸮]", mark)}
    crying = {mark for mark in ends if regex.match(r"[!！]", mark)}
    own = sorted(ends - asking - crying - {".", "॥", "…"})
    stop = STOPS.get(tag, own[0] if own else ".")
    ask = QUESTION_MARKS.get(tag, max(asking, default="?"))
    commas = [mark for mark in "、،，፣" if mark in marks]
    stops = "".join(dict.fromkeys(mark for mark in (stop, ask, "?", "!", *sorted(crying), *own) if mark != "."))
    direction = sole(misc("layout.json"), "main", "*", "layout", "orientation", "characterOrder")
    return [
        tag, script, " " if spaced else "", stop, ask, OPEN_MARKS.get(tag, ""),
        quotes["quotationStart"] + quotes["quotationEnd"], COMMAS.get(tag, commas[0] if commas else ","),
        patterns["2"].replace("{0}", "").replace("{1}", ""), "rtl" if direction == "right-to-left" else "ltr",
        systems[numbers["defaultNumberingSystem"]]["_digits"], "words" if spaced else "characters", stops,
        " ".join(abbreviations(folder, tag)),
    ]  # fmt: skip


def abbreviations(folder: Path, tag: str) -> list[str]:
    """Abbreviations that end in a full stop and end no sentence, without the stop."""
    file = folder / "cldr-segments-full" / "segments" / tag / "suppressions.json"
    found = ABBREVIATIONS.get(tag, "").split()
    if file.is_file():
        listed = sole(json.loads(file.read_text(encoding="utf-8")), "segments", "segmentations", "*")
        found += [entry["suppression"].removesuffix(".") for entry in listed.get("standard", ())]
    return sorted({text for text in found if 1 < len(text) <= 6 and " " not in text and not text.isupper()} - WORDS)


def main(folder: Path) -> None:
    """Print the table."""
    version = read(folder, "cldr-core", "package.json")["version"]
    print(f"# How languages are written: from Unicode CLDR {version}, see UNICODE-LICENSE.txt. Unchecked by speakers.")
    print("# `_` is a space; an empty cell is none. Made by tests/authoring/starter/make_language_table.py.")
    print("\t".join(COLUMNS))
    for tag in TAGS:
        cells = row(folder, tag)
        print("\t".join([*(regex.sub(r"[ \u00a0]", "_", cell) for cell in cells[:-1]), cells[-1]]))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
