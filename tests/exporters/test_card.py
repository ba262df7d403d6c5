import re
from dataclasses import replace

import pytest
import yaml
from finished_build import RECEIPTS, finished

from benchbuilder.exporters.recheck_result import CheckedPart, RecheckResult
from benchbuilder.exporters.render.templates import code_block, markdown_link, markdown_text
from benchbuilder.exporters.report.dataset_card import DatasetCard, DatasetCardSpec
from benchbuilder.exporters.report.entries import sources_of


def card(tmp_path, language="en", build=None, **said):
    spec = DatasetCardSpec(
        kind="card",
        file="README.md",
        language=language,
        tags=("medical",),
        task_categories=("question-answering",),
        cue_words=("不",),
    )
    card, *tables = DatasetCard(spec).write(build or finished(**said), tmp_path)
    text = card.read_text(encoding="utf-8")
    kept, end = text.split("\n## More\n" if language == "en" else "\n## 更多\n")
    assert [table.relative_to(tmp_path).as_posix() for table in tables] == re.findall(r"\]\((tables/\w+\.md)\)", end)
    # as one text: a reader who opens every link
    return "\n#".join([kept, *(table.read_text(encoding="utf-8") for table in tables)]) + end.partition("\n\n")[2]


def front_matter(text):
    return yaml.safe_load(text.split("---\n")[1])


@pytest.mark.parametrize(("file", "folder"), [("README.md", "tables"), ("card.md", "card_tables")])
def test_the_card_itself_fits_two_screens_and_links_to_the_rest(tmp_path, file, folder):
    spec = DatasetCardSpec(kind="card", file=file, language="en", tags=(), task_categories=(), cue_words=())
    exporter = DatasetCard(spec)
    written = exporter.write(held_build(), tmp_path)
    assert [path.relative_to(tmp_path).as_posix() for path in written] == [
        file, *(f"{folder}/{name}.md" for name in ("audit", "steps", "annotation", "columns"))
    ]  # fmt: skip
    assert exporter.output_names() == (file, folder)
    text = written[0].read_text(encoding="utf-8")
    assert len(text.split("---\n")[2].splitlines()) < 85
    assert "## How good is it?\n\n- Unanimous decisions: " in text
    assert "guiding questions reach the floor." in text
    assert "always-yes score: " in text
    for path in written[1:]:
        assert f"]({folder}/{path.name})" in text
        assert path.read_text(encoding="utf-8").startswith("# ")
    assert not [path for path in written if "\f" in path.read_text(encoding="utf-8")]


def test_what_a_citation_says_does_not_divide_the_card(tmp_path):
    text = card(tmp_path, citation="@misc{x}\n\fsteps\nall mine\n\f\n")
    assert "@misc{x}\n\N{REPLACEMENT CHARACTER}steps\nall mine" in text


def test_front_matter(tmp_path):
    assert front_matter(card(tmp_path)) == {
        "language": ["zh"],
        "license": "cc-by-4.0",
        "pretty_name": "Maternal and infant care: an example",
        "size_categories": ["n<1K"],
        "task_categories": ["question-answering"],
        "tags": ["medical"],
        "configs": [{"config_name": "default", "data_files": "items.jsonl"}],
    }


def held_build(level=0.95, **floor):
    """A build whose agreement is held to a floor, and whose model of voters would turn a decision."""
    build = finished()
    settings = {"floor": {"alpha": 0.6, "raw": 0.85, **floor}, "bootstrap": {"level": level}}
    recipe = {**build.recipe, "annotation": {**build.recipe["annotation"], **settings}}
    turned = {"shown": "c1", "text": "问题", "decision": 0.0, "likely": 1, "probability": 0.91, "adjudicated": False}
    model = {"voters": 2, "shared": 200, "shown": True, "reliability": {"anna": 0.97, "bo": 0.74}, "differs": [turned]}
    notes = dict(build.step_counts[-1].notes)
    notes["agreement"] = {
        name: {"scale": "nominal", **row, "clusters": 9 if name == "supports" else 200}
        for name, row in notes["agreement"].items()
    }
    notes["voter_model"] = {"single": model, "fluent": {"voters": 2, "shared": 4, "shown": False}}
    counts = (*build.step_counts[:-1], replace(build.step_counts[-1], notes=notes))
    return replace(build, recipe=recipe, step_counts=counts)


