from __future__ import annotations

import bz2
import gzip
import os
import sys
from typing import Any

import pytest
from wiki_dump import Written, dump, head, multistream

from benchbuilder.core.errors import DataError, InstallationError, ServiceError

SETTINGS: dict[str, Any] = {
    "disambiguation": ["Disambig", "消歧义"],
    "sections": ["参考文献", "外部链接"],
    "headings": False,
    "file_namespaces": ["图像"],
    "variants": ["zh-hans", "zh-cn"],
    "shown_templates": {"lang": {"names": ["lang", "Le"], "parameters": ["2", "1"]}},
}
MILK = """{{Infobox food
| name = 母乳
| image = {{#if:a|[[File:Milk.jpg]]|{{{2}}}}}
}}
[[文件:Milk.jpg|thumb|200px|一瓶[[母乳]]]]
'''母乳'''（{{lang|en|breast milk}}）是[[哺乳动物|雌性哺乳动物]]的[[乳汁]]{{citation needed
|date=May 2020}}，含有-{zh-hans:脂质;zh-hant:脂類}-。<ref name="a">{{cite book|title=书}}</ref>
<!-- 未完 -->
{| class="wikitable"
! 成分 !! 含量
|-
| 蛋白质 || 1 %
|}
世界卫生组织<ref name="a" />建议纯母乳喂养&nbsp;6个月（；）。<br />此后添加辅食。
__NOTOC__
== 成分 ==
* 水
* [[乳糖]]，<span style="color:red">占7%</span>
# [http://example.org 初乳] [http://example.org]
<gallery>
File:A.jpg|图
</gallery>
<math>a<b</math>
=== 细节 ===
:蛋白质。
== 参考文献 ==
{{reflist}}
书目一览。
=== 附录 ===
附录文字。
== 历史 ==
古时即有记载。
== 外部链接 ==
* [http://example.org 网站]
[[分类:乳]]
[[:分类:乳制品|乳制品分类]]
"""
MILK_TEXT = """母乳（breast milk）是雌性哺乳动物的乳汁，含有脂质。
世界卫生组织建议纯母乳喂养 6个月。
此后添加辅食。
水
乳糖，占7%
初乳
蛋白质。
古时即有记载。"""

PAGES = [
    Written("母乳", MILK),
    Written("Talk:母乳", "讨论母乳。", ns=1),
    Written("人奶", "#REDIRECT [[母乳]]", redirect="母乳"),
    Written("奶", "'''奶'''可以指：\n* [[母乳]]\n{{Template:disambig|food}}"),
    Written("乳", "乳可以指……\n__DISAMBIG__"),
    Written("模块", "return {}", model="Scribunto"),
    Written("空白", "{{stub}}\n[[Category:空]]"),
    Written("竹子", "'''竹子'''是植物。"),
    Written("計算機", "-{T|zh-hans:计算机;zh-tw:電腦}-計算機能夠計算。"),
]
FATES = ["", "other_namespace", "redirect", "disambiguation", "disambiguation", "no_wikitext", "empty", "", ""]


def outcomes(result: Any, count: int) -> list[str]:
    reasons = dict(result.dropped())
    return [reasons.get(number, "") for number in range(1, count + 1)]


def test_a_page_as_its_reader_sees_it(write, read_source):
    result = read_source("wikipedia", path=write("zhwiki.xml", dump(PAGES)), **SETTINGS)
    assert result.rows[0].text == MILK_TEXT
    assert outcomes(result, len(PAGES)) == FATES
    assert [(row.document, row.title) for row in result.rows] == [
        ("母乳", "母乳"),
        ("竹子", "竹子"),
        ("計算機", "计算机"),
    ]
    assert result.rows[2].text == "計算機能夠計算。"
    assert result.detail(2) == "Talk:母乳"


def test_headings_can_be_kept(write, read_source):
    result = read_source("wikipedia", path=write("a.xml", dump(PAGES[:1])), **{**SETTINGS, "headings": True})
    titles = {"成分", "细节", "参考文献", "附录", "历史"}
    assert [line for line in result.rows[0].text.splitlines() if line in titles] == ["成分", "细节", "历史"]


