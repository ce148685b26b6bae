#include "ingest/text/told_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "ingest/text/line_kind.h"
#include "ingest/text/read_text.h"
#include "ingest/text/refused_request.h"
#include "ingest/text/told_cause.h"

namespace vramfit::ingest {
namespace {

using model::SentenceKind;
using model::ToldKind;
using model::ToldOf;

std::optional<model::ToldSentence> told_in(std::string_view text) {
  std::optional<model::ToldSentence> told;
  for (const Sentence& sentence : split_sentences(text, 1, 1)) {
    if (auto one = read_told(sentence, told)) told = std::move(one);
  }
  return told;
}

bool is_told(std::string_view text, SentenceKind cause) {
  for (const Sentence& sentence : split_sentences(text, 1, 1)) {
    const auto causes = told_causes(sentence);
    if (std::ranges::find(causes, cause) != causes.end()) return true;
  }
  return false;
}

TEST(Prose, is_no_code_no_error_and_no_table) {
  for (const char* text : {"The job dies after an hour.", "> it grows with each step", "- memory stays where it was"})
    EXPECT_TRUE(is_prose(text)) << text;
  for (const char* text :
       {"for i, x in enumerate(loader):", "total += loss.item()", "\"CUDA out of memory\",", "ValueError: it is not so",
        "|  0  NVIDIA A100  |  10MiB /  40960MiB |", "    return self.head(x)", "pip install torch"})
    EXPECT_FALSE(is_prose(text)) << text;
}

TEST(Mood, is_of_the_sentence_and_not_of_its_words) {
  const auto mood = [](std::string_view text) { return split_sentences(text, 1, 1).at(0).mood; };
  EXPECT_EQ(mood("My job was killed by the kernel."), Mood::kAsserted);
  EXPECT_EQ(mood("When I run it, my job is killed."), Mood::kAsserted);
  EXPECT_EQ(mood("Some of your processes may have been killed."), Mood::kAsserted);
  EXPECT_EQ(mood("When a job is killed, the scheduler should say so."), Mood::kHypothetical);
  EXPECT_EQ(mood("If you see exit code 137, raise the limit."), Mood::kHypothetical);
  EXPECT_EQ(mood("v2.1: fixed a crash in the export."), Mood::kInstruction);
  EXPECT_EQ(mood("Handling out-of-memory errors in the finder."), Mood::kInstruction);
  EXPECT_EQ(mood("Disabling it solved the problem."), Mood::kAsserted);
  EXPECT_EQ(mood("How much memory does it need?"), Mood::kAsked);
}

TEST(Sentence, without_an_end_is_cut) {
  std::string text;
  while (text.size() < 100000) text += "it takes 5 MB more, and then the rest, ";
  const auto sentences = split_sentences(text, 1, 1);
  EXPECT_GT(sentences.size(), 20u);
  std::size_t words = 0;
  for (const Sentence& sentence : sentences) {
    EXPECT_LT(sentence.text.size(), 1600u);
    words += sentence.words.size();
  }
  EXPECT_EQ(words, 11 * ((text.size() + 38) / 39));
}

TEST(ToldMemory, rises_in_whatever_order_and_tense) {
  for (const char* text :
       {"Each time I call predict() the VRAM usage went up a little.", "RAM: steadily increasing.",
        "as training goes on, the allocated memory gets larger and larger",
        "The footprint of the GPU memory grew until it crashed", "after every batch 20 MB more are in use",
        "Memory is never released between requests, it piles up over time.",
        "I'm not sure why gpu memory climbs from epoch to epoch, every epoch a bit.",
        "After the first few iterations the GPU memory keeps growing", "Der GPU-Speicher wächst mit jedem Schritt",
        "显存随着训练一直增加"}) {
    const auto told = told_in(text);
    ASSERT_TRUE(told) << text;
    EXPECT_EQ(told->kind, ToldKind::kRises) << text;
  }
  EXPECT_EQ(told_in("my RAM grows every epoch")->of, ToldOf::kHost);
  EXPECT_EQ(told_in("The memory (RAM, not that of the GPU) grows every epoch")->of, ToldOf::kHost);
  EXPECT_EQ(told_in("the memory, not GPU memory, grows every epoch")->of, ToldOf::kHost);
  EXPECT_EQ(told_in("The GPU memory is not given back and grows every epoch")->of, ToldOf::kCard);
  EXPECT_EQ(told_in("the GPU RAM grows every epoch")->of, ToldOf::kCard);
}

TEST(ToldMemory, does_not_rise_with_a_size_in_a_wish_or_where_it_is_denied) {
  for (const char* text :
       {"GPU memory grows with the batch size.", "Memory would grow every epoch without this.",
        "VRAM usage does not increase over time.", "The loss keeps growing every epoch and memory is stable.",
        "Over the first few iterations the GPU memory grows a lot.", "How does memory grow with each layer?",
        "I get a memory error when increasing the batch size every time."}) {
    const auto told = told_in(text);
    EXPECT_TRUE(!told || told->kind != ToldKind::kRises) << text;
  }
  EXPECT_TRUE(told_in("There is no increase in memory after each run.")->denies_growth);
}

TEST(ToldMemory, is_trouble_where_it_is_full_or_something_stopped) {
  for (const char* text : {"VRAM is at 15.7/16 GB and it is very slow.", "The whole machine froze in the first epoch.",
                           "it takes way too much memory", "a second job can't start on the same GPU",
                           "Then my notebook dies without a message."}) {
    const auto told = told_in(text);
    ASSERT_TRUE(told) << text;
    EXPECT_EQ(told->kind, ToldKind::kTrouble) << text;
  }
  for (const char* text : {"Memory stays at 5 GB.", "No OOM since then.", "RAM is at 35 % all along."})
    EXPECT_EQ(told_in(text)->kind, ToldKind::kIsWell) << text;
}

TEST(ToldCause, is_what_the_writer_saw_and_not_what_is_asked) {
  EXPECT_TRUE(is_told("Our 8 workers all sit on GPU 0.", SentenceKind::kToldOwnMany));
  EXPECT_TRUE(is_told("开了4个worker，都在gpu0上，怎么办？", SentenceKind::kToldOwnMany));
  EXPECT_TRUE(is_told("An old process still holds the card.", SentenceKind::kToldOthers));
  EXPECT_FALSE(is_told("No other process uses the card.", SentenceKind::kToldOthers));
  EXPECT_FALSE(is_told("Another user with a 3060 12G: the same, it fails at the very end.", SentenceKind::kToldOthers));
  EXPECT_TRUE(is_told("Another user occupies 9 GB of this GPU.", SentenceKind::kToldOthers));
  EXPECT_FALSE(is_told("Please check whether another process is using the GPU.", SentenceKind::kToldOthers));
  EXPECT_TRUE(is_told("With pin_memory turned off it works.", SentenceKind::kToldPinCured));
  EXPECT_TRUE(is_told("It fails after resuming from a checkpoint.", SentenceKind::kToldLoadFails));
  EXPECT_TRUE(is_told("Training from scratch is fine.", SentenceKind::kToldFreshWorks));
  EXPECT_TRUE(is_told("Training passes, but the validation runs out of memory.", SentenceKind::kToldTrainWorks));
}

TEST(ToldCause, is_the_cure_with_which_it_stays_within_limits) {
  EXPECT_TRUE(is_told("With .detach() on the sum we are within limits.", SentenceKind::kToldCauseGraphRetained));
  EXPECT_TRUE(is_told("Under torch.no_grad() memory stays flat.", SentenceKind::kToldCauseNoGradMissing));
  EXPECT_FALSE(is_told("Memory does not stay within limits with detach().", SentenceKind::kToldCauseGraphRetained));
}

TEST(ToldCause, is_not_what_is_denied_or_expected) {
  EXPECT_TRUE(is_told("With a larger batch size it runs out of memory.", SentenceKind::kToldCauseCapacityExceeded));
  EXPECT_FALSE(
      is_told("With a larger batch size it runs out of memory, of course.", SentenceKind::kToldCauseCapacityExceeded));
  EXPECT_FALSE(
      is_told("It is not an OOM, that comes if the batch size is larger.", SentenceKind::kToldCauseCapacityExceeded));
  EXPECT_TRUE(is_told("With torch.no_grad() it is solved.", SentenceKind::kToldNoGrad));
  EXPECT_FALSE(is_told("I used torch.no_grad() too, it isn't solved.", SentenceKind::kToldNoGrad));
}

TEST(ToldCause, is_a_cure_that_is_named_after_memory) {
  for (const char* text :
       {"I fixed it with `docker run --shm-size=64g`", "Setting max_memory solved it.", "More RAM in the pod helped."})
    EXPECT_TRUE(is_told(text, SentenceKind::kToldMemoryCured)) << text;
  for (const char* text : {"I fixed it with a newer driver.", "Does --shm-size help?", "A program of mine works now.",
                           "Any way to run it with less GPU memory when that works, I have 16GB"})
    EXPECT_FALSE(is_told(text, SentenceKind::kToldMemoryCured)) << text;
}

TEST(Question, says_what_stands_before_it_asks) {
  const auto said = [](std::string_view text) {
    const auto before = said_before_question(split_sentences(text, 1, 1).at(0));
    return before && before->mood == Mood::kAsserted ? before->text : "";
  };
  EXPECT_EQ(said("Memory climbs until it is killed, how can I fix it?"), "Memory climbs until it is killed");
  EXPECT_EQ(said("显存一直涨，为什么？"), "显存一直涨");
  EXPECT_EQ(said("How much memory does it need, 24 GB?"), "");
  EXPECT_EQ(said("Any idea, anybody?"), "");
  EXPECT_EQ(said("If I used a smaller one, would it fit?"), "");
  EXPECT_EQ(said("It is so."), "");
}

TEST(LoopPrint, is_memory_by_its_unit_its_label_or_the_call) {
  const auto read = [](const std::string& line, int rounds, bool rises, const std::string& before = "") {
    std::string text = before;
    for (int i = 0; i < rounds; ++i) {
      std::string one = line;
      one.replace(one.find('$'), 1, std::to_string(i));
      one.replace(one.find('%'), 1, std::to_string(rises ? 400000000 + 300000000LL * i : 500000000LL));
      text += one + "\n";
    }
    return parse_text_evidence(text, "log").training.size();
  };
  EXPECT_EQ(read("round $: %", 6, true, "print(i, torch.cuda.memory_allocated())\n"), 6u);
  EXPECT_EQ(read("round $ used %", 6, true), 6u);
  EXPECT_EQ(read("round $ tokens %", 6, true), 0u);
  EXPECT_EQ(read("round $: %", 6, true), 0u) << "a number that nothing tells the meaning of";
}

TEST(RefusedRequest, is_known_by_an_allocators_name_and_an_amount) {
  const auto dump = parse_refused_request("NvDecBufferAllocator: unable to reserve 512 MiB of device memory");
  ASSERT_TRUE(dump);
  EXPECT_EQ(dump->program, "NvDecBufferAllocator");
  EXPECT_EQ(dump->sizes.at(0).bytes.value, base::Bytes::mib(512));
  EXPECT_FALSE(parse_refused_request("failed to allocate 512 MiB of device memory"));
  EXPECT_FALSE(parse_refused_request("MemoryPoolManager: allocated 512 MiB"));
}

TEST(Post, takes_out_what_did_not_happen) {
  const auto kills = [](const std::string& text) { return parse_text_evidence(text, "post").host_kills.size(); };
  EXPECT_EQ(kills("When a job is killed by the OOM killer, the scheduler should say so.\n"), 0u);
  EXPECT_EQ(kills("My job was killed by the OOM killer.\n"), 1u);
  EXPECT_EQ(kills("FATAL = [\n    \"std::bad_alloc\",\n]\n"), 0u);
  EXPECT_EQ(kills("## Summary\nThe message will now read\n\n    job 3 was killed by the OOM killer\n"), 0u);
  EXPECT_EQ(kills("I see\n\n    job 3 was killed by the OOM killer\n"), 1u);
  EXPECT_EQ(parse_text_evidence("Does it need a card with 24 GB?\n", "post").files[0].kind, model::TextKind::kQuestion);
}

TEST(Post, is_a_question_or_a_source_only_if_its_writer_says_nothing_else) {
  const auto file = [](const std::string& text) { return parse_text_evidence(text, "post").files.at(0); };
  EXPECT_EQ(file("It runs on the other card.\n\n> is it set before the import?\n\nthat was it\n").kind,
            model::TextKind::kNone)
      << "somebody else asks";
  const std::string source = "try:\n    load()\nexcept MemoryError as error:\n    raise OSError(error)\n";
  EXPECT_EQ(file(source).kind, model::TextKind::kSource);
  EXPECT_EQ(file("def load():\n    \"\"\"Gets all of it.\n\n    It is read as a whole, whatever it says.\n    "
                 "\"\"\"\n    # it is not there for all of them\n    a = b(1)\n    c = d(2)\n" +
                 source)
                .kind,
            model::TextKind::kSource)
      << "it speaks of itself";
  EXPECT_EQ(file("This one fails for us since yesterday:\n\n" + source).kind, model::TextKind::kNone);
  EXPECT_EQ(file("运行下面的脚本就报错：\n\n" + source).kind, model::TextKind::kNone);
  EXPECT_NE(file("It is so, see https://pytorch.org/docs/stable/notes/faq.html\n").kind, model::TextKind::kDocument);
}

TEST(Post, of_a_script_without_known_pronouns_is_its_writers) {
  const auto told = [](const std::string& text) {
    const auto evidence = parse_text_evidence(text, "post");
    return evidence.told.empty() ? -1 : static_cast<int>(evidence.told.front().kind);
  };
  EXPECT_EQ(told("停掉以后其它几张卡还占着显存\n有什么好的办法？\n"), static_cast<int>(ToldKind::kMentioned));
  EXPECT_EQ(told("> 停掉以后其它几张卡还占着显存\n\n有什么好的办法？\n"), -1);
  EXPECT_EQ(told("GPU memory grows with every epoch until it dies, how do I fix it?\n"),
            static_cast<int>(ToldKind::kRises));
}

TEST(Looks, are_of_a_log_by_what_is_counted_and_not_by_a_quotation_or_an_option) {
  const auto looks = [](const std::string& text) { return parse_text_evidence(text, "post").files.at(0).looks; };
  for (const char* text : {"train_loss=0.31 val_acc=0.7\n", "Epoch [3/10] loss: 0.2\n", "100%|###| 7/7 [4.71it/s]\n",
                           "2024-05-01 10:00:00 ready\n", "===== 209 passed, 5 skipped in 4s =====\n"})
    EXPECT_EQ(looks(text), model::TextLooks::kLog) << text;
  for (const char* text :
       {"> it is so\n", "  --micro_train_batch_size 1 \\\n", "With os.environ['A']='1' (or 2) put into train.py\n"})
    EXPECT_EQ(looks(text), model::TextLooks::kUnknown) << text;
}

}  // namespace
}  // namespace vramfit::ingest