def checked(decided=60):
    known = (0.0, 0.0, 0.0602) if decided == 60 else (None, None, None)
    part = CheckedPart(size=357, checked=decided, wrong=0, rate=known[0], low=known[1], high=known[2])
    return RecheckResult(
        items="x", questions=("wrong_key",), drawn=60, decided=decided, people=3, level=0.95, whole=part,
        sources={"medqa": part}, flagged=None,
    )  # fmt: skip


def test_the_card_says_which_labels_are_weak_and_names_nobody(tmp_path):
    text = card(tmp_path, build=held_build())
    assert "weak (lower bound of agreement is 0.83, the floor is 0.85" in text
    assert "cannot tell (judged by two or more: 9; 22 are needed" in text
    assert "答案唯一: 74.0 %, 97.0 %. Decisions that it would turn: 1, of which an adjudicator made 0." in text
    assert "cannot see errors that voters share" in text
    assert "anna" not in text
    assert "the rate of wrong labels is unknown" in text
    chinese = card(tmp_path, "zh", held_build())
    assert "偏弱" in chinese
    assert "无法判断" in chinese


def test_the_card_has_the_bound_of_a_recheck_only_when_all_is_decided(tmp_path):
    text = card(tmp_path, build=replace(held_build(), recheck=checked()))
    assert "| medqa | 357 | 60 | 0 | 0.0 % | 6.0 % |" in text
    assert "Wilson's interval, two-sided" in text
    waiting = card(tmp_path, build=replace(held_build(), recheck=checked(59)))
    assert "59 of 60 drawn items are decided" in waiting
    assert "| medqa | 357 |" not in waiting
    assert "全部决定后才能得出标签错误率" in card(tmp_path, "zh", replace(held_build(), recheck=checked(59)))


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("", {}),
        ("Apache-2.0", {"license": "apache-2.0"}),
        ("as MedQA says", {"license": "other", "license_name": "as MedQA says"}),
    ],
)
def test_no_licence_is_invented(tmp_path, said, found):
    text = card(tmp_path, licence=said)
    assert {key: value for key, value in front_matter(text).items() if key.startswith("license")} == found
    section = text.split("## Licence\n")[1]
    assert section.strip() == (said or "not stated by the recipe")


def test_sources_have_the_licence_that_the_recipe_states_or_none(tmp_path):
    text = card(tmp_path).split("## Sources")[1].split("\n## ")[0]
    assert "- **medqa**: [MedQA](https://example.org/medqa) · Licence: MIT\n" in text
    assert "- **bios** · Licence: not stated by the recipe\n" in text
    assert "- **textbooks**" in text


def test_links_lead_to_the_web_only(tmp_path):
    assert "](javascript" not in card(tmp_path)
    assert markdown_link("a", "https://example.org/x)y") == "a (https://example.org/x)y)"


def test_the_card_names_the_seed_of_the_order_unless_a_file_of_items_has_another_order(tmp_path):
    assert "fixed random order, drawn by the seed 11" in card(tmp_path)
    build = finished()
    build.recipe["outputs"]["items_jsonl"]["order"] = "table"
    assert "random order" not in card(tmp_path, build=build)


def test_what_a_recipe_says_cannot_become_markup(tmp_path):
    text = card(tmp_path, summary="<script>x</script> | [a](b)\n\n# Not a heading", not_for=("1. *first*",))
    assert "<script>" not in text
    assert "\n# Not" not in text
    assert "- 1\\. \\*first\\*" in text
    assert markdown_text("- 3 ℃") == "\\- 3 ℃"
    assert markdown_text("0.94") == "0.94"


def test_a_citation_cannot_end_its_code_block(tmp_path):
    text = card(tmp_path, citation="@misc{x}\n```\n<b>out</b>")
    assert text.endswith("````text\n@misc{x}\n```\n<b>out</b>\n````\n")
    assert code_block("a") == "```text\na\n```"


def test_counts_of_the_card_are_those_of_the_items(tmp_path):
    build = finished()
    rows = list(build.tables["items"])
    text = card(tmp_path, build=build)
    tf = sum(row.payload.type == "tf" for row in rows)
    assert f"| Total | {tf} | {len(rows) - tf} | {len(rows)} |" in text
    medqa = [row for row in rows if row.partition == "medqa"]
    open_ended = sum(row.payload.type == "oe" for row in medqa)
    assert f"| medqa | {len(medqa) - open_ended} | {open_ended} | {len(medqa)} |" in text