@pytest.mark.parametrize("form", ["plain", "gzip", "bz2", "multistream", "cut anywhere"])
def test_every_form_of_a_dump_holds_the_same_pages(form, write, read_source):
    pages = PAGES * 3
    plain = dump(pages)
    data = {
        "plain": plain,
        "gzip": gzip.compress(plain[:500]) + gzip.compress(plain[500:]),
        "bz2": bz2.compress(plain),
        "multistream": multistream(pages)[0],
        "cut anywhere": b"".join(bz2.compress(plain[at : at + 777]) for at in range(0, len(plain), 777)),
    }[form]
    result = read_source("wikipedia", path=write("dump", data), **SETTINGS)
    assert outcomes(result, 9) == FATES
    assert result.ends["dump"].units == 27
    assert [reason for _, reason in result.dropped()].count("duplicate") == 6


def test_parts_of_a_folder_without_the_index(write, read_source):
    data, index = multistream(PAGES[:4])
    write("dump/zhwiki-pages-articles-multistream1.xml-p1p4.bz2", data)
    write("dump/zhwiki-pages-articles-multistream-index1.txt-p1p4.bz2", index)
    write("dump/zhwiki-pages-articles-multistream2.xml-p5p9.bz2", multistream(PAGES[4:])[0])
    result = read_source("wikipedia", path="dump", **SETTINGS)
    assert list(result.units.values()) == [4, 5]
    assert len(result.rows) == 3


def test_only_pages_with_a_word_of_the_list(write, read_source):
    words = write("words.txt", "计算机\n母乳喂养\n")
    path = write(
        "a.xml", dump([*PAGES, Written("电脑", "電腦即-{計}-{{Le|算|x}}機。"), Written("机", "計<ref>x</ref>算机")])
    )
    result = read_source("wikipedia", path=path, **SETTINGS, words=words, convert="t2s")
    assert [row.document for row in result.rows] == ["母乳", "計算機", "机"]
    assert result.dropped()[-2:] == [(8, "off_topic"), (10, "off_topic")]
    assert [row.document for row in read_source("wikipedia", path=path, **SETTINGS, words=words).rows] == [
        "母乳",
        "計算機",
    ]


def test_capitals_of_articles_do_not_count(write, read_source):
    path = write("b.xml", dump([Written("Milk", "Cow's milk."), Written("Tea", "Tea.")]))
    words = write("words.txt", "cow\n")
    assert [row.document for row in read_source("wikipedia", path=path, **SETTINGS, words=words).rows] == ["Milk"]
    assert not read_source("wikipedia", path=path, **SETTINGS, words=words, fold=[]).rows


@pytest.mark.parametrize(("data", "told"), [
    (dump(PAGES)[:-40], "the dump ends in the middle; the last page that could be read is number 8"),
    (bz2.compress(dump(PAGES))[:-30], "ends in the middle"),
    (gzip.compress(dump(PAGES))[:-30], "ends in the middle"),
    (multistream(PAGES, 1)[0][:-90], "the last page that could be read is number 8, '竹子'"),
    (dump(PAGES).replace("<title>竹子".encode(), "<title>&nbsp;竹子".encode()), "number 7, '空白'"),
    (head().encode(), "the dump ends before its first page"),
])  # fmt: skip
def test_a_damaged_dump_says_how_far_it_could_be_read(data, told, write, make_source):
    source = make_source("wikipedia", path=write("a.xml", data), **SETTINGS)
    with pytest.raises(DataError, match=r"a\.xml is damaged") as raised:
        list(source.read())
    assert told in str(raised.value)


