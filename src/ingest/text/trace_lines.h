// The kinds of lines that tracebacks are made of, in each of the styles that Python programs print.
//
//   plain      "  File "train.py", line 3, in main"          faulthandler leaves out the last comma
//   IPython    "File ~/lib/module.py:1511, in Module.forward(self)", "/lib/module.py in forward(self)", "Cell In[5],
//   line 3" rich       "│ /home/me/train.py:12 in main      │"
#ifndef VRAMFIT_INGEST_TEXT_TRACE_LINES_H
#define VRAMFIT_INGEST_TEXT_TRACE_LINES_H

#include <optional>
#include <string>
#include <string_view>

#include "model/evidence.h"

namespace vramfit::ingest {

enum class TraceHeader { kNone, kPlain, kOriginal, kInnermostFirst };

struct TraceHeaderLine {
  TraceHeader kind = TraceHeader::kNone;
  std::size_t column = 0;  // where it begins: what stands before is a prefix
  std::string type;        // IPython names the exception here already
};
TraceHeaderLine parse_trace_header(std::string_view text);

// "During handling of ..." and "The above exception was the direct cause of ...".
std::optional<model::TraceRelation> parse_trace_relation(std::string_view text);

// A line without the sides of a box around it, trimmed.
std::string_view without_box(std::string_view text);

std::optional<model::TraceFrame> parse_trace_frame(std::string_view text);

// "    loss.backward()" below a plain frame; "--> 727   result = self.forward(x)", "❱ 12 │   y = model(x)" of the
// others. Marks ("^^^^^") are none.
std::optional<std::string> parse_trace_code(std::string_view text);

// A statement that stands alone, as when only a traceback's end was kept: "attn = torch.matmul(q, k)", "return f(x)".
bool is_loose_code(std::string_view text);

struct TraceException {
  std::string type, message;
};
// "torch.OutOfMemoryError: CUDA out of memory. ...". At the start of the text only.
std::optional<TraceException> parse_trace_exception(std::string_view text);

// What stands before a traceback and names its thread or process: "Exception in thread Thread-4 (_pin_memory_loop):",
// "Process SpawnProcess-1:", "-- Process 1 terminated with the following error:".
void read_trace_preamble(std::string_view text, model::Speaker& speaker);

// "Caught RuntimeError in DataLoader worker process 0." and the like within a message.
void read_trace_origin(std::string_view message, model::TracedException& exception, model::Speaker& speaker);

}  // namespace vramfit::ingest

#endif
