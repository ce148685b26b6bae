#include "job/torchless.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

namespace vramfit::job {
namespace {

namespace fs = std::filesystem;

// The machine's own Python, in a folder of scripts.
class Torchless : public ::testing::Test {
 protected:
  Torchless() {
    std::string name = (fs::temp_directory_path() / "vramfit.test.XXXXXX").string();
    folder_ = fs::canonical(mkdtemp(name.data()));
  }
  ~Torchless() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  std::string write(const std::string& path, const std::string& text) const {
    fs::create_directories((folder_ / path).parent_path());
    std::ofstream(folder_ / path) << text;
    return (folder_ / path).string();
  }

  TorchlessLook look(std::vector<std::string> command) const {
    auto environment = base::current_environment();
    environment["PYTHONPATH"] = (folder_ / "packages").string();
    const auto python = base::find_program("python3", environment);
    EXPECT_TRUE(python);
    const auto seen = look_without_torch(python.value_or("python3"), command, environment);
    EXPECT_TRUE(seen) << to_string(seen.error());
    return seen.value_or(TorchlessLook{});
  }

  fs::path folder_;
};

using Names = std::vector<std::string>;

TEST_F(Torchless, a_scripts_own_modules_are_read_and_installed_ones_are_not) {
  write("model/__init__.py", "from .layers import Layer\n");
  write("model/layers.py", "import torch\nfrom . import missing_of_theirs\n");
  const std::string script = write("train.py", "import json\nfrom model import Layer\n");
  const TorchlessLook seen = look({"python", script});
  EXPECT_TRUE(seen.read);
  EXPECT_EQ(seen.imported, (Names{"json", "torch"}));
  EXPECT_FALSE(can_do_without_torch(seen));
}

TEST_F(Torchless, an_import_that_may_fail_is_not_asked_for) {
  const std::string script = write("train.py",
                                   "try:\n    import torch\nexcept ImportError:\n    torch = None\n"
                                   "def later():\n    import ctypes\n");
  const TorchlessLook seen = look({"python", script});
  EXPECT_EQ(seen.imported, (Names{"ctypes"}));
  EXPECT_TRUE(seen.missing.empty());
  EXPECT_TRUE(can_do_without_torch(seen));
}

TEST_F(Torchless, a_module_that_the_interpreter_lacks_is_named) {
  const TorchlessLook seen = look({"python", write("train.py", "import no_such_module_anywhere.part as part\n")});
  EXPECT_EQ(seen.missing, (Names{"no_such_module_anywhere"}));
  EXPECT_FALSE(can_do_without_torch(seen)) << "it may be in an environment that has torch";
}

TEST_F(Torchless, a_framework_and_the_cuda_beside_it_are_found) {
  write("packages/jax/__init__.py", "raise SystemExit('it must not be imported')\n");
  write("packages/jax-0.10.2.dist-info/METADATA", "Metadata-Version: 2.1\nName: jax\nVersion: 0.10.2\n");
  write("packages/nvidia_cuda_runtime_cu12-12.9.79.dist-info/METADATA",
        "Metadata-Version: 2.1\nName: nvidia-cuda-runtime-cu12\nVersion: 12.9.79\n");
  const TorchlessLook seen = look({"python", "-c", "import jax, torch"});
  EXPECT_EQ(seen.frameworks, (Names{"jax 0.10.2"}));
  EXPECT_EQ(seen.cuda, "12.9");
  EXPECT_EQ(seen.imported, (Names{"jax", "torch"}));
  EXPECT_TRUE(can_do_without_torch(seen)) << "torch on the CPU feeds JAX in many a script";
}

TEST_F(Torchless, code_that_cannot_be_read_is_judged_by_what_the_interpreter_has) {
  EXPECT_FALSE(look({"python", "no_such_script.py"}).read);
  EXPECT_FALSE(look({"python", write("broken.py", "def (\n")}).read);
  TorchlessLook unread;
  EXPECT_FALSE(can_do_without_torch(unread));
  unread.frameworks = {"tensorflow 2.21.0"};
  EXPECT_TRUE(can_do_without_torch(unread));
}

}  // namespace
}  // namespace vramfit::job
