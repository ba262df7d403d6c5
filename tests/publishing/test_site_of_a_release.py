"""The static pages of a release: what is in them, what never is, how large they are, and what a search finds."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from built_sample import BuiltSample

from benchbuilder.api import export_site
from benchbuilder.core import DataError, page_texts
from benchbuilder.explorer import FormerItem, SiteItem, SitePassage, SiteRelease, WrittenSite, write_site
from benchbuilder.explorer.site.search_keys import search_form, shard_key, shard_of
from benchbuilder.publishing import Release, read_release

ROOT = Path(__file__).parents[2]
HOSTILE = "</script><script>alert(1)</script> \u202eevil\u202c \x1b[31mred \" ' & <img src=x onerror=alert(2)>"


@pytest.fixture(scope="module")
def site(released: Release, tmp_path_factory: pytest.TempPathFactory) -> WrittenSite:
    return export_site(released.folder, tmp_path_factory.mktemp("exported") / "site")


def data(folder: Path, name: str) -> Any:
    """What a data file registers."""
    text = (folder / "data" / f"{name}.js").read_text("utf-8")
    match = re.fullmatch(r"benchbuilderSite\((\"[^\"]+\"),(.*)\);\n", text, re.DOTALL)
    assert match is not None
    assert json.loads(match[1]) == name
    return json.loads(match[2])


def rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def numbers(text: str) -> list[int]:
    found: list[int] = []
    for gap in text.split():
        found.append(int(gap, 36) + (found[-1] if found else 0))
    return found


def found_by_pair(folder: Path, pair: str) -> list[int]:
    shards = data(folder, "meta")["shards"]["s"]
    return numbers(data(folder, f"s/{shard_of(shard_key(pair), shards)}").get(pair, ""))


@pytest.mark.push
def test_every_public_item_has_its_address_and_all_that_is_known_of_it(site: WrittenSite, released: Release) -> None:
    meta = data(site.folder, "meta")
    items = read_release(released.folder).items
    assert meta["items"] == len(items) > 200
    for number, item in enumerate(items):
        entry = data(site.folder, f"i/{shard_of(item.id, meta['shards']['i'])}")[item.id]
        assert (entry["n"], entry["question"], entry["answer"]) == (number, item.question, item.answer)
        assert [text for *_, text in entry.get("evidence", [])] == [one["text"] for one in item.columns["evidence"]]
        assert entry["origin"] == str(item.columns["origin"]).rpartition("/")[2]
        assert data(site.folder, f"l/{number // meta['list']}")[number % meta["list"]][0] == item.id
        assert item.id in (site.folder / f"list/{number // meta['list'] + 1}.html").read_text("utf-8")
    lines = (site.folder / "items.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["id"] for line in lines] == [item.id for item in items]


@pytest.mark.push
def test_nothing_private_is_in_any_file(site: WrittenSite, released: Release, built: BuiltSample) -> None:
    everything = "\n".join(path.read_text("utf-8") for path in site.folder.rglob("*") if path.is_file())
    withheld = rows(released.private_folder / "1.0.0" / "items.jsonl")
    public = {item.question for item in read_release(released.folder).items}
    assert withheld
    for row in withheld:
        is_told = any(row["question"] in question for question in public)  # 子宫破裂… is a part of 先兆子宫破裂…
        secret = {row["id"], row["name"], row["fact"], row["candidate"]} | ({row["question"]} if not is_told else set())
        assert not [text for text in secret if text in everything]
    people = {vote["annotator"] for vote in rows(released.folder / "votes" / "votes.jsonl")}
    assert len(people) > 2
    assert not [name for name in people if name in everything]
    prompts = [path.read_text("utf-8")[:60] for path in (ROOT / "prompts").rglob("*") if path.is_file()]
    assert prompts
    for text in (str(built.folder), "care_mi/sample", ".sqlite", '"rater"', *prompts):
        assert text not in everything
    assert not re.search(r"[\w.]+@[\w-]+\.[a-z]{2,}", everything)


@pytest.mark.push
def test_a_pair_of_signs_finds_exactly_the_items_that_have_it(site: WrittenSite, released: Release) -> None:
    texts = [
        search_form("\n".join((item.context + item.question, item.answer, item.answer_wrong)))
        for item in read_release(released.folder).items
    ]  # fmt: skip
    pairs = {text[at : at + 2] for text in texts for at in range(len(text) - 1)}
    chosen = random.Random(7).sample(sorted(pair for pair in pairs if re.fullmatch("[\u4e00-\u9fff]{2}", pair)), 200)
    for pair in chosen:
        assert found_by_pair(site.folder, pair) == [place for place, text in enumerate(texts) if pair in text], pair


def many_items(released: Release, count: int) -> list[SiteItem]:
    """Items with the texts of the sample under ids of their own."""
    shared = read_release(released.folder).items
    made: list[SiteItem] = []
    for number in range(count):
        item = shared[number % len(shared)]
        evidence = tuple(SitePassage(one["title"], one["document"], one["base"], one["text"])
                         for one in item.columns["evidence"])  # fmt: skip
        made.append(SiteItem(
            id=f"item-{number:020x}", task="", type=item.type, source=item.source, form="statement", language="zh",
            split="test", expected=item.expected, context=item.context, question=f"{number} {item.question}",
            answer=item.answer, answer_wrong=item.answer_wrong, family=f"family-{number // 3}", evidence=evidence,
            origin=f"test.jsonl:{number}",
        ))  # fmt: skip
    return made


def release_of(items: list[SiteItem], **settings: Any) -> SiteRelease:
    return SiteRelease(name="many", title="Many items", version="1.0.0", date="2026-01-31", licence="CC0-1.0",
                       language="zh", items=items, kinds=("wrong_key",), **settings)  # fmt: skip


@pytest.mark.full
def test_ten_thousand_items_are_small_and_come_in_pieces(released: Release, tmp_path: Path) -> None:
    site = write_site(release_of(many_items(released, 10_000)), tmp_path / "site", page_texts("zh"))
    assert site.bytes < 50_000_000
    assert max(path.stat().st_size for path in (site.folder / "data").rglob("*.js")) < 300_000


def test_former_ids_lead_to_the_item_or_to_the_reason(tmp_path: Path) -> None:
    items = [
        SiteItem("item-" + "a" * 20, "", "tf", "s", "", "en", "test", "yes", "", "Is it so?", "It is.", "It is not.")
    ]
    former = [FormerItem("item-" + "b" * 20, items[0].id, "1.1.0", "the key was wrong"),
              FormerItem("item-" + "c" * 20, "", "1.1.0", "outdated")]  # fmt: skip
    folder = write_site(release_of(items, former=former), tmp_path / "site", page_texts("en")).folder
    shards = data(folder, "meta")["shards"]["m"]
    for one in former:
        assert data(folder, f"m/{shard_of(one.id, shards)}")[one.id] == [one.now, one.version, one.reason]


def test_hostile_texts_are_data_and_can_be_seen(tmp_path: Path) -> None:
    item = SiteItem("item-" + "a" * 20, HOSTILE, HOSTILE, HOSTILE, HOSTILE, "en", "test", "yes", HOSTILE, HOSTILE,
                    HOSTILE, HOSTILE, (("options", HOSTILE),), (HOSTILE,),
                    evidence=(SitePassage(HOSTILE, "", "", HOSTILE),))  # fmt: skip
    release = replace(release_of([item], card=f"# {HOSTILE}\n\n[x](javascript:alert(1))"), title=HOSTILE)
    folder = write_site(release, tmp_path / "site", page_texts("en")).folder
    for path in folder.rglob("*"):
        if path.is_file():
            text = path.read_text("utf-8")
            assert not re.search("[\u202e\x1b]", text), path
            if path.suffix == ".html":
                assert "<script>alert" not in text
                assert "<img" not in text
                assert 'href="javascript:' not in text
    entry = data(folder, f"i/{shard_of(item.id, data(folder, 'meta')['shards']['i'])}")[item.id]
    assert entry["question"].startswith("</script><script>alert(1)</script> [U+202E]evil")


@pytest.mark.push
def test_a_site_replaces_a_site_and_nothing_else(released: Release, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "thesis.txt").write_text("my only copy")
    with pytest.raises(DataError, match="holds other files than a site"):
        export_site(released.folder, tmp_path / "site")
    assert (tmp_path / "site" / "thesis.txt").read_text() == "my only copy"
    (tmp_path / "elsewhere").symlink_to(tmp_path / "site")
    for name, what in (("elsewhere", "link"), ("site/thesis.txt", "file")):
        with pytest.raises(DataError, match=f"is a {what}") as refused:
            export_site(released.folder, tmp_path / name)
        assert refused.value.next == "name a new folder"
    first = export_site(released.folder, tmp_path / "new")
    assert export_site(released.folder, tmp_path / "new") == first


@pytest.mark.push
def test_pages_need_nothing_from_elsewhere_and_refuse_what_is_not_theirs(site: WrittenSite) -> None:
    for page in ("index.html", "card.html", "list/1.html"):
        text = (site.folder / page).read_text("utf-8")
        assert "default-src 'none'; script-src 'self'; style-src 'self'" in text
        frame = re.sub("<article.*</article>", "", text, flags=re.DOTALL)
        assert not re.search(r'(?:src|href)="(?:https?:)?//', frame)
        assert " style=" not in text
        assert not re.search(r"<script(?![^>]* src=)", text)


@pytest.mark.full
def test_a_report_goes_where_the_recipe_says(built: BuiltSample, released: Release, tmp_path: Path) -> None:
    assert data(export_site(released.folder, tmp_path / "one").folder, "meta")["report"]["kind"] == "none"
    other = built.release("1.0.0", dir=str(tmp_path / "two"), contact="errors@example.org")
    assert data(export_site(other.folder, tmp_path / "site").folder, "meta")["report"] == {
        "kind": "mail", "address": "errors@example.org"
    }  # fmt: skip
