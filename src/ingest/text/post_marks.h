// What a line or a sentence of a post is, by itself: a heading, a part of a document, a wish, code that keeps a graph.
#ifndef VRAMFIT_INGEST_TEXT_POST_MARKS_H
#define VRAMFIT_INGEST_TEXT_POST_MARKS_H

#include <string_view>

#include "ingest/text/sentence.h"

namespace vramfit::ingest {

bool names_a_failure(std::string_view text);

// "## Expected behavior", "**Proposal**", "Suggested content:"
bool is_heading(std::string_view line);
// Whether the heading is of what is to be one day.
bool is_wish(std::string_view heading);
// Whether the heading is of a form in which a failure is reported.
bool is_of_report(std::string_view heading);

// A line that changes, proposals and pages have.
bool is_of_document(std::string_view line);
// "This page describes", "In this chapter"
bool is_about_a_page(const Sentence& sentence);
// What somebody asks, wishes or plans is no report.
bool is_of_intent(const Sentence& sentence);

// "total_loss += loss", "out, hidden = rnn(x, hidden)": what is kept for the next round has the graph of this one.
bool keeps_graph(std::string_view text);

}  // namespace vramfit::ingest

#endif
