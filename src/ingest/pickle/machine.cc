#include "ingest/pickle/machine.h"

#include <fmt/format.h>

#include <cstring>

#include "ingest/pickle/known_calls.h"
#include "ingest/pickle/opcodes.h"

namespace vramfit::ingest::pickle {
namespace {

// Memory is looked at once in so many opcodes: each of them takes some hundred bytes at most, or what it read.
constexpr std::uint32_t kStepsBetweenChecks = 4096;

}  // namespace

Machine::Machine(Input& input, Folder& folder, Limits limits) : input_(input), folder_(folder), limits_(limits) {
  folder_.attach(strings_, heap_);
}

base::Result<Value> Machine::run() {
  memo_ = {};
  stack_.clear();
  marks_.clear();
  for (;;) {
    opcode_at_ = input_.offset();
    if (!input_.ensure(1)) {
      ends_early();
      return std::unexpected(failure_);
    }
    const auto opcode = static_cast<unsigned char>(*input_.data());
    input_.skip(1);
    if (opcode == kStop) {
      if (!need(1)) return std::unexpected(failure_);
      const Value result = settle(stack_.back());
      stack_.pop_back();
      return result;
    }
    if (!step(opcode) || (++steps_ % kStepsBetweenChecks == 0 && !check_limits())) return std::unexpected(failure_);
  }
}

std::size_t Machine::memory_bytes() const {
  return strings_.memory_bytes() + heap_.memory_bytes() + memo_.memory_bytes() + folder_.memory_bytes() +
         stack_.capacity() * sizeof(Value) + marks_.capacity() * sizeof(std::size_t);
}

bool Machine::check_limits() {
  if (memory_bytes() > limits_.memory_bytes) {
    fail(fmt::format("the pickle needs more than the {} MiB of memory it may take", limits_.memory_bytes >> 20));
    failure_.code = base::ErrorCode::kUnsupported;
    return false;
  }
  if (static_cast<std::uint64_t>(input_.offset()) > limits_.read_bytes) {
    fail(fmt::format("the pickle is longer than the {} MiB that are read of one", limits_.read_bytes >> 20));
    failure_.code = base::ErrorCode::kUnsupported;
    return false;
  }
  return true;
}

bool Machine::fail(std::string what) {
  failure_ = {base::ErrorCode::kCorrupt, std::move(what), fmt::format("offset {}", opcode_at_), {}};
  return false;
}

bool Machine::ends_early() {
  if (input_.error()) {
    failure_ = *input_.error();
    failure_.where = fmt::format("offset {}", input_.offset());
    return false;
  }
  return fail("the pickle ends in the middle");
}

bool Machine::need(std::size_t count) {
  return stack_.size() - floor() >= count || fail("an opcode needs more values than there are");
}

bool Machine::pop_mark(std::size_t& first) {
  if (marks_.empty()) return fail("an opcode needs a mark, and there is none");
  first = marks_.back();
  marks_.pop_back();
  return true;
}

bool Machine::take(std::uint64_t size, std::string_view& bytes) {
  if (size > limits_.memory_bytes)
    return fail(fmt::format("a text of {} bytes is longer than anything read here", size));
  const auto taken = input_.take(size);
  if (!taken) return ends_early();
  bytes = *taken;
  return true;
}

bool Machine::take_line(std::string_view& line) {
  const auto taken = input_.take_line(limits_.memory_bytes);
  if (!taken) return ends_early();
  line = *taken;
  return true;
}

void Machine::push_global(std::string_view module, std::string_view name) {
  const Value module_text = make_pooled(Kind::kString, strings_.intern(module));
  const Value name_text = make_pooled(Kind::kString, strings_.intern(name));
  push(make_object(heap_.create(ObjectKind::kGlobal)));
  Object& global = *heap_.find(stack_.back());
  heap_.append(global, module_text);
  heap_.append(global, name_text);
}

void Machine::push_call(const Value& callable, const Value& arguments, const Value& keywords) {
  const Value function = settle(callable);
  const Value given = settle(arguments);
  if (keywords.kind == Kind::kNone) {
    if (const auto known = evaluate_known_call(function, given, strings_, heap_)) {
      push(*known);
      return;
    }
  }
  const Value named = settle(keywords);
  push(make_object(heap_.create(ObjectKind::kCall)));
  Object& call = *heap_.find(stack_.back());
  for (int part = 0; part < kCallEnd; ++part) heap_.append(call, Value{});
  call.items[kCallable] = function;
  call.items[kArguments] = given;
  call.items[kKeywords] = named;
}

bool Machine::push_tuple(std::size_t first) {
  for (std::size_t i = first; i < stack_.size(); ++i) stack_[i] = settle(stack_[i]);
  if (const auto folded = folder_.fold_tuple(std::span(stack_).subspan(first))) {
    stack_.resize(first);
    push(*folded);
    return true;
  }
  push_container(ObjectKind::kTuple, first);
  return true;
}

void Machine::push_container(ObjectKind kind, std::size_t first) {
  Value container = make_object(heap_.create(kind));
  for (std::size_t i = first; i < stack_.size(); ++i) {
    const Value item = settle(stack_[i]);
    if (kind == ObjectKind::kList) {
      append_one(container, item);
    } else {
      heap_.append(*heap_.find(container), item);
    }
  }
  stack_.resize(first);
  push(container);
}

Value Machine::settle_owner(const Value& value, bool is_cut) {
  const Object& object = *heap_.find(value.slot());
  if (object.kind == ObjectKind::kDict && !object.items.empty()) {
    if (const auto folded = folder_.fold_dict(object.items, is_cut)) {
      heap_.replace(value.slot(), *folded);
      return *folded;
    }
  }
  return {value.kind, false, value.tag, value.bits};
}

bool Machine::append_one(Value& list, const Value& item) {
  const Value target = heap_.resolve(list);
  if (target.kind == Kind::kFolded) {
    folder_.add_to_list(target, item);
    return true;
  }
  Object* object = heap_.find(target);
  if (object != nullptr && object->kind == ObjectKind::kCall)
    object = &call_part(target.slot(), kListItems, ObjectKind::kList);
  if (object == nullptr || object->kind != ObjectKind::kList)
    return fail("items are appended to something that is no list");
  if (object->items.empty() && item.kind == Kind::kFolded) {
    if (const auto folded = folder_.begin_list(item)) {
      heap_.replace(target.slot(), *folded);
      list = *folded;
      folder_.add_to_list(*folded, item);
      return true;
    }
  }
  heap_.append(*object, item);
  return true;
}

bool Machine::append_items(std::size_t list_at, std::size_t first) {
  for (std::size_t i = first; i < stack_.size(); ++i) {
    if (!append_one(stack_[list_at], settle(stack_[i]))) return false;
    // The first item decides what becomes of the list: the others of one that stays go in together.
    Object* list = heap_.find(heap_.resolve(stack_[list_at]));
    if (list == nullptr || list->kind != ObjectKind::kList) continue;
    for (std::size_t rest = i + 1; rest < stack_.size(); ++rest) stack_[rest] = settle(stack_[rest]);
    heap_.append(*list, std::span(stack_).subspan(i + 1));
    break;
  }
  stack_.resize(first);
  return true;
}

bool Machine::set_one(Value& dict, const Value& key, const Value& item) {
  const Value settled_key = settle(key);
  const Value settled_item = settle(item);
  const Value target = heap_.resolve(dict);
  if (target.kind == Kind::kFolded) {
    folder_.add_to_dict(target, settled_key, settled_item);
    return true;
  }
  Object* object = heap_.find(target);
  if (object != nullptr && object->kind == ObjectKind::kCall)
    object = &call_part(target.slot(), kDictItems, ObjectKind::kDict);
  if (object == nullptr || object->kind != ObjectKind::kDict)
    return fail("items are put into something that is no dict");
  heap_.append(*object, settled_key);
  heap_.append(*object, settled_item);
  return true;
}

bool Machine::set_items(std::size_t dict_at, std::size_t first, bool is_cut) {
  if ((stack_.size() - first) % 2 != 0) return fail("a key has no value");
  for (std::size_t i = first; i < stack_.size(); ++i) stack_[i] = settle(stack_[i], is_cut);
  const Value target = heap_.resolve(stack_[dict_at]);
  const Object* object = heap_.find(target);
  if (object != nullptr && object->kind == ObjectKind::kDict && object->items.empty() && first < stack_.size()) {
    if (const auto folded = folder_.fold_dict(std::span(stack_).subspan(first), is_cut)) {
      heap_.replace(target.slot(), *folded);
      stack_[dict_at] = *folded;
      stack_.resize(first);
      return true;
    }
  }
  for (std::size_t i = first; i < stack_.size(); i += 2) {
    if (!set_one(stack_[dict_at], stack_[i], stack_[i + 1])) return false;
  }
  stack_.resize(first);
  return true;
}

bool Machine::add_to_set(std::size_t first) {
  Object* set = first == floor() ? nullptr : heap_.find(heap_.resolve(stack_[first - 1]));
  if (set == nullptr || set->kind != ObjectKind::kSet) return fail("items are added to something that is no set");
  for (std::size_t i = first; i < stack_.size(); ++i) heap_.append(*set, settle(stack_[i]));
  stack_.resize(first);
  return true;
}

Object& Machine::call_part(std::uint32_t call, CallPart part, ObjectKind kind) {
  Object& object = *heap_.find(call);
  if (object.items[part].kind == Kind::kNone) {
    const std::uint32_t slot = heap_.create(kind);
    heap_.find(call)->items[part] = make_pooled(Kind::kObject, slot);
  }
  return *heap_.find(heap_.find(call)->items[part]);
}

// The values above the open container at `base` without a mark between them, as a list of one item or protocol 0 has
// it: list, item or dict, key, value.
void Machine::collapse(std::size_t base) {
  while (stack_.size() > base + 1) {
    const std::size_t top = stack_.size() - 1;
    const Value item = settle(stack_[top], true);
    if (top >= base + 2 && stack_[top - 1].kind == Kind::kString && set_one(stack_[top - 2], stack_[top - 1], item)) {
      stack_.resize(top - 1);
    } else {
      append_one(stack_[top - 1], item);
      stack_.resize(top);
    }
  }
}

// Keys and values of a cut dict: a value may be open, with what belongs into it above.
void Machine::align_pairs(std::size_t first) {
  for (std::size_t at = first; at < stack_.size(); at += 2) {
    if (at > first && stack_[at].kind != Kind::kString) return collapse(at - 1);
  }
  if ((stack_.size() - first) % 2 != 0) stack_.pop_back();
}

Value Machine::salvage() {
  while (!marks_.empty()) {
    const std::size_t first = marks_.back();
    marks_.pop_back();
    const Value below = first > floor() ? heap_.resolve(stack_[first - 1]) : Value{};
    const Object* object = heap_.find(below);
    const bool is_dict = object != nullptr && object->kind == ObjectKind::kDict;
    if (is_dict) {
      align_pairs(first);
      set_items(first - 1, first, true);
    } else if (below.kind == Kind::kFolded || (object != nullptr && object->kind == ObjectKind::kList)) {
      for (std::size_t i = first; i < stack_.size(); ++i) append_one(stack_[first - 1], settle(stack_[i], true));
    }
    stack_.resize(first);
  }
  if (stack_.empty()) return {};
  collapse(0);
  const Value result = settle(stack_.front(), true);
  stack_.clear();
  return result;
}

}  // namespace vramfit::ingest::pickle
