"""Whisper fine-tuning with Hugging Face's Seq2SeqTrainer; evaluated with `predict_with_generate`."""

import torch
from transformers import Seq2SeqTrainer, Seq2SeqTrainingArguments, WhisperConfig, WhisperForConditionalGeneration


class Sounds(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 32

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        return {"input_features": torch.randn(80, 3000), "labels": torch.randint(0, 500, (24,))}


model = WhisperForConditionalGeneration(
    WhisperConfig(
        vocab_size=512,
        d_model=128,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=256,
        decoder_ffn_dim=256,
        max_target_positions=64,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
        suppress_tokens=None,
        begin_suppress_tokens=None,
    )
)
settings = Seq2SeqTrainingArguments(
    output_dir="out",
    max_steps=4,
    per_device_train_batch_size=4,
    predict_with_generate=True,
    generation_max_length=16,
    eval_strategy="steps",
    eval_steps=2,
    report_to="none",
    save_strategy="no",
)
Seq2SeqTrainer(model=model, args=settings, train_dataset=Sounds(), eval_dataset=Sounds()).train()
