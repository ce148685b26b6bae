// One fuzzer for several small readers: the first byte of an input chooses among them, and the rest is what it reads.
#ifndef VRAMFIT_FUZZ_CHOSEN_READER_H
#define VRAMFIT_FUZZ_CHOSEN_READER_H

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <string_view>

namespace vramfit::fuzz {

struct Reader {
  char letter;
  void (*read)(std::string_view text);
};

// A failed check ends the fuzzer, which keeps the input.
inline void require(bool holds) {
  if (!holds) std::abort();
}

// What LLVMFuzzerTestOneInput returns. Inputs that choose no reader stay out of the corpus.
inline int read_as_chosen(const std::uint8_t* data, std::size_t size, std::initializer_list<Reader> readers) {
  if (size == 0) return 0;
  for (const Reader& reader : readers) {
    if (reader.letter != static_cast<char>(data[0])) continue;
    reader.read(std::string_view(reinterpret_cast<const char*>(data) + 1, size - 1));
    return 0;
  }
  return -1;
}

}  // namespace vramfit::fuzz

#endif
