#include "ingest/kineto/reader.h"

#include <gtest/gtest.h>

#include <string>

namespace vramfit::ingest {
namespace {

base::Result<model::KinetoTrace> parse(const std::string& text) {
  return parse_kineto(std::as_bytes(std::span(text)), "trace.json");
}

const std::string kHead = R"({"schemaVersion": 1, "deviceProperties": [
  {"id": 0, "name": "Tesla V100-DGXS-32GB", "totalGlobalMem": 34084028416}], "traceEvents": [)";

// The events as torch 2.12 writes them.
const std::string kEvents = R"(
 {"ph": "X", "cat": "python_function", "name": "train.py(12): step", "pid": 1, "tid": 7, "ts": 100.0, "dur": 900.0},
 {"ph": "X", "cat": "python_function", "name": "torch/nn/modules/module.py(1751): _call_impl", "tid": 7, "ts": 110, "dur": 800},
 {"ph": "X", "cat": "cpu_op", "name": "aten::conv2d", "pid": 1, "tid": 7, "ts": 200.5, "dur": 300.0, "args": {"Ev Idx": 3}},
 {"ph": "X", "cat": "cpu_op", "name": "aten::empty", "pid": 1, "tid": 7, "ts": 210.0, "dur": 10.0},
 {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1, "tid": 7, "ts": 250.0,
  "args": {"Total Reserved": 2097152, "Total Allocated": 1024, "Bytes": -512, "Addr": 1, "Device Id": 0, "Device Type": 1}},
 {"ph": "i", "name": "[memory]", "tid": 7, "ts": 215.0,
  "args": {"Total Reserved": 2097152, "Total Allocated": 1536, "Bytes": 512, "Addr": 140442444756992, "Device Id": 0, "Device Type": 1}},
 {"ph": "i", "name": "[memory]", "tid": 9, "ts": 300, "args": {"Bytes": 512, "Device Id": 1, "Device Type": 1}},
 {"ph": "i", "name": "[memory]", "tid": 7, "ts": 1, "args": {"Bytes": 4, "Device Id": -1, "Device Type": 0}})";

TEST(Kineto, memory_events_come_by_time_with_what_ran_around_them) {
  const auto trace = parse(kHead + kEvents + "]}");
  ASSERT_TRUE(trace);
  ASSERT_EQ(trace->memory.size(), 3u);
  EXPECT_EQ(trace->memory[0].bytes, 512);
  EXPECT_EQ(trace->memory[0].address, 140442444756992u);
  EXPECT_EQ(trace->memory[0].allocated, 1536);
  EXPECT_EQ(trace->text(trace->memory[0].caller), "train.py:12 step (aten::empty)");
  EXPECT_EQ(trace->memory[1].bytes, -512);
  EXPECT_EQ(trace->text(trace->memory[1].caller), "train.py:12 step (aten::conv2d)");
  EXPECT_EQ(trace->text(trace->memory[2].caller), "");
  EXPECT_FALSE(trace->memory[2].reserved);
  EXPECT_EQ(trace->memory[2].device, 1);
  ASSERT_EQ(trace->devices.size(), 1u);
  EXPECT_EQ(trace->devices[0].name, "Tesla V100-DGXS-32GB");
  EXPECT_EQ(trace->events, 8);
  EXPECT_FALSE(trace->is_cut);
}

TEST(Kineto, torch_1_9_has_the_stack_in_the_operator_and_threads_as_texts) {
  const auto trace = parse(kHead + R"(
 {"ph": "X", "cat": "Operator", "name": "aten::empty", "pid": 1, "tid": "25738", "ts": 1623143093496523, "dur": 21,
  "args": {"Call stack": "/e/lib/python3.7/site-packages/torch/nn/functional.py(312): relu;resnet50.py(54): <module>"}},
 {"ph": "i", "s": "t", "name": "[memory]", "pid": 25738, "tid": 25738, "ts": 1623143093496534,
  "args": {"Device Type": 1, "Device Id": 0, "Bytes": 512}}]})");
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->text(trace->memory.at(0).caller), "resnet50.py:54 <module> (aten::empty)");
}

TEST(Kineto, a_trace_that_was_cut_is_read_as_far_as_it_goes) {
  const auto trace = parse(kHead + kEvents);
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->is_cut);
  EXPECT_EQ(trace->memory.size(), 3u);
}

TEST(Kineto, damaged_names_are_no_end_of_a_trace) {
  const std::string damaged = R"( {"ph": "X", "cat": "python_function", "name": "config.py(0): )"
                              "\x04\xff\x1b"
                              R"(", "tid": 7, "ts": 90, "dur": 1},)";
  const auto trace = parse(kHead + damaged + kEvents + "]}");
  ASSERT_TRUE(trace);
  EXPECT_FALSE(trace->is_cut);
  EXPECT_EQ(trace->memory.size(), 3u);
}

TEST(Kineto, other_json_is_refused_by_what_it_lacks) {
  EXPECT_EQ(parse(R"({"a": 1})").error().what, "this JSON is no Kineto trace: it has no traceEvents");
  EXPECT_EQ(parse(kHead + "]}").error().what, "the trace tells nothing of a card's memory");
  EXPECT_FALSE(parse("not json"));
}

TEST(Kineto, nesting_without_end_is_no_crash) {
  EXPECT_FALSE(parse(std::string(1'000'000, '[')));
  EXPECT_FALSE(parse(kHead + std::string(1'000'000, '{')));
}

TEST(Kineto, a_text_without_end_is_not_kept) {
  const auto refused = parse(kHead + "{\"name\":\"" + std::string(80 << 20, 'a') + "\"}]}");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("a text of more than 64 MiB"), std::string::npos) << refused.error().what;
}

}  // namespace
}  // namespace vramfit::ingest