def test_a_reviewed_card_says_how_people_agreed(tmp_path):
    text = card(tmp_path)
    assert "Unreviewed" not in text
    assert "| 该问题是否至多只有一个正确答案？ | 60 | 0.94 (0.89 – 0.98) | 0.31 (0.26 – 0.35) |" in text
    assert "both annotators always gave the same answer" in text
    assert "The votes that come with the sample data are illustrative too" in text
    assert "illustrative too" not in card(tmp_path, illustrative=False)


def test_the_fields_say_how_cells_are_escaped(tmp_path):
    assert r"are written `\\`, `\t`, `\n`, `\r`, and a cell" in card(tmp_path)


def test_an_unreviewed_card_says_so(tmp_path):
    text = card(tmp_path, reviewed=False, illustrative=False)
    assert "> **Unreviewed" in text
    assert "Nobody has judged the items." in text
    assert "Illustrative" not in text
    assert "Illustrative" in card(tmp_path, illustrative=True)


@pytest.mark.parametrize(
    "heading",
    ["Intended use", "Not for", "Correct as of", "Contents", "Sources", "How it was built", "Deviations from the paper",
     "Annotation", "Subjective bias", "Limitations", "Personal data", "Fields", "Licence"],
)  # fmt: skip
def test_sections(tmp_path, heading):
    body = card(tmp_path).split(f"\n## {heading}\n")[1].split("\n## ")[0]
    assert body.strip()


def test_tables_have_as_many_cells_as_their_heads(tmp_path):
    for language in ("en", "zh"):
        for block in re.findall(r"(?:^\|.*\|\n)+", card(tmp_path, language), re.M):
            assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}) == 1, block


def test_steps_stand_in_flow_order_with_their_numbers(tmp_path):
    build = finished()
    text = card(tmp_path, build=build)
    places = [text.index(f"| {account.step} | ") for account in build.step_counts if account.step != "medqa"]
    assert len(places) == len(build.step_counts) - 1
    assert f"| candidates | assemble | {len(build.tables['candidates'])} |" in text


def test_bytes_are_the_same_each_time(tmp_path):
    assert card(tmp_path) == card(tmp_path)
    assert not DatasetCard(
        DatasetCardSpec(kind="card", file="c", language="en", tags=(), task_categories=(), cue_words=())
    ).can_write(finished(state="waiting"))


def test_what_the_wording_gives_away_stands_in_the_card(tmp_path):
    text = card(tmp_path)
    (line,) = [line for line in text.splitlines() if line.startswith("| no at a cue word |")]
    assert line.count("%") == len(sources_of(finished())) + 1
    assert "Cue words: 不" in text


_MODEL = {"kind": "openai", "name": "gpt|4", "unsupported": "omit"}
_WRITER = {
    "kind": "ask_tf", "strategy": "rules_then_model", "model": _MODEL, "system": None,
    "prompt": {"path": "zh/ask_tf.j2", "resolved_path": "/home/zh/ask_tf.j2"},
    "pairs": {"path": "zh/pairs.yaml", "resolved_path": "/home"},
    "sampling": {"temperature": 0.0, "max_new_tokens": 128, "top_k": 4, "top_p": None},
}  # fmt: skip


def written_by_model(**more):
    build = finished()
    build.recipe["steps"]["ask"] = _WRITER | more
    return build


def test_models_are_named_with_all_that_shapes_their_replies(tmp_path):
    (line,) = (line for line in card(tmp_path, build=written_by_model()).splitlines() if line.startswith("| ask | gpt"))
    assert line == (
        r"| ask | gpt\|4 (openai) | the model where no rule can | 0 / 60 | temperature 0.0; max\_new\_tokens 128"
        r" (not sent, because the model does not accept it: top\_k) | zh/ask\_tf.j2, zh/pairs.yaml |"
    )


def test_a_card_without_models_says_nothing_of_them(tmp_path):
    plain = card(tmp_path)
    assert "## Models" not in plain
    assert card(tmp_path, build=written_by_model(strategy="rules")) == plain
    assert card(tmp_path, build=written_by_model(model={"kind": "none"})) == plain


def test_a_card_does_not_depend_on_what_was_paid(tmp_path):
    assert card(tmp_path, build=replace(finished(), receipts=RECEIPTS)) == card(tmp_path)


def test_recorded_replies_are_told_as_what_they_are(tmp_path):
    (tmp_path / "r.jsonl").write_text('{"model": "gpt|4"}\n', encoding="utf-8")
    model = {"kind": "replay", "replies": {"path": "r.jsonl", "resolved_path": str(tmp_path / "r.jsonl")}}
    assert r"| ask | gpt\|4, recorded replies from r.jsonl |" in card(tmp_path, build=written_by_model(model=model))
