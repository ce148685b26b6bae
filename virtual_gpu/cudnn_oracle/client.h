// Asks the oracle process, starting it at the first question. Used inside the cuDNN stand-in.
//
// Answers are kept in memory and, where VRAMFIT_CUDNN_CACHE names a file, on disk: the same card, build of cuDNN and
// operation always give the same answer, and the next run of the same job then starts no oracle at all.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <expected>
#include <mutex>
#include <string>
#include <unordered_map>

#include "wire.h"

namespace vramfit::cudnn_oracle {

class Client {
 public:
  // program: path of vramfit-cudnn-oracle. folder: where the real libcudnn_graph.so.9 lies. preload: our libcublasLt,
  // beside which our libcuda lies. cache_file: may be empty. limit: how long one question may take to be taken, and one
  // answer to come; cuDNN loads gigabytes before its first.
  Client(std::string program, std::string folder, std::string preload, std::string cache_file,
         std::chrono::seconds limit = std::chrono::seconds(120));
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client();

  // The error is why no answer can be had from this oracle; it is final and every later question gets it too.
  std::expected<Answer, std::string> ask(const Question& question);

 private:
  std::expected<void, std::string> start();
  std::expected<Answer, std::string> exchange(const std::string& question);
  void load_cache();
  void keep(const std::string& key, const std::string& answer);
  std::expected<std::string, std::string> hear(const char* went_away);
  std::string give_up(const std::string& error, const char* went_away);
  void stop();

  std::string program_, folder_, preload_, cache_file_;
  std::string build_;  // of the libraries that answer; empty: not looked at yet
  std::mutex mutex_;
  std::unordered_map<std::string, std::string> answers_;
  std::string refusal_;
  bool cache_loaded_ = false;
  pid_t process_ = -1;
  pid_t owner_ = -1;  // the process that started it: a forked child must not share its pipes
  int to_ = -1, from_ = -1;
  std::chrono::seconds limit_;
};

}  // namespace vramfit::cudnn_oracle
