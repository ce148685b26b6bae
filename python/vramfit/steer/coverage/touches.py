"""Whether statements that were not run would use the card: by what their calls resolve to."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable
from types import ModuleType
from typing import Any

from vramfit.base import frames
from vramfit.contract import notes as said
from vramfit.steer.coverage.source import Source

NO: said.UsesCard = "no"
UNKNOWN: said.UsesCard = "unknown"
YES: said.UsesCard = "yes"
_ORDER = (NO, UNKNOWN, YES)
# Parts of torch that move nothing to a card and compute nothing there.
_HARMLESS_PLACES = ("torch.utils.data", "torch.utils.tensorboard", "torch.serialization", "torch.random", "torch.hub")
_HARMLESS_TORCH = frozenset({
    "save", "no_grad", "inference_mode", "enable_grad", "set_grad_enabled", "manual_seed", "manual_seed_all", "device",
    "set_float32_matmul_precision", "synchronize", "empty_cache", "reset_peak_memory_stats", "max_memory_allocated",
    "memory_allocated", "memory_reserved", "max_memory_reserved", "memory_summary", "memory_stats", "is_available",
    "device_count", "get_rank", "get_world_size", "is_initialized", "set_device", "current_device", "mem_get_info",
    "destroy_process_group", "get_device_name", "set_num_threads", "Generator", "is_grad_enabled",
})  # fmt: skip
_HARMLESS_METHODS = frozenset({
    "item", "cpu", "numpy", "detach", "size", "dim", "numel", "eval", "train", "parameters", "named_parameters",
    "state_dict", "zero_grad", "tolist", "modules", "named_modules", "children", "get_last_lr",
    "stride", "element_size", "data_ptr", "is_contiguous", "share_memory_", "extra_repr",
})  # fmt: skip
# Methods that only report something, whatever object they belong to.
_SAYING = frozenset({
    "info", "debug", "warning", "error", "log", "write", "flush", "add_scalar", "add_scalars", "set_postfix",
    "set_description", "log_metrics", "close",
})  # fmt: skip
_VERBS = frozenset(
    {"backward", "step", "forward", "cuda", "generate", "fit", "evaluate", "predict", "validate", "test"}
)
_MAX_DEPTH = 6


class Touching:
    """Judges statements of the user's files, with the objects that their names stand for at the end of the run."""

    def __init__(self, sources: Iterable[Source], torch: Any) -> None:
        self._sources = list(sources)
        self._torch = torch
        self._modules = {
            getattr(module, "__file__", None): module
            for module in list(sys.modules.values())
            if isinstance(module, ModuleType)
        }
        self._judged: dict[int, said.UsesCard] = {}
        self._packages: dict[str, bool] = {}

    def judge(self, statements: Iterable[ast.stmt], file: str, depth: int = 0) -> said.UsesCard:
        worst: said.UsesCard = NO
        for statement in statements:
            for node in ast.walk(statement):
                if isinstance(node, ast.Call):
                    worst = max(worst, self._judge_call(node, file, depth), key=_ORDER.index)
                elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
                    worst = max(worst, UNKNOWN, key=_ORDER.index)
                if worst == YES:
                    return YES
        return worst

    def _judge_call(self, call: ast.Call, file: str, depth: int) -> said.UsesCard:
        known, found = self._resolve(call.func, file)
        if known:
            return self._judge_object(found, call, depth)
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        own = [(source, function) for source in self._sources for function in source.functions.get(name, [])]
        if own:
            return max((self._judge_function(s, f, depth) for s, f in own), key=_ORDER.index)
        if isinstance(call.func, ast.Name):
            return UNKNOWN  # something that was assigned: a model, a loss
        if not isinstance(call.func, ast.Attribute):
            return NO
        return self._judge_method(name)

    def _judge_method(self, name: str) -> said.UsesCard:
        """For an object that is not known: methods that lists and dicts have too are theirs, any other may do
        anything."""
        if name in _HARMLESS_METHODS or name in _SAYING:
            return NO
        if any(hasattr(kind, name) for kind in (list, dict, str, set, bytes)):
            return NO
        return YES if name in _VERBS else UNKNOWN

    def _resolve(self, function: ast.expr, file: str) -> tuple[bool, Any]:
        """What a dotted name stands for in the file's module. Nothing is called: attributes are read of modules and
        classes, and of an object only by its type."""
        path: list[str] = []
        while isinstance(function, ast.Attribute):
            path.append(function.attr)
            function = function.value
        if not isinstance(function, ast.Name):
            return False, None
        module = self._modules.get(file) or sys.modules.get("__main__")
        names = vars(module) if module is not None else {}
        builtins = vars(sys.modules["builtins"])
        if function.id not in names and function.id not in builtins:
            return False, None
        found = names.get(function.id, builtins.get(function.id))
        for name in reversed(path):
            if isinstance(found, ModuleType):  # a lazy one would import what it is asked for
                if name not in vars(found):
                    return False, None
                found = vars(found)[name]
                continue
            try:
                found = getattr(found if isinstance(found, type) else type(found), name)
            except Exception:
                return False, None
        return True, found

    def _judge_object(self, found: Any, call: ast.Call, depth: int) -> said.UsesCard:
        if isinstance(found, self._torch.nn.Module):
            return YES
        if not callable(found):
            return UNKNOWN  # a name that stood for something else when it was called, or will
        code = getattr(found, "__code__", None)
        if code is not None and frames.is_script(code):
            return self._judge_name(code.co_name, code.co_filename, code.co_firstlineno, depth)
        if isinstance(found, type) and issubclass(found, (self._torch.nn.Module, self._torch.optim.Optimizer)):
            return YES
        kind = found if isinstance(found, type) else type(found)
        module = str(getattr(found, "__module__", None) or kind.__module__ or "")
        name = str(getattr(found, "__name__", ""))
        if module == "copy":  # of whatever it is given: mostly a model
            return UNKNOWN
        if module == "builtins" or module.startswith(_HARMLESS_PLACES):
            return NO
        if module.split(".")[0] == "torch" or kind.__module__.split(".")[0] == "torch":
            return NO if name in _HARMLESS_TORCH or name in _HARMLESS_METHODS else YES
        return UNKNOWN if self._uses_torch(module.split(".")[0]) else NO

    def _judge_name(self, name: str, file: str, first_line: int, depth: int) -> said.UsesCard:
        for source in self._sources:
            for function in source.functions.get(name, []):
                lines = [function.lineno, *(decorator.lineno for decorator in function.decorator_list)]
                if source.name == file and first_line in lines:
                    return self._judge_function(source, function, depth)
        return UNKNOWN

    def _judge_function(self, source: Source, function: Any, depth: int) -> said.UsesCard:
        known = self._judged.get(id(function))
        if known is None:
            if depth >= _MAX_DEPTH:
                return UNKNOWN
            self._judged[id(function)] = NO  # one that calls itself
            known = self._judged[id(function)] = self.judge(function.body, source.name, depth + 1)
        return known

    def _uses_torch(self, package: str) -> bool:
        """Whether any module of a package has torch in it."""
        if not package:
            return False
        if package not in self._packages:
            self._packages[package] = any(
                vars(module).get("torch") is self._torch
                for name, module in list(sys.modules.items())
                if (name == package or name.startswith(package + ".")) and isinstance(module, ModuleType)
            )
        return self._packages[package]
