// vramfit-cudnn-oracle FOLDER: answers questions about the cuDNN in FOLDER, framed on standard input and output.
//
// A process of its own, because a real cuDNN must not find our libcuda: it would take the virtual card for a real one.
#include <unistd.h>

#include <cstdio>

#include "consult.h"

using namespace vramfit::cudnn_oracle;

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: vramfit-cudnn-oracle FOLDER-OF-LIBCUDNN\n");
    return 2;
  }
  const auto backend = open_backend(argv[1]);
  Answer hello;
  hello.status = backend ? 0 : -1;
  hello.message = backend ? "" : backend.error();
  hello.cudnn_version = backend ? static_cast<int64_t>(backend->version()) : 0;
  if (!write_frame(STDOUT_FILENO, encode(hello)) || !backend) return backend ? 0 : 1;
  while (true) {
    const auto frame = read_frame(STDIN_FILENO);
    if (!frame) return frame.error() == "end" ? 0 : 1;
    Answer answer;
    if (const auto question = decode_question(*frame)) {
      answer = consult(*backend, *question);
    } else {
      answer.status = -1;
      answer.message = question.error();
    }
    if (!write_frame(STDOUT_FILENO, encode(answer))) return 0;
  }
}
