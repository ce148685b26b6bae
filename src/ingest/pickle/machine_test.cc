#include "ingest/pickle/machine.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "ingest/pickle/json.h"

namespace vramfit::ingest::pickle {
namespace {

using namespace std::string_literals;

// Gives one byte at a time: the window must not matter.
class Trickle final : public Source {
 public:
  explicit Trickle(std::string bytes) : bytes_(std::move(bytes)) {}
  base::Result<std::size_t> read(std::span<char> room) override {
    if (next_ == bytes_.size()) return 0;
    room[0] = bytes_[next_++];
    return 1;
  }

 private:
  std::string bytes_;
  std::size_t next_ = 0;
};

struct Read {
  std::string json;   // of the result, or of what was salvaged
  std::string error;  // with the place
};

Read read(const std::string& bytes, Limits limits = {}) {
  Trickle source(bytes);
  Input input(source);
  Folder folder;
  Machine machine(input, folder, limits);
  const auto result = machine.run();
  if (result) return {to_json(*result, machine.strings(), machine.heap()), {}};
  const std::string error = result.error().what + " @ " + result.error().where;
  return {to_json(machine.salvage(), machine.strings(), machine.heap()), error};
}

TEST(PickleMachine, every_protocol_gives_the_same) {
  EXPECT_EQ(read("(dp0\nVa\np1\n(lp2\nI1\naF2.5\naNaI01\nas.").json, R"({"a":[1,2.5,null,true]})") << "protocol 0";
  EXPECT_EQ(read("}q\x00X\x01\x00\x00\x00"s + "aq\x01]q\x02(K\x01G\x40\x04\x00\x00\x00\x00\x00\x00NI01\nes."s).json,
            R"({"a":[1,2.5,null,true]})")
      << "protocol 1";
  EXPECT_EQ(read("\x80\x04\x95\x00\x00\x00\x00\x00\x00\x00\x00}\x94\x8c\x01"s +
                 "a\x94]\x94(K\x01G\x40\x04\x00\x00\x00\x00\x00\x00N\x88"s + "es."s)
                .json,
            R"({"a":[1,2.5,null,true]})")
      << "protocol 4";
}

TEST(PickleMachine, integers_of_every_width) {
  EXPECT_EQ(read("(K\xffM\xff\xffJ\xff\xff\xff\xff\x8a\x02\xff\x00\x8b\x01\x00\x00\x00\x80L12L\nI-3\nl."s).json,
            "[255,65535,-1,255,-128,12,-3]");
  EXPECT_EQ(read("\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00."s).json, "18446744073709551615");
  EXPECT_EQ(read("\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01."s).json, "\"0x10000000000000000\"");
}

TEST(PickleMachine, the_memo_gives_the_same_container_and_not_a_copy) {
  // a = []; b = [a, a]; a.append(7) after a was fetched twice.
  EXPECT_EQ(read("](]q\x00h\x00"s + "K\x07"s + "ae."s).json, "[[7],[7]]");
}

TEST(PickleMachine, a_list_may_hold_itself) {
  Trickle source("]q\x01h\x01"s + "a."s);
  Input input(source);
  Folder folder;
  Machine machine(input, folder);
  const auto list = machine.run();
  ASSERT_TRUE(list);
  const Object* object = machine.heap().find(*list);
  ASSERT_NE(object, nullptr);
  ASSERT_EQ(object->items.size(), 1u);
  EXPECT_EQ(object->items[0], *list);
  EXPECT_LT(to_json(*list, machine.strings(), machine.heap()).size(), 200u);
}

TEST(PickleMachine, a_class_and_its_arguments_stay_names_and_data) {
  EXPECT_EQ(read("cos\nsystem\n(S'rm -rf /'\ntR.").json,
            R"({"call":["<os.system>",["rm -rf /"],null,null,null,null]})");
  EXPECT_EQ(read("(I5\nios\nsystem\n.").json, R"({"call":["<os.system>",[5],null,null,null,null]})");
  EXPECT_EQ(read("\x80\x02"s + "cm\nC\n)\x81}X\x01\x00\x00\x00xK\x01sb."s).json,
            R"({"call":["<m.C>",[],null,{"x":1},null,null]})");
}

TEST(PickleMachine, calls_whose_result_is_plain_data_are_that_data) {
  EXPECT_EQ(read("c_codecs\nencode\n(V\xe9\nVlatin1\ntR.").json, "\"e9\"") << "bytes before protocol 3";
  EXPECT_EQ(read("c__builtin__\nset\n((lI1\natR.").json, "[1]");
  EXPECT_EQ(read("ccollections\nOrderedDict\n)RVk\nI1\ns.").json, R"({"k":1})");
}

TEST(PickleMachine, damage_is_named_with_its_offset) {
  EXPECT_EQ(read("").error, "the pickle ends in the middle @ offset 0");
  EXPECT_EQ(read("K").error, "the pickle ends in the middle @ offset 0");
  EXPECT_EQ(read("NNN\x01").error, "byte 0x01 is no pickle opcode @ offset 3");
  EXPECT_EQ(read("h\x05").error, "memo entry 5 is used before it is there @ offset 0");
  EXPECT_EQ(read("Na.").error, "an opcode needs more values than there are @ offset 1");
  EXPECT_EQ(read("NNa.").error, "items are appended to something that is no list @ offset 2");
  EXPECT_EQ(read("}(Nu.").error, "a key has no value @ offset 3");
  EXPECT_EQ(read("e.").error, "an opcode needs a mark, and there is none @ offset 0");
  EXPECT_EQ(read("(e.").error, "there is no list to append to @ offset 1");
  EXPECT_EQ(read("\x80\x07.").error, "pickle protocol 7 is newer than any known here (5) @ offset 0");
  EXPECT_EQ(read("\x97.").error.substr(0, 34), "the pickle keeps data in out-of-ba");
  EXPECT_EQ(read("N(.").error, "an opcode needs more values than there are @ offset 2") << "nothing above the mark";
}

TEST(PickleMachine, a_length_that_is_a_lie_costs_nothing) {
  EXPECT_EQ(read("\x8e\xff\xff\xff\xff\xff\xff\xff\x7fx").error,
            "a text of 9223372036854775807 bytes is longer than anything read here @ offset 0");
  EXPECT_EQ(read("\x8e\x00\x00\x00\x40\x00\x00\x00\x00x"s).error, "the pickle ends in the middle @ offset 0");
  EXPECT_EQ(read("Nr\xff\xff\xff\xff."s).json, "null") << "a memo number of 2^32 - 1";
}

TEST(PickleMachine, a_bomb_ends_at_the_limit) {
  const auto bomb = read(std::string(4 << 20, ']'), {.memory_bytes = 16 << 20});
  EXPECT_EQ(bomb.error.substr(0, 59), "the pickle needs more than the 16 MiB of memory it may take");
}

TEST(PickleMachine, references_to_references_stay_small) {
  // Billion laughs: each list holds the one before ten times.
  std::string bytes = "]q\x00"s;
  for (char level = 1; level < 60; ++level) {
    bytes += "](" +
             [&] {
               std::string ten;
               for (int i = 0; i < 10; ++i) ten += "h"s + static_cast<char>(level - 1);
               return ten;
             }() +
             "eq" + level;
  }
  const Read laughs = read(bytes + ".", {.memory_bytes = 4 << 20});
  EXPECT_EQ(laughs.error, "");
  EXPECT_LT(laughs.json.size(), 20'000u);
}

TEST(PickleMachine, what_was_open_is_closed_after_a_cut) {
  EXPECT_EQ(read("}(X\x01\x00\x00\x00"s + "a](K\x01K\x02"s).json, R"({"a":[1,2]})");
  EXPECT_EQ(read("}(X\x01\x00\x00\x00"s + "aK\x01X\x01\x00\x00\x00"s + "b"s).json, R"({"a":1})") << "no value for b";
  EXPECT_EQ(read("(lp0\nI1\na(dp1\nVk\nI2\ns").json, R"([1,{"k":2}])") << "protocol 0 has no marks";
  EXPECT_EQ(read("}(X\x01\x00\x00\x00"s + "a]](K\x01K\x02"s).json, R"({"a":[[1,2]]})") << "a list of one list";
}

// Takes dicts with more than one item, and lists of them.
class Taker final : public Folder {
 public:
  std::optional<Value> fold_dict(std::span<const Value> items, bool is_cut) override {
    if (items.size() < 4 || is_cut) return std::nullopt;
    return make_folded(1, ++dicts);
  }
  std::optional<Value> begin_list(const Value&) override { return make_folded(2, 1); }
  bool add_to_list(const Value& list, const Value& item) override {
    EXPECT_EQ(list, make_folded(2, 1));
    taken.push_back(item.bits);
    return true;
  }
  bool add_to_dict(const Value& folded, const Value&, const Value&) override {
    late.push_back(folded.bits);
    return true;
  }
  std::uint64_t dicts = 0;
  std::vector<std::uint64_t> taken, late;
};

TEST(PickleMachine, a_folder_takes_dicts_and_their_list_as_they_go_by) {
  // [ {1:1,2:2}, {3:3,4:4} (memo 0), memo 0 again ], then a late item for the second dict.
  Trickle source("](}(K\x01K\x01K\x02K\x02u}q\x00(K\x03K\x03K\x04K\x04uh\x00"s + "eh\x00K\x05K\x06s0."s);
  Input input(source);
  Taker taker;
  Machine machine(input, taker);
  const auto result = machine.run();
  ASSERT_TRUE(result) << result.error().what;
  EXPECT_EQ(*result, make_folded(2, 1));
  EXPECT_EQ(taker.taken, (std::vector<std::uint64_t>{1, 2, 2}));
  EXPECT_EQ(taker.late, (std::vector<std::uint64_t>{2}));
}

TEST(PickleMachine, a_dict_filled_item_by_item_is_taken_when_it_goes_into_a_list) {
  Trickle source("](}K\x01K\x01sK\x02K\x02se."s);
  Input input(source);
  Taker taker;
  Machine machine(input, taker);
  ASSERT_TRUE(machine.run());
  EXPECT_EQ(taker.taken, (std::vector<std::uint64_t>{1}));
}

TEST(PickleMachine, several_pickles_follow_each_other) {
  Trickle source("K\x01.K\x02."s);
  Input input(source);
  Folder folder;
  Machine machine(input, folder);
  EXPECT_EQ(machine.run()->number(), 1);
  EXPECT_EQ(machine.run()->number(), 2);
  EXPECT_FALSE(machine.run());
}

}  // namespace
}  // namespace vramfit::ingest::pickle
