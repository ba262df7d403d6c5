"""Tiny language models with random weights, made on the spot: the same every time.

PyTorch takes seconds to import, so only who makes a model does it: not each worker, as it reads the tests.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

SPECIAL = ["<pad>", "</s>", "<s>", "<|user|>", "<|assistant|>", "<|system|>", "<|end|>"]
TEXTS = (
    "孕妇应当注意补充叶酸。", "妊娠期糖尿病对胎儿有害吗？", "新生儿黄疸多在出生后两到三天出现。",
    "请把问题和答案改写成一句陈述句。",
    "Rewrite question and answer as one statement.", "Is the following statement true? Answer in one sentence.",
    '{"text": "..."} JSON Schema: {"properties": {}, "type": "object"}', "用户：小元：\\n",
)  # fmt: skip
TEMPLATE = (
    "{%- for message in messages -%}<|{{ message['role'] }}|>{{ message['content'] }}<|end|>{%- endfor -%}"
    "{%- if add_generation_prompt -%}<|assistant|>{%- endif -%}"
)


def tokenizer(template: str | None) -> PreTrainedTokenizerFast:
    """A byte-level tokenizer trained on a few sentences."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=420, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    inner.train_from_iterator(TEXTS, trainer)
    inner.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    made = PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="<pad>", eos_token="</s>", bos_token="<s>", clean_up_tokenization_spaces=False
    )
    made.chat_template = template
    return made


def causal(folder: Path, template: str | None = TEMPLATE, seed: int = 1, **generation: Any) -> Path:
    """A chat model of one thin layer in `folder`."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    words = tokenizer(template)
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(words), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
        max_position_embeddings=256, bos_token_id=2, eos_token_id=6, pad_token_id=0, initializer_range=0.5,
    )  # fmt: skip
    return _save(LlamaForCausalLM(config), words, folder, generation)


def seq2seq(folder: Path, seed: int = 1, **generation: Any) -> Path:
    """A T5 of one thin layer in `folder`, without chat template."""
    import torch
    from transformers import T5Config, T5ForConditionalGeneration

    words = tokenizer(None)
    torch.manual_seed(seed)
    config = T5Config(
        vocab_size=len(words), d_model=32, d_kv=16, d_ff=64, num_layers=2, num_heads=2, eos_token_id=1, pad_token_id=0,
        decoder_start_token_id=0, initializer_factor=3.0,
    )  # fmt: skip
    return _save(T5ForConditionalGeneration(config), words, folder, generation)


def _save(model: Any, words: PreTrainedTokenizerFast, folder: Path, generation: dict[str, Any]) -> Path:
    for name, value in generation.items():
        setattr(model.generation_config, name, value)
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    return folder
