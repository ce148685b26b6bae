// A list of what a long log says over and over, kept evenly: when it is full, every other entry goes, and only every
// other one is taken on.
#ifndef VRAMFIT_INGEST_TEXT_THINNING_H
#define VRAMFIT_INGEST_TEXT_THINNING_H

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace vramfit::ingest {

class Thinning {
 public:
  // Whether the next entry is one of those that are left out.
  bool leaves_out_next() const { return seen_ % stride_ != 0; }
  void count() { ++seen_; }

  // Makes room in a list that has `most`; how many went.
  template <class Entry>
  std::size_t make_room(std::vector<Entry>& all, std::size_t most) {
    if (all.size() < most) return 0;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < all.size(); i += 2, ++kept) {
      if (i != kept) all[kept] = std::move(all[i]);
    }
    const std::size_t gone = all.size() - kept;
    all.resize(kept);
    stride_ *= 2;
    return gone;
  }

 private:
  std::int64_t seen_ = 0, stride_ = 1;
};

}  // namespace vramfit::ingest

#endif
