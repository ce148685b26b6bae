// The first and the last bytes of a text, which is where people complain and where programs fail.
#ifndef VRAMFIT_INGEST_TEXT_TEXT_SAMPLE_H
#define VRAMFIT_INGEST_TEXT_TEXT_SAMPLE_H

#include <string>
#include <string_view>

namespace vramfit::ingest {

class TextSample {
 public:
  void add(std::string_view block);
  // What model::TextFile::sample says.
  std::string take();

 private:
  std::string first_, last_;
  bool left_out_ = false;
};

}  // namespace vramfit::ingest

#endif
