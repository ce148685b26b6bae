#include "ingest/text/text_sample.h"

#include <algorithm>
#include <utility>

#include "model/evidence.h"

namespace vramfit::ingest {

namespace {

using model::kSampleFirst, model::kSampleLast;

}  // namespace

void TextSample::add(std::string_view block) {
  const std::size_t to_first = std::min(block.size(), kSampleFirst - first_.size());
  first_ += block.substr(0, to_first);
  block.remove_prefix(to_first);
  if (block.size() > kSampleLast) {
    left_out_ = true;
    last_.clear();
    block.remove_prefix(block.size() - kSampleLast);
  }
  last_ += block;
  if (last_.size() <= kSampleLast) return;
  left_out_ = true;
  last_.erase(0, last_.size() - kSampleLast);
}

std::string TextSample::take() {
  std::string text = std::move(first_);
  if (left_out_) text += '\n';
  return text += last_;
}

}  // namespace vramfit::ingest
