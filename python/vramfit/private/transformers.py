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
_PLAN = "batches of a plan are not given to it"
settings = Attribute(f"{_TRAINER}.args", _PLAN)
training_set = Attribute(f"{_TRAINER}.train_dataset", "batches that don't divide its data are not refused under a plan")
callbacks_held = Attribute(f"{_TRAINER}.callback_handler", "it is not counted on to the numbers of its callbacks")
callbacks = Attribute("transformers.trainer_callback:CallbackHandler.callbacks", callbacks_held.lost)
prepare_again = Attribute(
    f"{_TRAINER}.create_accelerator_and_postprocess", "the Accelerator accumulates as the script says"
)
divides_itself = Attribute(
    f"{_TRAINER}.model_accepts_loss_kwargs",
    "models that give the mean of their part have other gradients under a plan",
    only_with=f"{_TRAINER}.get_batch_samples",  # which counts what such models divide by
)
batch_size = Attribute(f"{_TRAINER}._train_batch_size", "smaller batches of a plan do not come into force")
_EAGER = "eager attention stays as it is"
attention = Attribute("transformers.configuration_utils:PretrainedConfig._attn_implementation", _EAGER, later=True)
supports_sdpa = Attribute("transformers.modeling_utils:PreTrainedModel._supports_sdpa", _EAGER, later=True)
