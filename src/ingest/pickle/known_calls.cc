#include "ingest/pickle/known_calls.h"

#include <string_view>
#include <vector>

#include "ingest/pickle/numbers.h"

namespace vramfit::ingest::pickle {
namespace {

struct Call {
  std::string_view module;
  std::string_view name;
  std::vector<Value> arguments;
  Strings& strings;
  Heap& heap;
};

bool is_builtin(const Call& call, std::string_view name) {
  return call.name == name && (call.module == "builtins" || call.module == "__builtin__");
}

// (text, "latin1"): how bytes are written by protocols that have no opcode for them.
std::optional<Value> encode_latin1(const Call& call, Kind kind) {
  if (call.arguments.size() != 2 || call.arguments[0].kind != Kind::kString ||
      call.arguments[1].kind != Kind::kString) {
    return std::nullopt;
  }
  const std::string_view codec = call.strings.text(call.arguments[1].text());
  if (codec != "latin1" && codec != "latin-1") return std::nullopt;
  const auto bytes = to_latin1(call.strings.text(call.arguments[0].text()));
  if (!bytes) return std::nullopt;
  return make_pooled(kind, call.strings.intern(*bytes));
}

std::optional<Value> make_set(const Call& call, ObjectKind kind) {
  if (call.arguments.size() > 1) return std::nullopt;
  std::vector<Value> items;
  if (call.arguments.size() == 1) {
    const Object* list = call.heap.find(call.arguments[0]);
    if (list == nullptr || list->kind != ObjectKind::kList) return std::nullopt;
    items = list->items;
  }
  const std::uint32_t slot = call.heap.create(kind);
  for (const Value& item : items) call.heap.append(*call.heap.find(slot), item);
  return make_pooled(Kind::kObject, slot);
}

std::optional<Value> make_bytearray(const Call& call) {
  if (call.arguments.empty()) return make_pooled(Kind::kByteArray, call.strings.intern({}));
  if (call.arguments.size() == 1 && call.arguments[0].kind == Kind::kBytes) {
    return make_pooled(Kind::kByteArray, call.arguments[0].text());
  }
  return encode_latin1(call, Kind::kByteArray);
}

}  // namespace

std::optional<Value> evaluate_known_call(const Value& callable, const Value& arguments, Strings& strings, Heap& heap) {
  const Object* global = heap.find(callable);
  const Object* tuple = heap.find(arguments);
  if (global == nullptr || global->kind != ObjectKind::kGlobal) return std::nullopt;
  if (tuple == nullptr || tuple->kind != ObjectKind::kTuple) return std::nullopt;
  const Call call{strings.text(global->items[0].text()), strings.text(global->items[1].text()), tuple->items, strings,
                  heap};
  if (call.module == "_codecs" && call.name == "encode") return encode_latin1(call, Kind::kBytes);
  if (is_builtin(call, "set")) return make_set(call, ObjectKind::kSet);
  if (is_builtin(call, "frozenset")) return make_set(call, ObjectKind::kFrozenSet);
  if (is_builtin(call, "bytearray")) return make_bytearray(call);
  if (is_builtin(call, "bytes") && call.arguments.empty()) return make_pooled(Kind::kBytes, strings.intern({}));
  if (call.module == "collections" && call.name == "OrderedDict" && call.arguments.empty()) {
    Value dict = make_pooled(Kind::kObject, heap.create(ObjectKind::kDict));
    dict.is_owner = true;
    return dict;
  }
  return std::nullopt;
}

}  // namespace vramfit::ingest::pickle