def test_damage_in_the_middle_of_a_stream(write, make_source):
    data = bytearray(multistream(PAGES, 1)[0])
    middle = data.index(b"BZh9", len(data) // 2) + 30
    data[middle] ^= 0xFF
    with pytest.raises(DataError, match="is damaged"):
        list(make_source("wikipedia", path=write("a.bz2", bytes(data)), **SETTINGS).read())


@pytest.mark.parametrize(("data", "told"), [
    (b"", "an empty file"),
    (b"\x89PNG no dump at all", "a file that begins"),
    (b"<html><page></page></html>", "an XML file of <html>"),
    (b"PK\x03\x04 zip", "another kind of archive"),
    (b"7z\xbc\xaf'\x1c", "another kind of archive"),
    (b'<!DOCTYPE m [<!ENTITY a "b">]>' + dump(PAGES), "a document type"),
])  # fmt: skip
def test_a_file_that_is_no_dump(data, told, write, make_source):
    source = make_source("wikipedia", path=write("a.xml", data), **SETTINGS)
    with pytest.raises(DataError, match="has the wrong shape") as raised:
        source.check()
    assert told in str(raised.value)


def test_check_reads_a_few_pages_and_the_word_list(write, make_source):
    path = write("a.xml", dump(PAGES * 3)[:-40])
    make_source("wikipedia", path=path, **SETTINGS).check()
    with pytest.raises(DataError, match="word list is missing"):
        make_source("wikipedia", path=path, **SETTINGS, words="none.txt").check()


def test_without_the_library(write, make_source, monkeypatch):
    monkeypatch.setitem(sys.modules, "mwparserfromhell", None)
    source = make_source("wikipedia", path=write("a.xml", dump(PAGES)), **SETTINGS)
    for read in (source.check, lambda: list(source.read())):
        with pytest.raises(InstallationError) as raised:
            read()
        assert raised.value.next == "pip install 'benchbuilder[wikipedia]'"
    assert source.fingerprint() == {}


def test_the_word_list_shapes_the_rows(write, make_source):
    path, words = write("a.xml", dump(PAGES)), write("words.txt", "母乳\n")
    before = dict(make_source("wikipedia", path=path, **SETTINGS, words=words, convert="t2s").fingerprint())
    write("words.txt", "母乳\n乳糖\n")
    after = dict(make_source("wikipedia", path=path, **SETTINGS, words=words, convert="t2s").fingerprint())
    assert before.keys() == after.keys() == {"mwparserfromhell", "opencc", "word list"}
    assert [part for part in before if before[part] != after[part]] == ["word list"]


@pytest.mark.full
def test_processes_read_the_same_in_the_same_order(write, read_source, monkeypatch):
    monkeypatch.setattr("benchbuilder.sources.wikipedia._SMALL_BYTES", 0)
    monkeypatch.setattr("benchbuilder.sources.formats.mediawiki_dump.PART_BYTES", 4000)
    pages = [Written(f"页{at}", MILK + str(at)) if at % 7 else Written(f"转{at}", redirect="母乳") for at in range(60)]
    path = write("a.bz2", multistream(pages, 3)[0])
    alone = read_source("wikipedia", path=path, **SETTINGS, workers=1)
    spread = read_source("wikipedia", path=path, **SETTINGS, workers=2)
    assert len(alone.rows) == 51
    assert (alone.rows, alone.drops) == (spread.rows, spread.drops)


@pytest.mark.push
def test_a_process_that_dies(write, make_source, monkeypatch, tmp_path):
    from benchbuilder.sources.formats.large_files import map_in_order

    with pytest.raises(ServiceError) as raised:
        list(map_in_order(_die, [b"a", b"b"], 2, "sources.wiki.workers"))
    assert raised.value.where == "sources.wiki.workers"


def _die(piece: bytes) -> None:
    os._exit(3)


def test_broken_markup_is_read_as_far_as_it_goes(write, read_source):
    texts = [
        "前文。\n{{Infobox\n| a = b\n正文。",
        "前文[[链接|文字。\n'''粗体\n{| class=x\n| 格\n正文]]。",
        "<ref>没有结尾。\n正文。</b>",
        "-{zh-hans:甲;zh-hant:乙 正文。",
        "{{a|b=" * 3000,
        "<b>" * 3000,
        "[[" * 3000 + "乳",
        "}}" * 5000 + "{{a|b=" * 3000,
    ]
    result = read_source(
        "wikipedia", path=write("a.xml", dump([Written(f"页{n}", t) for n, t in enumerate(texts)])), **SETTINGS
    )
    assert [row.text for row in result.rows] == [
        "前文。\n正文。",
        "前文文字。\n粗体\n正文。",
        "没有结尾。\n正文。",
        "zh-hans:甲;zh-hant:乙 正文。",
    ]
    assert result.dropped() == [(number, "unreadable_markup") for number in range(5, 9)]
