// What is told of networks: a Hugging Face config.json, and the table of networks with a name.
#ifndef VRAMFIT_INGEST_NETWORK_FILES_H
#define VRAMFIT_INGEST_NETWORK_FILES_H

#include <filesystem>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/network.h"

namespace vramfit::ingest {

// `name` is for error messages. The names of fields differ by model (hidden_size, n_embd, d_model); a part for text is
// taken of a model that sees and reads. One without what its memory follows from is refused, with what is missing.
base::Result<model::TransformerShape> parse_model_config(std::string_view text, std::string_view name);
// A config.json, or the folder it lies in.
base::Result<model::TransformerShape> read_model_config(const std::filesystem::path& path);

base::Result<std::vector<model::MeasuredNetwork>> parse_networks(std::string_view text, std::string_view name);
base::Result<std::vector<model::MeasuredNetwork>> read_networks(const std::filesystem::path& path);

}  // namespace vramfit::ingest

#endif
