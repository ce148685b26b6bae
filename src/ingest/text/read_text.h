// Reads whatever text a person has after a crash: any mixture of the formats of registry.cc, known by its content.
//
// The file is read once, in blocks; lines that have no word of any reader are skipped at memory speed.
#ifndef VRAMFIT_INGEST_TEXT_READ_TEXT_H
#define VRAMFIT_INGEST_TEXT_READ_TEXT_H

#include <filesystem>
#include <istream>
#include <string>
#include <string_view>

#include "base/error.h"
#include "ingest/text/reader.h"

namespace vramfit::ingest {

// A text never fails to be read: what is damaged gives what is left. A file that is no text at all (an archive, a
// pickle, a program) is an error that says what it is; so is one that can't be opened.
base::Result<model::Evidence> read_text_evidence(const std::filesystem::path& path, const TextLimits& limits = {});
base::Result<model::Evidence> read_text_evidence(std::istream& stream, std::string_view name,
                                                 const TextLimits& limits = {});
// The same of bytes in memory, with the readers of `formats` only (empty: all).
model::Evidence parse_text_evidence(std::string_view bytes, std::string_view name, const TextLimits& limits = {},
                                    std::span<const TextFormat* const> formats = {});

// Adds the evidence of a further file.
void merge_evidence(model::Evidence& into, model::Evidence&& other);

}  // namespace vramfit::ingest

#endif
