#include "liveness/module_table.h"

#include <gtest/gtest.h>

#include "ingest/testing/add_note.h"
#include "liveness/module_trace.h"
#include "model/recording.h"

namespace vramfit::liveness {
namespace {

using ingest::testing::add_note;
using model::ModuleTable;
using model::ModuleUse;

// A model of two linear layers in a block, as the hooks note it; the recorder's level rises by 300 in the first.
model::Recording recording() {
  model::Recording recording;
  for (const char* note : {
           R"({"kind":"modules_watched"})",
           R"({"kind":"module_list","root":0,"prefix":"","modules":[["","Net",0,0,0],["block","Sequential",0,0,0],
              ["block.0","Linear",10,40,0],["block.1","Linear",20,80,8]]})",
           R"({"kind":"module_trace","root":0,"phase":"train","device":0,"sees_operators":true,"cut":false,
              "frames":[[0,-1,1000,1900,64,["2x4 float32"],["2x8 float32"]],[1,0,1100,1800,64,[],[]],
                        [2,1,1200,1400,32,[],[]],[3,1,1500,1700,64,[],[]]],
              "names":["addmm"],"operators":[[2,0,[0,1],[2],100,200,0,50],[3,0,[2,3],[4],300,600,0,70]],
              "alive":[[2,512],[4,1024]],"sizes":[8,40,32,80,64],"inputs":[0],"outputs":[[4,"input",64]]})",
           R"({"kind":"module_gradients","bytes":[[0,2,40],[0,3,80]]})",
           R"({"kind":"module_states","bytes":[[0,2,80],[0,3,160]]})",
       })
    add_note(recording, note);
  return recording;
}

CardHistory history() {
  CardHistory history;
  history.started_at_ns = 1000;
  for (const auto& [at_ns, allocated] : {std::pair(50, 100), {250, 400}, {350, 150}, {600, 200}}) {
    Level moment;
    moment.at_ns = at_ns;
    moment.allocated = Bytes(allocated);
    history.levels.push_back(moment);
  }
  return history;
}

std::optional<double> one_second_per_flop(int, model::Number, double flops, double) { return flops; }

ModuleTable table_of(const model::Recording& recording) {
  const std::vector<CardHistory> histories = {history()};
  auto table = build_module_table(std::span(&recording, 1), histories, one_second_per_flop);
  return table.value_or(ModuleTable());
}

TEST(ModuleTable, a_row_includes_the_rows_below_it) {
  const ModuleTable table = table_of(recording());
  ASSERT_EQ(table.rows.size(), 4u);
  for (const std::size_t above : {0u, 1u}) {
    const model::ModuleRow& row = table.rows[above];
    EXPECT_EQ(row.parameters, 30);
    EXPECT_EQ(row.parameter_bytes, Bytes(120));
    EXPECT_EQ(row.buffer_bytes, Bytes(8));
    EXPECT_EQ(row.gradient_bytes, Bytes(120));
    EXPECT_EQ(row.optimizer_bytes, Bytes(240));
    ASSERT_EQ(row.uses.size(), 1u);
    EXPECT_EQ(row.uses[0].activations, Bytes(1536));
    EXPECT_EQ(row.uses[0].forward_flops, 400);
    EXPECT_EQ(row.uses[0].backward_flops, 800);
    EXPECT_EQ(row.uses[0].forward_seconds, 400);
    EXPECT_EQ(row.uses[0].calls, 1);
  }
  EXPECT_EQ(table.rows[2].uses[0].activations, Bytes(512));
  EXPECT_EQ(table.rows[0].uses[0].inputs, std::vector<std::string>{"2x4 float32"});
}

//   allocated  400      .-.
//              150      | '--        The first layer ran from 200 to 400: from 100 up to 400.
//              100  ----'            The second from 500 to 700: from 150 to 200.
TEST(ModuleTable, the_rise_is_above_what_there_was_before) {
  const ModuleTable table = table_of(recording());
  EXPECT_EQ(table.rows[0].uses[0].peak_rise, Bytes(400)) << "before it began the card held nothing";
  EXPECT_EQ(table.rows[2].uses[0].peak_rise, Bytes(300));
  EXPECT_EQ(table.rows[3].uses[0].peak_rise, Bytes(50));
}

TEST(ModuleTable, the_network_is_part_of_it) {
  const ModuleTable table = table_of(recording());
  ASSERT_EQ(table.nodes.size(), 4u);
  EXPECT_EQ(table.nodes[1].id, "block.0");
  EXPECT_EQ(table.nodes[1].held, Bytes(40 + 40 + 80));
  EXPECT_EQ(table.edges.size(), 3u);
  EXPECT_TRUE(table.branches.empty());
  EXPECT_TRUE(table.remarks.empty());
}

TEST(ModuleTable, without_the_flag_there_is_none) {
  model::Recording none;
  EXPECT_FALSE(build_module_table(std::span(&none, 1), {}, one_second_per_flop));
  none.notes.modules_watched.emplace_back();
  EXPECT_EQ(table_of(none).remarks.size(), 1u) << "asked for, and no model ran";
}

TEST(ModuleTable, damaged_notes_are_counted_and_hurt_nobody) {
  for (const char* damaged :
       {R"({"kind":"module_trace"})", R"({"kind":"module_list","root":0,"prefix":"","modules":[["a"]]})",
        R"({"kind":"module_states","bytes":[[0,99,1]]})", R"({"kind":"module_gradients","bytes":[[7,0,1]]})",
        R"({"kind":"module_list","root":5,"prefix":"","modules":[]})",
        R"({"kind":"module_trace","root":0,"phase":"train","device":0,"sees_operators":true,"cut":false,"frames":
            [[0,5,0,0,0,[],[]]],"names":[],"operators":[],"alive":[],"sizes":[],"inputs":[],"outputs":[]})",
        R"({"kind":"module_trace","root":0,"phase":"train","device":0,"sees_operators":true,"cut":false,"frames":
            [[0,-1,0,0,0,[],[]]],"names":["x"],"operators":[[0,0,[3],[],0,0,0,0]],"alive":[],"sizes":[],"inputs":[],
            "outputs":[]})"}) {
    model::Recording broken = recording();
    add_note(broken, damaged);
    const ModuleTable table = table_of(broken);
    EXPECT_EQ(table.rows.size(), 4u);
    ASSERT_EQ(table.remarks.size(), 1u) << damaged;
    EXPECT_EQ(table.remarks[0], "1 notes could not be read");
  }
}

TEST(ModuleTable, a_compiled_model_is_said_to_be_one) {
  model::Recording compiled = recording();
  model::notes::ModuleTrace& trace = compiled.notes.module_trace.at(0);
  trace.sees_operators = false;
  trace.operators.clear();
  trace.alive.clear();
  const ModuleTable table = table_of(compiled);
  ASSERT_EQ(table.remarks.size(), 1u);
  EXPECT_NE(table.remarks[0].find("torch.compile"), std::string::npos);
  EXPECT_TRUE(table.nodes.empty());
  EXPECT_EQ(table.rows[0].uses[0].peak_rise, Bytes(400));
}

}  // namespace
}  // namespace vramfit::liveness
