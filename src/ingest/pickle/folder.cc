#include "ingest/pickle/folder.h"

namespace vramfit::ingest::pickle {

void Folder::attach(Strings&, Heap&) {}
std::optional<Value> Folder::fold_dict(std::span<const Value>, bool) { return std::nullopt; }
bool Folder::add_to_dict(const Value&, const Value&, const Value&) { return false; }
std::optional<Value> Folder::fold_tuple(std::span<const Value>) { return std::nullopt; }
std::optional<Value> Folder::begin_list(const Value&) { return std::nullopt; }
bool Folder::add_to_list(const Value&, const Value&) { return false; }

}  // namespace vramfit::ingest::pickle
