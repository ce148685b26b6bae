"""Attention by a fused kernel, which keeps no scores of queries times keys, where the script's own writes them out.

    transformers    models whose attention is "eager": "sdpa" (set_attn_implementation)
    torch.nn        MultiheadAttention asked for weights that nobody reads (unread_weights.py)
    functional      scaled_dot_product_attention in a shape that no fused kernel takes (fused_attention.py)

Scores that the script's own lines work out stay. The same sums in another order; dropout of scores comes from another
place of the random stream. The job ends where weights of attention are asked for after all.
"""

from __future__ import annotations

import functools
import weakref
from types import ModuleType
from typing import Any

from vramfit import apply
from vramfit.apply import fused_attention, unread_weights
from vramfit.base import events, importing, notes, process
from vramfit.contract import notes as said
from vramfit.contract import plans
from vramfit.observe import eager_models
from vramfit.private import transformers as of_transformers
from vramfit.values.standing_in import keep_scriptable

ID = "attention"
# Outputs a model may be asked for that need its scores.
_ASKS = ("output_attentions", "head_mask", "decoder_head_mask", "cross_attn_head_mask")


class Attention:
    KEEPS = process.ALL

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._looked: set[int] = set()  # ids of roots
        self._switched: weakref.WeakSet[Any] = weakref.WeakSet()  # models of transformers
        self._is_dropout_named = False
        self.is_switched = False  # calls come by sdpa that did not before

    def enter(self, module: Any, args: Any, kwargs: Any) -> None:
        if id(module) in self._looked:
            return
        self._looked.add(id(module))
        for model in eager_models.find_eager(module):
            self._switch(model)
        if switched := [inner for inner in module.modules() if inner in self._switched]:
            self._watch(switched)

    def at_config(self, model: Any, config: Any) -> None:
        """Called before a model is made: older ones choose their attention then."""
        if eager_models.is_config_eager(config) and not eager_models.why_not(model, config):
            of_transformers.attention.put(config, "sdpa")
            self._switched.add(model)

    def _switch(self, model: Any) -> None:
        """One that was made with eager attention, or was set to it since."""
        name = type(model).__name__
        if reason := eager_models.why_not(model):
            apply.refused(ID, reason)
            return
        try:
            model.set_attn_implementation("sdpa")
        except (AttributeError, ValueError, ImportError) as error:
            apply.refused(ID, f"{name} does not take sdpa: {error}")
            return
        if left := eager_models.find_eager(model):
            apply.refused(ID, f"the attention of {type(left[0]).__name__} stays eager")
            return
        self._switched.add(model)

    def _watch(self, models: list[Any]) -> None:
        name = type(models[0]).__name__
        inner = {id(module): module for model in models for module in model.modules()}
        for module in inner.values():
            if eager_models.is_model(module):
                module.register_forward_pre_hook(functools.partial(_require_no_scores, name), with_kwargs=True)
        self.is_switched = True
        apply.applied(ID, f"{name} attends by sdpa instead of eager")

    def attend(self, original: Any, args: Any, kwargs: Any) -> Any:
        """The function that takes the place of a call of scaled_dot_product_attention; None: nothing does."""
        if self._torch.compiler.is_compiling() or self._torch.jit.is_tracing():
            return None
        call = fused_attention.Call(*args, **kwargs)
        result = self._fuse(call, original)
        if call.dropout_p > 0 and (result is not None or self.is_switched):
            self._name_dropout()
        return result

    def _fuse(self, call: fused_attention.Call, original: Any) -> Any:
        if not fused_attention.can_be_asked(call):
            return None
        call = fused_attention.under_autocast(call)
        result = fused_attention.fuse(call, original) if call.falls_to_math() else None
        if result is not None:
            apply.applied(ID, "scaled_dot_product_attention by a fused kernel")
        return result

    def _name_dropout(self) -> None:
        if not self._is_dropout_named:
            self._is_dropout_named = True
            notes.note(said.PlanEffect(id=ID, text="dropout of attention's scores draws other random numbers"))

    def leave_weights_out(self) -> None:
        self.is_switched = True
        apply.applied(ID, "MultiheadAttention is not asked for weights that nobody reads")


def _require_no_scores(name: str, _model: Any, _args: Any, kwargs: dict[str, Any]) -> None:
    for asked in _ASKS:
        value = kwargs.get(asked)
        if value is not None and value is not False:
            apply.ended(ID, f"{name} is called with {asked}, which takes eager attention")


def _end_where_read() -> None:
    apply.ended(ID, "the script reads the weights that MultiheadAttention returns")


def _at_configs(technique: Attention, modeling: ModuleType) -> None:
    init = modeling.PreTrainedModel.__init__

    @functools.wraps(init)
    def initialise(self: Any, config: Any, *args: Any, **kwargs: Any) -> None:
        technique.at_config(self, config)
        init(self, config, *args, **kwargs)

    modeling.PreTrainedModel.__init__ = initialise


def install(torch: Any, options: plans.Attention) -> None:
    technique = process.own(Attention, torch)
    functional = torch.nn.functional
    original = functional.scaled_dot_product_attention

    @functools.wraps(original)
    def attend(*args: Any, **kwargs: Any) -> Any:
        result = technique.attend(original, args, kwargs)
        return original(*args, **kwargs) if result is None else result

    functional.scaled_dot_product_attention = attend
    keep_scriptable(original, attend)
    if unread_weights.is_possible():
        unread_weights.leave_out(functional, technique.leave_weights_out, _end_where_read)
    events.root_enter.listen(technique.enter)
    importing.after_import("transformers.modeling_utils", functools.partial(_at_configs, technique))
