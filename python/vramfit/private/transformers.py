"""The private names of Hugging Face's Trainer."""

from __future__ import annotations

from vramfit.private.names import Attribute, Name

LIBRARY = "transformers"
MODULE = "transformers.trainer"
READY = (MODULE,)
_TRAINER = f"{MODULE}:Trainer"

training_loop = Name(
    f"{_TRAINER}._inner_training_loop", "its training is cut batch by batch, and counts less than it did"
)
save_checkpoint = Name(f"{_TRAINER}._save_checkpoint", "memory of its checkpoints is not told from training's")
batch_size = Attribute(f"{_TRAINER}._train_batch_size", "smaller batches of a plan do not come into force")
_EAGER = "eager attention stays as it is"
attention = Attribute("transformers.configuration_utils:PretrainedConfig._attn_implementation", _EAGER, later=True)
supports_sdpa = Attribute("transformers.modeling_utils:PreTrainedModel._supports_sdpa", _EAGER, later=True)
