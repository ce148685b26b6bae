// Who ran when a block was asked for: the innermost operator and the user's own Python function around it in time, on
// the same thread.
#ifndef VRAMFIT_INGEST_KINETO_CALLERS_H
#define VRAMFIT_INGEST_KINETO_CALLERS_H

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/kineto_trace.h"

namespace vramfit::ingest::kineto {

class Callers {
 public:
  // `call_stack`: innermost first, separated by ';' (torch 1.9); later traces have python functions instead.
  void add_operator(std::string_view thread, double at_us, double for_us, std::string_view name,
                    std::string_view call_stack);
  void add_function(std::string_view thread, double at_us, double for_us, std::string_view name);
  void add_memory(std::string_view thread, model::KinetoMemory memory);

  // The memory events by time, each with its caller. Once.
  void finish(model::KinetoTrace& trace);

 private:
  struct Range {
    double begin_us = 0, end_us = 0;
    std::uint32_t name = 0;
    std::uint32_t line = 0;  // 0: an operator without one
    bool is_function = false;
  };
  struct Thread {
    std::vector<Range> ranges;
    std::vector<model::KinetoMemory> memory;
  };

  std::uint32_t intern(std::string_view text);
  void resolve(Thread& thread, model::KinetoTrace& trace);
  std::uint32_t caller(std::uint32_t operation, std::uint32_t line, model::KinetoTrace& trace);

  std::unordered_map<std::string, Thread> threads_;
  std::vector<std::string> texts_{std::string()};
  std::unordered_map<std::string, std::uint32_t> ids_;
  std::unordered_map<std::uint64_t, std::uint32_t> callers_;  // operation and line -> KinetoTrace::texts
};

}  // namespace vramfit::ingest::kineto

#endif
