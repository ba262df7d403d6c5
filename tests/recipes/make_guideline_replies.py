"""Records what the fake service replies to `guideline_zh`: run it when its prompts or paragraphs have changed.

No model wrote these replies. They are of our own writing, with faults on purpose: a changed quote, a lost hedge, a
pronoun, two facts in one, a claim that leaves something open. The service of `benchbuilder.testing` sends them.

    python tests/recipes/make_guideline_replies.py
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

REPLIES = Path(__file__).parents[2] / "recipes" / "recipe" / "guideline_zh" / "sample" / "fake_service_replies.jsonl"
NAME = "fake-service"
"""The name of the model in the file."""

_Line = tuple[str, str] | tuple[str, str, str]
CLAIMS: Mapping[str, Sequence[_Line]] = {
    "交叉污染是指": [
        (
            "交叉污染是指致病微生物通过手、刀具、砧板或容器从一种食物转移到另一种食物。",
            "交叉污染是指致病微生物通过手、刀具、砧板或容器从一种食物转移到另一种食物",
        ),
        ("生食和熟食应当使用不同的砧板和刀具。", "生食和熟食应当使用不同的砧板和刀具"),
    ],
    "处理食物之前": [
        (
            "处理食物之前应当用肥皂和流动水洗手，揉搓时间不少于20秒。",
            "处理食物之前应当用肥皂和流动水洗手，揉搓时间不少于20秒",
        ),
        ("木质砧板出现较深的刀痕后应当更换。", "木质的砧板有较深的刀痕就要更换"),
    ],
    "浸泡叶类蔬菜": [("浸泡叶类蔬菜的时间不超过10分钟。", "浸泡叶类蔬菜的时间一般不超过10分钟")],
    "煮沸消毒餐具": [
        ("煮沸消毒餐具的时间为15分钟。", "煮沸消毒餐具的时间为15分钟"),
        ("家用消毒柜的消毒温度为120℃。", "家用消毒柜的消毒温度为120℃"),
        ("家用消毒柜每周应当使用两次。", "家用消毒柜的消毒温度为120℃，每周应当使用两次"),
    ],
    "再次食用剩余饭菜": [
        (
            "再次食用剩余饭菜之前应当彻底加热，使食物的中心温度达到70℃以上。",
            "再次食用剩余饭菜之前应当彻底加热，使食物的中心温度达到70℃以上",
        ),
        ("微波炉加热食物时，中途应当翻动一次。", "微波炉加热食物时，中途应当翻动一次"),
    ],
    "未煮熟的四季豆": [
        ("未煮熟的四季豆含有皂素。", "未煮熟的四季豆含有皂素，食用后可能引起恶心和呕吐"),
        ("鲜黄花菜含有秋水仙碱，食用前应当焯水并充分浸泡。", "鲜黄花菜含有秋水仙碱，食用前应当焯水并充分浸泡"),
    ],
    "发芽的马铃薯": [
        ("发芽的马铃薯含有较多的龙葵素，不应食用。", "发芽的马铃薯含有较多的龙葵素，不应食用"),
        ("它的毒素经过加热也不容易被破坏。", "它的毒素经过加热也不容易被破坏"),
    ],
    "冰箱冷藏室": [
        (
            "冰箱冷藏室的温度应当保持在0～4℃；冷冻室的温度应当低于零下18℃。",
            "冰箱冷藏室的温度应当保持在0～4℃，冷冻室的温度应当低于零下18℃",
        ),
        ("冰箱冷冻室的温度应当低于零下18℃。", "冷冻室的温度应当低于零下18℃"),
    ],
    "熟食在室温下放置": [
        ("熟食在室温下放置的时间不应超过2小时。", "熟食在室温下放置的时间不应超过2小时"),
        ("气温高于32℃时，熟食在室温下放置的时间不应超过1小时。", "气温高于32℃时，熟食在室温下放置的时间不应超过1小时"),
        ("气温高于32℃时，熟食在室温下不应放置超过1小时。", "气温高于32℃时，熟食在室温下放置的时间不应超过1小时"),
    ],
    "冷藏只能减慢": [
        ("冷藏只能减慢细菌的繁殖，不能杀灭细菌。", "冷藏只能减慢细菌的繁殖，不能杀灭细菌"),
        ("李斯特菌是一种在低温下仍然能够繁殖的细菌。", "李斯特菌是一种在低温下仍然能够繁殖的细菌"),
        ("冷藏的剩余饭菜应当在3天内吃完。", "冷藏的剩余饭菜应当在3天内吃完"),
    ],
    "一岁以内的婴儿": [
        ("一岁以内的婴儿不应食用蜂蜜。", "一岁以内的婴儿不应食用蜂蜜"),
        ("蜂蜜中可能含有肉毒杆菌的芽孢。", "蜂蜜中可能含有肉毒杆菌的芽孢"),
        ("肉毒杆菌是一种在缺氧环境中生长的细菌。", "肉毒杆菌是一种在缺氧环境中生长的细菌"),
    ],
    "孕妇不宜食用": [
        ("孕妇不宜食用生鱼片和未经消毒的牛奶。", "孕妇不宜食用生鱼片和未经消毒的牛奶"),
        (
            "食品检测站每周三为居民免费检测亚硝酸盐。",
            "自2022年起，本社区的食品检测站每周三为居民免费检测亚硝酸盐",
            "2022年",
        ),
    ],
}
"""Part of a paragraph -> the claims of the first reply: sentence, quote, date."""
REPAIRS: Mapping[str, Sequence[tuple[int, str, str]]] = {
    "木质砧板出现较深": [(2, "木质砧板出现较深的刀痕后应当更换。", "木质砧板出现较深的刀痕后应当更换")],
    "浸泡叶类蔬菜的时间不超过": [(1, "浸泡叶类蔬菜的时间一般不超过10分钟。", "浸泡叶类蔬菜的时间一般不超过10分钟")],
    "未煮熟的四季豆含有皂素": [(1, "未煮熟的四季豆含有皂素。", "未煮熟的四季豆含有皂素")],
    "它的毒素": [
        (
            2,
            "发芽的马铃薯的毒素经过加热也不容易被破坏。",
            "发芽的马铃薯含有较多的龙葵素，不应食用。它的毒素经过加热也不容易被破坏",
        )
    ],
    "2022": [
        (
            2,
            "自2022年起，食品检测站每周三为居民免费检测亚硝酸盐。",
            "自2022年起，本社区的食品检测站每周三为居民免费检测亚硝酸盐",
        )
    ],
    "冰箱冷藏室的温度": [(1, "冰箱冷藏室的温度应当保持在0～4℃。", "冰箱冷藏室的温度应当保持在0～4℃")],
}
"""Part of a fault report -> the lines written anew: number, sentence, quote. Anything else cannot be put right."""
DETAILS: Mapping[str, str] = {
    "手、刀具、砧板或容器": "空气、光线、声音或温度",
    "生食和熟食应当使用": "蔬菜和水果应当使用",
    "揉搓时间不少于20秒": "揉搓时间不少于90秒",
    "木质砧板": "塑料碗盖",
    "叶类蔬菜": "干制香菇",
    "70℃以上": "45℃以上",
    "翻动一次": "称重一次",
    "四季豆含有皂素": "四季豆含有咖啡因",
    "鲜黄花菜含有秋水仙碱": "鲜黄花菜含有河豚毒素",
    "较多的龙葵素": "较多的维生素C",
    "经过加热也不容易被破坏": "经过冲洗也不容易被留下",
    "0～4℃": "8～12℃",
    "冷冻室的温度应当低于零下18℃": "冷冻室的温度应当低于零下2℃",
    "不应超过2小时": "不应超过9小时",
    "不应超过1小时": "不应超过7小时",
    "冷藏只能减慢细菌": "冷藏只能减慢病毒",
    "低温下仍然能够繁殖": "高温下仍然能够繁殖",
    "3天内": "9天内",
    "一岁以内的婴儿": "五十岁的成年人",
    "肉毒杆菌的芽孢": "新型冠状病毒",
    "缺氧环境": "富氧环境",
    "孕妇不宜": "青年不宜",
}
"""Part of a true claim -> what stands in its false claim instead."""
OPEN: Mapping[str, str] = {"食品检测站": "哪个社区的食品检测站"}
"""Part of a claim -> what the reading alone finds open."""


def reply(messages: Sequence[Mapping[str, Any]], body: Mapping[str, Any]) -> str:
    """What the service says; it calls this function by its name."""
    user = str(messages[-1]["content"])
    if "你没有别的材料" in user:
        return next((said for part, said in OPEN.items() if part in user), "无")
    if user.startswith(("下面几条", "刚才的回答")):
        lines = [line for part, lines in REPAIRS.items() if part in user for line in lines]
        return "\n".join(_json(number=n, claim=claim, quote=quote, as_of="") for n, claim, quote in lines) or "无"
    if "只改动其中一处细节" in user:
        claim = user.partition("\n句子：")[2].partition("\n")[0]
        return next((claim.replace(old, new) for old, new in DETAILS.items() if old in claim), "无")
    paragraph = user.partition("\n段落：")[2].partition("\n")[0]
    lines = next((lines for part, lines in CLAIMS.items() if part in paragraph), ())
    dated = ((*line, "") if len(line) == 2 else line for line in lines)
    return "\n".join(_json(claim=claim, quote=quote, as_of=as_of) for claim, quote, as_of in dated) or "无"


def _json(**fields: Any) -> str:
    return json.dumps(fields, ensure_ascii=False)


def record(target: Path) -> None:
    """Build the recipe with the fake service as its model, and write its replies to `target`."""
    from benchbuilder.testing import fake_openai_server

    with fake_openai_server({"plugin": __file__}) as server, tempfile.TemporaryDirectory() as folder:
        words = ["recipe=guideline_zh", f"run.dir={folder}", "annotation=none", "model=openai", f"model.name={NAME}"]
        words += [f"model.base_url={server.base_url}", "model.prices=null"]
        environ = {**os.environ, "OPENAI_API_KEY": "none"}
        command = [sys.executable, "-m", "benchbuilder"]
        subprocess.run([*command, *words], check=True, env=environ)
        subprocess.run([*command, "replies", f"--output={target}", *words], check=True, env=environ)


if __name__ == "__main__":
    record(REPLIES)
