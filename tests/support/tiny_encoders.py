"""A tiny sentence encoder with random weights, made on the spot: the same every time."""

from __future__ import annotations

from pathlib import Path

from tiny_models import tokenizer


def encoder(folder: Path, seed: int = 1) -> Path:
    """A folder with a network of one layer and its tokenizer."""
    import torch
    from transformers import BertConfig, BertModel

    words = tokenizer(None)
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(words), hidden_size=24, intermediate_size=48, num_hidden_layers=1, num_attention_heads=2,
        max_position_embeddings=512, pad_token_id=0, initializer_range=0.5,
    )  # fmt: skip
    BertModel(config).save_pretrained(folder)
    words.model_max_length = 512
    words.save_pretrained(folder)
    return folder
