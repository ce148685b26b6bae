#include "wire.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

namespace vramfit::cudnn_oracle {
namespace {

constexpr uint32_t kLargestFrame = 16u << 20;  // a graph is a few kilobytes; anything this big is not one

class Writer {
 public:
  template <typename T>
  void number(T value) {
    char raw[sizeof(T)];
    std::memcpy(raw, &value, sizeof(T));
    out_.append(raw, sizeof(T));
  }
  void text(const std::string& value) {
    number(static_cast<uint32_t>(value.size()));
    out_ += value;
  }
  template <typename T>
  void numbers(const std::vector<T>& values) {
    number(static_cast<uint32_t>(values.size()));
    for (T value : values) number(value);
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

// Reads what Writer wrote; after the first short read every further read yields zero and `failed` is set.
class Reader {
 public:
  explicit Reader(const std::string& bytes) : bytes_(bytes) {}

  template <typename T>
  T number() {
    T value{};
    if (bytes_.size() - at_ < sizeof(T)) {
      failed_ = true;
      at_ = bytes_.size();
      return value;
    }
    std::memcpy(&value, bytes_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  std::string text() {
    const auto size = number<uint32_t>();
    if (bytes_.size() - at_ < size) {
      failed_ = true;
      return {};
    }
    std::string value = bytes_.substr(at_, size);
    at_ += size;
    return value;
  }
  // A count of things that take at least `least` bytes each: a lie is caught before anything is reserved for it.
  uint32_t count(size_t least) {
    const auto value = number<uint32_t>();
    if (value > (bytes_.size() - at_) / least) {
      failed_ = true;
      return 0;
    }
    return value;
  }
  template <typename T>
  std::vector<T> numbers() {
    std::vector<T> values(count(sizeof(T)));
    for (T& value : values) value = number<T>();
    return values;
  }
  bool failed() const { return failed_; }
  bool at_end() const { return at_ == bytes_.size(); }

 private:
  const std::string& bytes_;
  size_t at_ = 0;
  bool failed_ = false;
};

Attribute decode_attribute(Reader& in) {
  Attribute attribute;
  attribute.name = in.number<int32_t>();
  attribute.type = in.number<int32_t>();
  attribute.count = in.number<int64_t>();
  attribute.bytes = in.text();
  attribute.children = in.numbers<uint32_t>();
  return attribute;
}

bool children_come_first(const Question& question) {
  for (size_t i = 0; i < question.descriptors.size(); ++i) {
    for (const Attribute& attribute : question.descriptors[i].attributes) {
      for (uint32_t child : attribute.children) {
        if (child >= i) return false;
      }
    }
  }
  return true;
}

// When a whole frame has to be through; none: it may take for ever.
class Deadline {
 public:
  explicit Deadline(const std::optional<std::chrono::milliseconds>& limit) {
    if (limit) at_ = Clock::now() + *limit;
  }
  bool is_set() const { return at_.has_value(); }
  // The time that is left, for poll.
  int milliseconds_left() const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*at_ - Clock::now()).count();
    return static_cast<int>(std::clamp<int64_t>(left, 0, INT_MAX));
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::optional<Clock::time_point> at_;
};

bool is_ready_before(int fd, short events, const Deadline& deadline) {
  pollfd wanted = {.fd = fd, .events = events, .revents = 0};
  int ready = -1;
  do {
    ready = ::poll(&wanted, 1, deadline.milliseconds_left());
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

enum class Transfer : uint8_t { kDone, kClosed, kLate };

Transfer transfer(int fd, char* data, size_t size, bool writing, const Deadline& deadline, size_t& done) {
  // A pipe that is ready takes PIPE_BUF bytes at once; for more a write would wait, and no deadline ends that.
  const size_t most = writing && deadline.is_set() ? PIPE_BUF : SIZE_MAX;
  done = 0;
  while (done < size) {
    if (deadline.is_set() && !is_ready_before(fd, writing ? POLLOUT : POLLIN, deadline)) return Transfer::kLate;
    const size_t now = std::min(size - done, most);
    const ssize_t n = writing ? ::write(fd, data + done, now) : ::read(fd, data + done, now);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Transfer::kClosed;
    done += static_cast<size_t>(n);
  }
  return Transfer::kDone;
}

}  // namespace

std::string encode(const Question& question) {
  Writer out;
  out.text(question.device_json);
  out.number(static_cast<uint32_t>(question.descriptors.size()));
  for (const Descriptor& descriptor : question.descriptors) {
    out.number(descriptor.type);
    out.number(static_cast<uint32_t>(descriptor.attributes.size()));
    for (const Attribute& attribute : descriptor.attributes) {
      out.number(attribute.name);
      out.number(attribute.type);
      out.number(attribute.count);
      out.text(attribute.bytes);
      out.numbers(attribute.children);
    }
  }
  out.number(question.graph);
  out.number(question.heuristic_mode);
  out.number(question.most);
  return out.take();
}

std::string encode(const Answer& answer) {
  Writer out;
  out.number(answer.status);
  out.text(answer.message);
  out.number(answer.cudnn_version);
  out.number(static_cast<uint32_t>(answer.plans.size()));
  for (const Plan& plan : answer.plans) {
    out.number(plan.engine);
    out.number(plan.workspace_bytes);
    out.numbers(plan.numerical_notes);
  }
  return out.take();
}

std::expected<Question, std::string> decode_question(const std::string& bytes) {
  Reader in(bytes);
  Question question;
  question.device_json = in.text();
  question.descriptors.resize(in.count(8));
  for (Descriptor& descriptor : question.descriptors) {
    descriptor.type = in.number<int32_t>();
    descriptor.attributes.resize(in.count(24));
    for (Attribute& attribute : descriptor.attributes) attribute = decode_attribute(in);
  }
  question.graph = in.number<uint32_t>();
  question.heuristic_mode = in.number<int32_t>();
  question.most = in.number<int32_t>();
  if (in.failed()) return std::unexpected("truncated question");
  if (!in.at_end()) return std::unexpected("bytes after the question");
  if (question.graph >= question.descriptors.size()) return std::unexpected("the graph is not among the descriptors");
  if (!children_come_first(question)) return std::unexpected("a descriptor refers to one that comes after it");
  return question;
}

std::expected<Answer, std::string> decode_answer(const std::string& bytes) {
  Reader in(bytes);
  Answer answer;
  answer.status = in.number<int32_t>();
  answer.message = in.text();
  answer.cudnn_version = in.number<int64_t>();
  answer.plans.resize(in.count(20));
  for (Plan& plan : answer.plans) {
    plan.engine = in.number<int64_t>();
    plan.workspace_bytes = in.number<int64_t>();
    plan.numerical_notes = in.numbers<int32_t>();
  }
  if (in.failed()) return std::unexpected("truncated answer");
  if (!in.at_end()) return std::unexpected("bytes after the answer");
  return answer;
}

std::expected<void, std::string> write_frame(int fd, const std::string& bytes, Limit limit) {
  const Deadline deadline(limit);
  const auto size = static_cast<uint32_t>(bytes.size());
  std::string frame(sizeof size, '\0');
  std::memcpy(frame.data(), &size, sizeof size);
  frame += bytes;
  size_t done = 0;
  const Transfer outcome = transfer(fd, frame.data(), frame.size(), true, deadline, done);
  if (outcome == Transfer::kLate) return std::unexpected(kLate);
  if (outcome == Transfer::kClosed) return std::unexpected("end");
  return {};
}

std::expected<std::string, std::string> read_frame(int fd, Limit limit) {
  const Deadline deadline(limit);
  uint32_t size = 0;
  size_t done = 0;
  Transfer outcome = transfer(fd, reinterpret_cast<char*>(&size), sizeof size, false, deadline, done);
  if (outcome == Transfer::kLate) return std::unexpected(kLate);
  if (outcome == Transfer::kClosed) return std::unexpected(done == 0 ? "end" : "truncated length");
  if (size > kLargestFrame) return std::unexpected("frame larger than any question");
  std::string bytes(size, '\0');
  outcome = transfer(fd, bytes.data(), bytes.size(), false, deadline, done);
  if (outcome == Transfer::kLate) return std::unexpected(kLate);
  if (outcome == Transfer::kClosed) return std::unexpected("truncated frame");
  return bytes;
}

}  // namespace vramfit::cudnn_oracle
