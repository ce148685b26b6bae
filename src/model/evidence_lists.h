// The lists of Evidence by name, for what does the same with all of them: joining, counting, tests. A list that is not
// here does not compile.
#ifndef VRAMFIT_MODEL_EVIDENCE_LISTS_H
#define VRAMFIT_MODEL_EVIDENCE_LISTS_H

#include <cstddef>
#include <tuple>
#include <utility>

#include "model/evidence.h"

namespace vramfit::model {

// What becomes of an entry that prose only gives as an example, as a page of documentation does ("you may see ...").
enum class Examples {
  kKept,     // or weighed one by one in ingest/text/post.cc
  kDropped,  // each entry has its place, `at`
};

template <Examples examples, typename List>
struct EvidenceList {
  static constexpr Examples kExamples = examples;
  const char* name;
  List Evidence::*list;
};

template <Examples examples, typename List>
constexpr EvidenceList<examples, List> evidence_list(const char* name, List Evidence::*list) {
  return {name, list};
}

inline constexpr std::tuple kEvidenceLists{
    evidence_list<Examples::kKept>("files", &Evidence::files),
    evidence_list<Examples::kKept>("ooms", &Evidence::ooms),
    evidence_list<Examples::kKept>("tracebacks", &Evidence::tracebacks),
    evidence_list<Examples::kKept>("launch_failures", &Evidence::launch_failures),
    evidence_list<Examples::kDropped>("library_errors", &Evidence::library_errors),
    evidence_list<Examples::kDropped>("host_kills", &Evidence::host_kills),
    evidence_list<Examples::kDropped>("shm_errors", &Evidence::shm_errors),
    evidence_list<Examples::kKept>("oom_mentions", &Evidence::oom_mentions),
    evidence_list<Examples::kDropped>("supposed", &Evidence::supposed),
    evidence_list<Examples::kKept>("memory_words", &Evidence::memory_words),
    evidence_list<Examples::kKept>("told", &Evidence::told),
    evidence_list<Examples::kDropped>("other_errors", &Evidence::other_errors),
    evidence_list<Examples::kKept>("summaries", &Evidence::summaries),
    evidence_list<Examples::kKept>("gpu_status", &Evidence::gpu_status),
    evidence_list<Examples::kKept>("training", &Evidence::training),
    evidence_list<Examples::kDropped>("foreign", &Evidence::foreign),
    evidence_list<Examples::kKept>("host", &Evidence::host),
    evidence_list<Examples::kKept>("settings", &Evidence::settings),
    evidence_list<Examples::kKept>("remarks", &Evidence::remarks),
    evidence_list<Examples::kKept>("facts", &Evidence::facts),
    evidence_list<Examples::kKept>("unread", &Evidence::unread),
};

namespace evidence_detail {

struct AnyMember {
  template <typename T>
  operator T() const;  // NOLINT(google-explicit-constructor): initialises whatever member stands there
};

template <std::size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
  return requires { Evidence{(static_cast<void>(I), AnyMember{})...}; };
}

template <std::size_t N = 0>
constexpr std::size_t count_members() {
  if constexpr (takes(std::make_index_sequence<N + 1>())) {
    return count_members<N + 1>();
  } else {
    return N;
  }
}

}  // namespace evidence_detail

static_assert(evidence_detail::count_members() == std::tuple_size_v<decltype(kEvidenceLists)>,
              "a list of Evidence is missing in kEvidenceLists: what a text says of it would not reach the doctor");

// Calls visit(list) with each EvidenceList.
template <typename Visit>
constexpr void for_each_evidence_list(Visit visit) {
  std::apply([&](const auto&... lists) { (visit(lists), ...); }, kEvidenceLists);
}

}  // namespace vramfit::model

#endif
