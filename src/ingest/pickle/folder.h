// Takes containers out of a pickle while it is read, so that no tree of everything is ever built.
#ifndef VRAMFIT_INGEST_PICKLE_FOLDER_H
#define VRAMFIT_INGEST_PICKLE_FOLDER_H

#include <cstddef>
#include <optional>
#include <span>

#include "ingest/pickle/value.h"

namespace vramfit::ingest::pickle {

class Heap;
class Strings;

// The default takes nothing: everything stays on the heap. A taken container is a kFolded value with the Folder's own
// tag and number (below 2^48), and every other reference to it, by the memo too, becomes that value.
class Folder {
 public:
  virtual ~Folder() = default;

  // Called once, before anything is read: where the texts and containers of the values lie.
  virtual void attach(Strings& strings, Heap& heap);

  // Key, value, key, value. Asked as soon as several items came at once, and again for a dict still on the heap when it
  // goes into another container or is the result. `is_cut`: the pickle broke off inside this dict.
  virtual std::optional<Value> fold_dict(std::span<const Value> items, bool is_cut);
  // One more item for a dict that was taken; false: lost.
  virtual bool add_to_dict(const Value& folded, const Value& key, const Value& value);

  virtual std::optional<Value> fold_tuple(std::span<const Value> items);

  // A list that gets its first item, a folded one: the Folder may take the list, and gets each item, the first too.
  virtual std::optional<Value> begin_list(const Value& first);
  virtual bool add_to_list(const Value& folded, const Value& item);

  // The bytes that the Folder holds, for the limit on memory.
  virtual std::size_t memory_bytes() const { return 0; }
};

}  // namespace vramfit::ingest::pickle

#endif
