"""Tiny networks with random weights, and answers with ratings by a known rule, for the tests of neural judges."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import torch
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors
from transformers import (
    BertConfig,
    BertForMaskedLM,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaForMaskedLM,
)

from benchbuilder.evaluation.judges.base import Case, Example

WORTH = {
    "每天补充叶酸": 0.9, "按时产检": 0.8, "均衡饮食": 0.7, "遵医嘱用药": 1.0, "充分休息": 0.6,
    "不必检查": 0.2, "自行停药": 0.0, "大量饮酒": 0.1, "忽视出血": 0.15, "随意节食": 0.25,
}  # fmt: skip
"""What a rater thinks of each piece of advice."""
TOPICS = (
    "孕早期",
    "孕晚期",
    "分娩前",
    "产褥期",
    "哺乳期",
    "新生儿期",
    "妊娠期糖尿病",
    "妊娠期高血压",
    "流产后",
    "剖宫产后",
)
FILLER = "围产期保健的资料指出，孕妇和婴儿的情况因人而异，应当结合检查结果综合判断。"
SIGNS = "0123456789.<>[]：，。？…\n下面是一个问题、参考资料和某助手的回答。请给这个回答的正确性打分：0 最差，1 最好。评"
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def rating(answer: str) -> float:
    """The rule: the mean worth of the advice that an answer gives."""
    found = [worth for advice, worth in WORTH.items() if advice in answer]
    return sum(found) / len(found)


def examples(count: int, seed: int = 5, evidence: int = 0, synthetic: bool = False) -> list[Example]:
    """Answers of two pieces of advice, with `evidence` characters of paragraphs that say nothing about them."""
    chance = random.Random(seed)
    made: list[Example] = []
    for number in range(count):
        answer = "应当" + "，".join(chance.sample(sorted(WORTH), 2)) + "。"
        text = (FILLER * (evidence // len(FILLER) + 1))[:evidence]
        case = Case(f"{chance.choice(TOPICS)}需要注意什么？", answer, tuple(filter(None, [text])), type="oe")
        model = "" if synthetic else f"model{number % 4}"
        made.append(Example(case, rating(answer), 1.0, f"item-{number}", f"fact-{number}", model, "toy"))
    return made


def tokenizer(begin: str, end: str) -> PreTrainedTokenizerFast:
    """A tokenizer of single characters."""
    letters = dict.fromkeys("".join([*SIGNS, *WORTH, *TOPICS, FILLER, "需要注意什么应当"]))
    vocabulary = {token: at for at, token in enumerate([*SPECIAL, *letters])}
    inner = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    inner.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    marks = [(mark, vocabulary[mark]) for mark in ("[CLS]", "[SEP]")]
    inner.post_processor = processors.TemplateProcessing(
        single=f"{begin} $A {end}".strip(), pair="[CLS] $A:0 [SEP]:0 $B:1 [SEP]:1", special_tokens=marks
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
        mask_token="[MASK]", bos_token="[CLS]", eos_token="[SEP]", clean_up_tokenization_spaces=False,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )  # fmt: skip


def encoder(folder: Path, positions: int = 128) -> Path:
    """A BERT of two thin layers, as it is after pretraining: without a head for scores."""
    words = tokenizer("[CLS]", "[SEP]")
    torch.manual_seed(1)
    config = BertConfig(
        vocab_size=len(words), hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
        max_position_embeddings=positions, pad_token_id=0,
    )  # fmt: skip
    return _save(BertForMaskedLM(config), words, folder)


def roberta(folder: Path) -> Path:
    """An encoder that counts its positions from two."""
    words = tokenizer("[CLS]", "[SEP]")
    words.model_input_names = ["input_ids", "attention_mask"]
    torch.manual_seed(1)
    config = RobertaConfig(
        vocab_size=len(words), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=65, pad_token_id=0, type_vocab_size=1,
    )  # fmt: skip
    return _save(RobertaForMaskedLM(config), words, folder)


def decoder(folder: Path, seed: int = 1, template: str | None = None) -> Path:
    """A Llama of two thin layers."""
    words = tokenizer("[CLS]", "")
    words.chat_template = template
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(words), hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
        max_position_embeddings=256, bos_token_id=2, eos_token_id=3, pad_token_id=0, initializer_range=0.2,
    )  # fmt: skip
    return _save(LlamaForCausalLM(config), words, folder)


def _save(model: Any, words: PreTrainedTokenizerFast, folder: Path) -> Path:
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    return folder
