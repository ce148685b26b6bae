#include "client.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace vramfit::cudnn_oracle {
namespace {

// A folder that goes away with the test.
class Folder {
 public:
  Folder() {
    std::string pattern = testing::TempDir() + "/oracleXXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~Folder() { [[maybe_unused]] const int failed = std::system(("rm -rf '" + path_ + "'").c_str()); }
  std::string at(const std::string& name) const { return path_ + "/" + name; }

  // A program that says `hello`, then answers every question with `answer`, and counts its starts.
  std::string program(const Answer& hello, const Answer& answer) const {
    save("hello", frame(hello));
    save("answer", frame(answer));
    std::ofstream(at("oracle")) << "#!/bin/sh\necho start >>" << at("starts") << "\ncat " << at("hello")
                                << "\nwhile dd bs=1 count=1 2>/dev/null | grep -q .; do cat " << at("answer")
                                << "; dd bs=4096 count=1 of=/dev/null 2>/dev/null; done\n";
    chmod(at("oracle").c_str(), 0755);
    return at("oracle");
  }
  int starts() const {
    std::ifstream in(at("starts"));
    return static_cast<int>(std::count(std::istreambuf_iterator<char>(in), {}, '\n'));
  }

 private:
  static std::string frame(const Answer& answer) {
    const std::string body = encode(answer);
    const auto size = static_cast<uint32_t>(body.size());
    return std::string(reinterpret_cast<const char*>(&size), 4) + body;
  }
  void save(const std::string& name, const std::string& bytes) const {
    std::ofstream(at(name), std::ios::binary) << bytes;
  }
  std::string path_;
};

Question question() {
  Question q;
  q.descriptors = {{.type = 15}};
  q.most = 1;
  return q;
}

const Answer kHello{.cudnn_version = 92000};
const Answer kAnswer{.cudnn_version = 92000, .plans = {{.engine = 38, .workspace_bytes = 4096}}};

TEST(Client, a_missing_program_is_a_final_refusal) {
  Client client("/nonexistent/oracle", "/nowhere", "", "");
  const auto first = client.ask(question());
  ASSERT_FALSE(first.has_value());
  EXPECT_NE(first.error().find("/nonexistent/oracle"), std::string::npos);
  EXPECT_EQ(client.ask(question()).error(), first.error());
}

TEST(Client, an_oracle_that_refuses_says_why) {
  const Folder folder;
  Answer refusal;
  refusal.status = -1;
  refusal.message = "cuDNN 90100 answers only on a real device";
  Client client(folder.program(refusal, kAnswer), "/cudnn", "", "");
  EXPECT_EQ(client.ask(question()).error(), refusal.message);
  EXPECT_EQ(client.ask(question()).error(), refusal.message);
  EXPECT_EQ(folder.starts(), 1);
}

TEST(Client, an_answer_is_asked_for_once_and_outlives_the_process_in_the_cache) {
  const Folder folder;
  const std::string program = folder.program(kHello, kAnswer);
  {
    Client client(program, "/cudnn", "", folder.at("cache"));
    EXPECT_EQ(client.ask(question()), kAnswer);
    EXPECT_EQ(client.ask(question()), kAnswer);
  }
  EXPECT_EQ(folder.starts(), 1);
  Client later(program, "/cudnn", "", folder.at("cache"));
  EXPECT_EQ(later.ask(question()), kAnswer);
  EXPECT_EQ(folder.starts(), 1);
  Client other(program, "/another-cudnn", "", folder.at("cache"));
  EXPECT_EQ(other.ask(question()), kAnswer);
  EXPECT_EQ(folder.starts(), 2) << "an answer of one cuDNN is never given for another";
}

TEST(Client, another_cudnn_in_the_same_folder_is_asked_anew_and_the_same_one_elsewhere_is_not) {
  const Folder folder;
  const std::string program = folder.program(kHello, kAnswer);
  const auto install = [&](const std::string& where, const std::string& build) {
    std::filesystem::create_directories(folder.at(where));
    std::ofstream(folder.at(where) + "/libcudnn_graph.so.9") << build;
  };
  const auto ask = [&](const std::string& where) {
    return Client(program, folder.at(where), "", folder.at("cache")).ask(question());
  };
  install("first", "cuDNN 9.8");
  install("second", "cuDNN 9.8");
  EXPECT_EQ(ask("first"), kAnswer);
  EXPECT_EQ(ask("second"), kAnswer);
  EXPECT_EQ(folder.starts(), 1);
  install("first", "cuDNN 9.9");
  EXPECT_EQ(ask("first"), kAnswer);
  EXPECT_EQ(folder.starts(), 2);
}

TEST(Client, a_torn_cache_file_is_used_up_to_the_tear) {
  const Folder folder;
  const std::string program = folder.program(kHello, kAnswer);
  { EXPECT_EQ(Client(program, "/cudnn", "", folder.at("cache")).ask(question()), kAnswer); }
  { std::ofstream(folder.at("cache"), std::ios::binary | std::ios::app) << "\x40\x00"; }
  EXPECT_EQ(Client(program, "/cudnn", "", folder.at("cache")).ask(question()), kAnswer);
  EXPECT_EQ(folder.starts(), 1);
}

TEST(Client, an_oracle_that_never_answers_is_given_up) {
  const Folder folder;
  std::ofstream(folder.at("silent")) << "#!/bin/sh\nexec sleep 1000\n";
  chmod(folder.at("silent").c_str(), 0755);
  Client client(folder.at("silent"), "/nowhere", "", "", std::chrono::seconds(1));
  const auto answer = client.ask(question());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error(), "the cuDNN oracle gave no answer for 1 s");
  EXPECT_EQ(client.ask(question()).error(), answer.error()) << "at once: it is not asked again";
}

TEST(Client, an_oracle_that_reads_no_question_is_given_up) {
  const Folder folder;
  folder.program(kHello, kAnswer);  // leaves the file hello
  std::ofstream(folder.at("deaf")) << "#!/bin/sh\ncat " << folder.at("hello") << "\nexec sleep 1000\n";
  chmod(folder.at("deaf").c_str(), 0755);
  Question large = question();
  large.device_json = std::string(size_t{1} << 20, ' ');  // more than a pipe holds
  Client client(folder.at("deaf"), "/nowhere", "", "", std::chrono::seconds(1));
  EXPECT_EQ(client.ask(large).error(), "the cuDNN oracle gave no answer for 1 s");
}

TEST(Client, an_oracle_that_closes_its_end_and_lives_on_is_not_waited_for) {
  const Folder folder;
  std::ofstream(folder.at("closed")) << "#!/bin/sh\nexec >&-\nexec sleep 1000\n";
  chmod(folder.at("closed").c_str(), 0755);
  EXPECT_EQ(Client(folder.at("closed"), "/nowhere", "", "").ask(question()).error(), "the cuDNN oracle ended at once");
}

}  // namespace
}  // namespace vramfit::cudnn_oracle
