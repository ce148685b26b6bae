// Small JSON files about jobs, written by us, by hand and by others: the first byte chooses the reader.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "ingest/network_files.h"
#include "ingest/patch_file.h"
#include "isolate/layer.h"
#include "job/learned.h"

namespace {

// What is read can be written, and is the same when it is read again.
void read_layer(const std::string& text) {
  namespace isolate = vramfit::isolate;
  const auto spec = isolate::parse_layer_spec(text);
  if (!spec) return;
  const std::string written = isolate::to_text(*spec);
  const auto again = isolate::parse_layer_spec(written);
  if (!again || isolate::to_text(*again) != written) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace ingest = vramfit::ingest;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 'p':
      static_cast<void>(ingest::parse_patch(text, "fuzz"));
      break;
    case 'n':
      static_cast<void>(ingest::parse_model_config(text, "fuzz"));
      break;
    case 't':
      static_cast<void>(ingest::parse_networks(text, "fuzz"));
      break;
    case 'l':
      static_cast<void>(vramfit::job::parse_learned(text, "t4"));
      break;
    case 's':
      read_layer(std::string(text));
      break;
    default:
      return -1;  // nothing for the corpus
  }
  return 0;
}
