#include "ingest/snapshot/inflate.h"

#include <fmt/format.h>
#include <zlib.h>

#include <array>

namespace vramfit::ingest::snapshot {
namespace {

constexpr std::size_t kPackedWindow = std::size_t{256} << 10;

class InflateSource final : public pickle::Source {
 public:
  InflateSource(std::unique_ptr<pickle::Source> packed, DeflateForm form) : packed_(std::move(packed)), form_(form) {
    // 15: the largest window; +16: a gzip header; negative: no header. It only fails without memory.
    is_ready_ = inflateInit2(&stream_, form == DeflateForm::kGzip ? 15 + 16 : -15) == Z_OK;
  }
  ~InflateSource() override {
    if (is_ready_) inflateEnd(&stream_);
  }
  InflateSource(const InflateSource&) = delete;
  InflateSource& operator=(const InflateSource&) = delete;

  base::Result<std::size_t> read(std::span<char> room) override {
    if (!is_ready_) return base::fail(base::ErrorCode::kSystem, "no memory to unpack with");
    stream_.next_out = reinterpret_cast<Bytef*>(room.data());
    stream_.avail_out = static_cast<uInt>(room.size());
    while (stream_.avail_out == room.size() && !is_over_) {
      if (const auto more = refill(); !more) return std::unexpected(more.error());
      if (is_over_) break;
      const int code = ::inflate(&stream_, Z_NO_FLUSH);
      if (code == Z_STREAM_END) {
        is_between_ = true;
        if (form_ == DeflateForm::kRaw) is_over_ = true;
        inflateReset(&stream_);
      } else if (code != Z_OK && code != Z_BUF_ERROR) {
        const char* why = stream_.msg != nullptr ? stream_.msg : zError(code);
        return base::fail(base::ErrorCode::kCorrupt, fmt::format("the compressed data are damaged ({})", why));
      }
    }
    return room.size() - stream_.avail_out;
  }

 private:
  // Packed bytes at hand, or is_over_ where they properly end.
  base::Result<void> refill() {
    if (stream_.avail_in > 0) return check_trailer();
    const auto got = packed_->read(window_);
    if (!got) return std::unexpected(got.error());
    if (*got == 0) {
      if (!is_between_) return base::fail(base::ErrorCode::kCorrupt, "the compressed data end in the middle");
      is_over_ = true;
      return {};
    }
    stream_.next_in = reinterpret_cast<Bytef*>(window_.data());
    stream_.avail_in = static_cast<uInt>(*got);
    return check_trailer();
  }

  // Bytes after a gzip member that begin none are padding.
  base::Result<void> check_trailer() {
    if (is_between_ && *stream_.next_in != 0x1f) is_over_ = true;
    is_between_ = false;
    return {};
  }

  std::unique_ptr<pickle::Source> packed_;
  DeflateForm form_;
  z_stream stream_{};
  bool is_ready_ = false;
  bool is_between_ = false;  // at the start of a member, where the data may end
  bool is_over_ = false;
  std::array<char, kPackedWindow> window_;
};

}  // namespace

std::unique_ptr<pickle::Source> inflate(std::unique_ptr<pickle::Source> packed, DeflateForm form) {
  return std::make_unique<InflateSource>(std::move(packed), form);
}

}  // namespace vramfit::ingest::snapshot
