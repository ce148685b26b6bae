#ifndef VRAMFIT_RECORDER_APPEND_FILE_H
#define VRAMFIT_RECORDER_APPEND_FILE_H

#include <string>
#include <string_view>

namespace vramfit::recorder {

// A file that only grows, a line at a time, straight to the kernel: what was appended survives kill -9.
// Opened at the first append. Not thread-safe for one object; a line is one write(), so lines of several processes in
// one file never mix.
class AppendFile {
 public:
  enum class Start { kTruncate, kContinue };

  AppendFile(std::string path, Start start) : path_(std::move(path)), start_(start) {}
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;
  ~AppendFile() { close_quietly(); }

  // False when the file can't be opened or written, now or earlier; errno says why the first time.
  bool append(std::string_view bytes);
  void close_quietly();

 private:
  bool open_once();

  std::string path_;
  Start start_;
  int fd_ = -1;
  bool failed_ = false;
};

}  // namespace vramfit::recorder

#endif
