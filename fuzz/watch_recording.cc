// What `vramfit watch --record` wrote, after anything happened to it: the frames of a file, and payloads whose checksum
// is right by chance. What is read once is written and read again as the same.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "watch/recording.h"

namespace watch = vramfit::watch;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const watch::DecodedFile file = watch::decode_watch_recording(bytes);
  if (file.good_end > bytes.size() || file.damaged_bytes > static_cast<std::int64_t>(bytes.size())) std::abort();
  // Payloads of up to 255 bytes, each behind its length.
  watch::SampleDecoder decoder;
  std::vector<vramfit::model::MachineSample> samples;
  for (std::string_view rest = bytes; !rest.empty();) {
    const std::size_t length = std::min<std::size_t>(static_cast<unsigned char>(rest.front()), rest.size() - 1);
    decoder.decode(rest.substr(1, length), samples);
    rest.remove_prefix(1 + length);
  }
  watch::SampleEncoder encoder;
  std::string frames;
  for (const auto& sample : file.samples) frames += encoder.encode(sample);
  const auto again = watch::decode_watch_recording(frames);
  if (again.damaged_bytes != 0 || again.samples.size() != file.samples.size()) std::abort();
  return 0;
}
