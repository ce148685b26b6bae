"""Small models, tokenizers and data sets made on the spot: nothing is downloaded."""

from __future__ import annotations

from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

TEXTS = [f"word{i} the quick brown fox jumps over the lazy dog" for i in range(200)]
CHAT = (
    "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}{{ eos_token }}{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)


def tokenizer() -> PreTrainedTokenizerFast:
    """A byte-level BPE of 1000 tokens with a chat template."""
    made = Tokenizer(models.BPE(unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.ByteLevel()
    made.decoder = decoders.ByteLevel()
    special = ["<unk>", "<s>", "</s>", "<pad>"]
    made.train_from_iterator(TEXTS, trainers.BpeTrainer(vocab_size=1000, special_tokens=special))
    words = PreTrainedTokenizerFast(
        tokenizer_object=made,
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        model_input_names=["input_ids", "attention_mask"],  # transformers 4 adds token types, which a Llama refuses
    )
    words.chat_template = CHAT
    return words


def llama(folder: str = "llama") -> str:
    """Writes a Llama of 4 layers with its tokenizer, as a program finds a model on disk; returns its folder."""
    if not Path(folder).exists():
        config = LlamaConfig(
            vocab_size=1024,
            hidden_size=512,
            intermediate_size=1024,
            num_hidden_layers=4,
            num_attention_heads=8,
            num_key_value_heads=4,
            max_position_embeddings=1024,
            bos_token_id=1,
            eos_token_id=2,
            pad_token_id=3,
        )
        LlamaForCausalLM(config).save_pretrained(folder)
        tokenizer().save_pretrained(folder)
    return folder


def said(role: str, text: str) -> dict[str, str]:
    return {"role": role, "content": text}


def data_set(kind: str) -> list[dict[str, object]]:
    """Rows as TRL reads them: "sft" or "dpo"."""
    if kind == "sft":
        return [{"messages": [said("user", text), said("assistant", text * 3)]} for text in TEXTS]
    return [
        {"prompt": [said("user", text)], "chosen": [said("assistant", text * 3)], "rejected": [said("assistant", text)]}
        for text in TEXTS
    ]
