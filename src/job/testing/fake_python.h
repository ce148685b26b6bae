// A machine in a temporary folder, with interpreters that are shell scripts: for tests that must not need torch.
#ifndef VRAMFIT_JOB_TESTING_FAKE_PYTHON_H
#define VRAMFIT_JOB_TESTING_FAKE_PYTHON_H

#include <filesystem>
#include <string>
#include <string_view>

#include "base/subprocess.h"

namespace vramfit::job::testing {

class FakeMachine {
 public:
  FakeMachine();
  ~FakeMachine();
  FakeMachine(const FakeMachine&) = delete;
  FakeMachine& operator=(const FakeMachine&) = delete;

  const std::filesystem::path& root() const { return root_; }
  // PATH is root/bin and the system's tools; the cache is root/cache.
  base::Environment environment() const;

  void add_script(const std::string& path, const std::string& text) const;
  // Python 3.11.2 that has torch where `<its folder>/../torch` exists. `-m venv` copies it; `-m pip install` notes its
  // words in `<environment>/pip.txt` and brings a torch of version $FAKE_TORCH, or fails when that is "none".
  void add_python(const std::string& path, const std::string& version = "3.11.2") const;
  void add_torch(const std::string& folder, const std::string& version, const std::string& cuda,
                 std::string_view library) const;

 private:
  std::filesystem::path root_;
};

}  // namespace vramfit::job::testing

#endif
