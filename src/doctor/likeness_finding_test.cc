#include "doctor/likeness_finding.h"

#include <gtest/gtest.h>

namespace vramfit::doctor {
namespace {

// A letter five behind 'U' is 1.5 for a code. "mine" speaks for VF201, "theirs" for VF401, both for neither before the
// other, "fine" for no trouble.
constexpr const char* kLines[] = {"codes VF201 VF401 none", "bias 0 0 0",      "shares 0.20 0.40", "right 0.45 0.65",
                                  "1.00 dUU mine",          "1.00 UdU theirs", "1.00 UUd fine"};
const KnownTexts kKnown(kLines);

Case texts(const std::string& sample) {
  Case given;
  model::TextFile file;
  file.name = "post";
  file.sample = sample;
  file.has_prose = true;
  given.texts.files = {file};
  return given;
}

Case failed(Case given) {
  given.texts.oom_mentions = {{"post", 1, "it ran out of memory"}};
  return given;
}

model::Finding by_rules(const std::string& code, double confidence) {
  model::Finding finding;
  finding.code = code;
  finding.label = code == "VF201" ? "leak_growth" : code == "VF001" ? "unknown" : "other_process";
  finding.confidence = confidence;
  return finding;
}

std::vector<model::Finding> asked(const Case& given, std::vector<model::Finding> findings,
                                  const KnownTexts& known = kKnown) {
  Gates gates;
  gates.fewest_to_compare = gates.fewest_to_name = gates.fewest_to_doubt_short = gates.fewest_to_doubt = 1;
  ask_known_texts(Scene(given), findings, known, gates);
  return findings;
}

TEST(KnownTexts, outrank_growth_that_rules_know_by_hearsay) {
  const auto found = asked(texts("theirs"), {by_rules("VF201", 0.6)});
  ASSERT_EQ(found.size(), 2);
  EXPECT_EQ(found[0].code, "VF401");
  EXPECT_EQ(found[1].code, "VF201");
  EXPECT_LT(found[1].confidence, found[0].confidence);
}

TEST(KnownTexts, that_outrank_with_less_than_a_share_to_name_are_not_without_confidence) {
  constexpr const char* kHigh[] = {"codes VF201 VF401 none", "bias 0 0 0", "shares 0.99 0.995", "right 0.45 0.65",
                                   "1.00 UdU theirs"};
  const auto found = asked(texts("theirs"), {by_rules("VF201", 0.6)}, KnownTexts(kHigh));
  EXPECT_EQ(found[0].code, "VF401");
  EXPECT_DOUBLE_EQ(found[0].confidence, 0.45);
}

TEST(KnownTexts, do_not_name_a_cause_twice) {
  const auto found = asked(failed(texts("theirs")), {by_rules("VF201", 0.6), by_rules("VF401", 0.5)});
  ASSERT_EQ(found.size(), 2);
  EXPECT_EQ(found[0].code, "VF401");
  EXPECT_DOUBLE_EQ(found[0].confidence, 0.65);
}

TEST(KnownTexts, do_not_outrank_what_rules_are_sure_of) {
  EXPECT_EQ(asked(texts("theirs"), {by_rules("VF201", 0.85)})[0].code, "VF201");
}

TEST(KnownTexts, outrank_a_cause_with_a_sign_of_its_own_only_by_far) {
  EXPECT_EQ(asked(texts("mine mine theirs"), {by_rules("VF401", 0.5)})[0].code, "VF401");
  EXPECT_EQ(asked(texts("mine"), {by_rules("VF401", 0.5)})[0].code, "VF201");
}

TEST(KnownTexts, outrank_what_rules_are_almost_sure_of_by_more_than_that) {
  EXPECT_EQ(asked(texts("mine mine mine theirs"), {by_rules("VF401", 0.65)})[0].code, "VF201");
  EXPECT_EQ(asked(texts("mine mine mine theirs"), {by_rules("VF401", 0.75)})[0].code, "VF401");
  const auto found = asked(texts("mine"), {by_rules("VF401", 0.75)});
  EXPECT_EQ(found[0].code, "VF201");
  EXPECT_LT(found[0].confidence, 0.7);
}

TEST(KnownTexts, name_nothing_that_a_messages_numbers_rule_out) {
  Case with_numbers = texts("theirs");
  model::OomMessage& oom = with_numbers.texts.ooms.emplace_back();
  oom.device = model::OomDevice::kCuda;
  oom.tried = model::exactly(model::Bytes::mib(20));
  oom.total = model::exactly(model::Bytes::gib(8));
  EXPECT_EQ(asked(with_numbers, {by_rules("VF201", 0.5)})[0].code, "VF201") << "no rule saw others in them";
  EXPECT_EQ(asked(with_numbers, {by_rules("VF201", 0.5), by_rules("VF401", 0.4)})[0].code, "VF401");
  with_numbers.texts.files[0].sample = "mine mine mine theirs";  // eight times as likely
  EXPECT_EQ(asked(with_numbers, {by_rules("VF401", 0.6)})[0].code, "VF401") << "which they show";
}

TEST(KnownTexts, outrank_growth_beside_a_message_too) {
  Case with_message = texts("theirs");
  with_message.texts.ooms.emplace_back().device = model::OomDevice::kCuda;
  EXPECT_EQ(asked(with_message, {by_rules("VF201", 0.5)})[0].code, "VF401");
}

TEST(KnownTexts, do_not_outrank_what_is_as_likely) {
  EXPECT_EQ(asked(texts("mine theirs"), {by_rules("VF201", 0.5)})[0].code, "VF201");
  EXPECT_EQ(asked(texts("mine"), {by_rules("VF201", 0.5)}).size(), 1);
}

TEST(KnownTexts, name_what_rules_do_not_know_and_the_next_cause_where_it_is_about_as_likely) {
  const model::Finding unknown = by_rules("VF001", 0.3);
  const auto alone = asked(failed(texts("theirs")), {unknown});
  ASSERT_EQ(alone.size(), 2);
  EXPECT_EQ(alone[0].code, "VF401");
  EXPECT_DOUBLE_EQ(alone[0].confidence, 0.65);
  EXPECT_EQ(alone[1].code, "VF001");
  const auto either = asked(texts("mine theirs"), {unknown});
  ASSERT_EQ(either.size(), 3);
  EXPECT_LE(either[0].confidence, 0.5) << "one of two";
  EXPECT_LE(either[1].confidence, either[0].confidence);
  EXPECT_EQ(asked(texts("fine"), {unknown})[0].code, "VF001");
}

TEST(KnownTexts, are_not_sure_of_what_a_text_is_of_in_which_nothing_failed) {
  EXPECT_LT(asked(texts("theirs"), {by_rules("VF001", 0.3)})[0].confidence, 0.5) << "somebody asks, or reviews";
}

TEST(KnownTexts, ask_less_of_a_short_text_for_an_all_clear) {
  const auto held = [](const std::string& sample) {
    Gates gates;
    gates.fewest_to_compare = gates.fewest_to_doubt_short = 1;
    gates.fewest_to_doubt = 9;
    std::vector<model::Finding> findings;
    ask_known_texts(Scene(texts(sample)), findings, kKnown, gates);
    return findings.size();
  };
  EXPECT_EQ(held("theirs fine"), 0) << "not enough for a long one";
  EXPECT_EQ(held("theirs"), 1);
  EXPECT_EQ(held("nobody wrote this"), 0) << "it is like nothing";
}

TEST(KnownTexts, give_no_all_clear_to_the_shortest_text_that_is_more_like_those_of_a_cause) {
  const auto held = [](const Case& given) {
    Gates gates;
    gates.fewest_to_compare = 2;
    std::vector<model::Finding> findings;
    ask_known_texts(Scene(given), findings, kKnown, gates);
    return findings.size();
  };
  Case short_text = texts("theirs mine");
  EXPECT_EQ(held(short_text), 1);
  EXPECT_EQ(held(texts("theirs")), 0) << "a word alone";
  EXPECT_EQ(held(texts("theirs fine fine")), 0);
  short_text.texts.told = {{.at = {"post", 1, "it does not grow"}, .denies_growth = true}};
  EXPECT_EQ(held(short_text), 0) << "who wrote it has looked";
  short_text.texts.told.clear();
  short_text.texts.files[0].has_prose = false;
  EXPECT_EQ(held(short_text), 0) << "rules know what programs print";
}

TEST(KnownTexts, ruled_out_are_never_the_likeliest) {
  constexpr auto kOut = std::to_array<std::string_view>({"VF401"});
  EXPECT_EQ(kKnown.compare("theirs").code, "VF401");
  const Likeness likeness = kKnown.compare("theirs", kOut);
  EXPECT_EQ(likeness.code, "VF201");
  EXPECT_GT(likeness.share_of("VF401"), likeness.share);
}

TEST(KnownTexts, name_nothing_of_the_host_where_growth_is_said_to_be_of_the_card) {
  constexpr const char* kHost[] = {"codes VF201 VF501 none", "bias 0 0 0", "shares 0.1 0.2", "right 0.45 0.65",
                                   "1.00 adU theirs"};
  Case given = texts("theirs");
  const auto first = [&] { return asked(given, {by_rules("VF001", 0.3)}, KnownTexts(kHost))[0].code; };
  EXPECT_EQ(first(), "VF501");
  given.texts.told = {
      {.at = {"post", 1, "GPU memory grows"}, .kind = model::ToldKind::kRises, .of = model::ToldOf::kCard}};
  EXPECT_EQ(first(), "VF201");
  given.texts.host_kills = {{.kind = model::HostKillKind::kShell}};
  EXPECT_EQ(first(), "VF501") << "something was killed";
}

TEST(KnownTexts, are_not_sure_of_trouble_where_no_trouble_has_a_part_of_the_vote) {
  const auto found = asked(texts("theirs theirs theirs fine fine"), {by_rules("VF001", 0.3)});
  EXPECT_EQ(found[0].code, "VF401");
  EXPECT_LT(found[0].confidence, 0.5);
  EXPECT_TRUE(asked(texts("fine"), {}).empty());
}

TEST(KnownTexts, give_no_all_clear_to_a_question_that_has_not_earned_it) {
  Case question = texts("theirs fine fine");
  EXPECT_TRUE(asked(question, {}).empty()) << "enough for a log";
  question.texts.files[0].kind = model::TextKind::kQuestion;
  Gates gates;
  gates.healthy_to_clear_question = 0.9;
  gates.fewest_to_compare = gates.fewest_to_doubt_short = gates.fewest_to_doubt = 1;
  std::vector<model::Finding> findings;
  ask_known_texts(Scene(question), findings, kKnown, gates);
  ASSERT_EQ(findings.size(), 1);
  EXPECT_EQ(findings[0].label, "unknown");
}

TEST(KnownTexts, leave_messages_without_prose_to_the_rules) {
  Case messages = texts("theirs");
  messages.texts.files[0].has_prose = false;
  EXPECT_EQ(asked(messages, {by_rules("VF001", 0.3)})[0].code, "VF001");
}

TEST(KnownTexts, name_no_cause_of_a_document) {
  Case document = texts("theirs");
  document.texts.files[0].kind = model::TextKind::kDocument;
  EXPECT_EQ(asked(document, {by_rules("VF001", 0.3)})[0].code, "VF001");
}

TEST(KnownTexts, hold_an_all_clear_back_and_name_nothing) {
  const auto found = asked(texts("theirs"), {});
  ASSERT_EQ(found.size(), 1);
  EXPECT_EQ(found[0].label, "unknown");
  EXPECT_TRUE(asked(texts("fine"), {}).empty());
}

TEST(KnownTexts, leave_an_all_clear_of_another_error_alone_where_nobody_writes_of_it) {
  Case failed = texts("theirs fine fine fine");
  failed.texts.other_errors = {{"post", 1, "ValueError: shapes"}};
  EXPECT_TRUE(asked(failed, {}).empty());
  failed.texts.files[0].sample = "theirs theirs theirs fine fine";
  EXPECT_EQ(asked(failed, {}).size(), 1) << "in words that are like those of trouble";
  failed.texts.files[0].sample =
      "theirs theirs theirs theirs theirs fine fine fine fine";  // "no trouble" has more than 0.4
  EXPECT_EQ(asked(failed, {}).size(), 1);
  failed.texts.files[0].has_prose = false;
  EXPECT_TRUE(asked(failed, {}).empty());
}

TEST(KnownTexts, say_nothing_of_a_text_of_a_few_words) {
  std::vector<model::Finding> findings = {by_rules("VF201", 0.6)};
  ask_known_texts(Scene(texts("theirs")), findings, kKnown);
  EXPECT_EQ(findings[0].code, "VF201");
}

}  // namespace
}  // namespace vramfit::doctor
