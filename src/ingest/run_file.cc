#include "ingest/run_file.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "ingest/json_fields.h"
#include "ingest/stored_fields.h"

namespace vramfit::ingest {

using base::Bytes;
using nlohmann::json;

namespace {

model::Peaks peaks_of(const json& row) {
  return {Bytes(whole<std::int64_t>(row.at("peak_allocated_bytes"))),
          Bytes(whole<std::int64_t>(row.at("peak_reserved_bytes"))),
          Bytes(whole<std::int64_t>(row.at("peak_device_bytes")))};
}

model::RunEnd read(const json& file) {
  model::RunEnd end;
  end.verdict = file.at("verdict").get<std::string>();
  end.reason = text_of(file, "reason");
  end.exit_code = whole<int>(file.at("exit_code"));
  end.wall_seconds = file.at("wall_seconds").get<double>();
  end.torch = text_of(file, "torch");
  end.cuda = text_of(file, "cuda");
  end.python = text_of(file, "python");
  for (const json& row : file.value("devices", json::array())) {
    const auto bytes = [&](const char* key) {
      const auto known = whole_if_known(row, key);
      return known ? std::optional(Bytes(*known)) : std::nullopt;
    };
    model::CardFigures device;
    device.name = text_of(row, "name");
    device.index = whole_or(row, "index", 0);
    device.total = bytes("total_bytes");
    device.context = bytes("context_bytes");
    device.libraries = bytes("library_bytes");
    device.retries = whole_or(row, "allocation_retries", std::int64_t{0});
    device.allocated = bytes("peak_allocated_bytes");
    device.reserved = bytes("peak_reserved_bytes");
    device.device = bytes("peak_device_bytes");
    end.devices.push_back(std::move(device));
  }
  for (const json& row : file.value("phases", json::array())) {
    end.phases.push_back({.name = text_of(row, "name"),
                          .device = whole_or(row, "device", 0),
                          .peaks = peaks_of(row),
                          .steps = whole_or(row, "steps", std::int64_t{0})});
  }
  return end;
}

}  // namespace

base::Result<model::RunEnd> parse_run_end(std::string_view text) {
  try {
    model::RunEnd end = read(json::parse(text));
    end.result = text;
    return end;
  } catch (const json::exception& problem) {
    return base::fail(base::ErrorCode::kCorrupt, fmt::format("this is no run's result: {}", problem.what()));
  }
}

}  // namespace vramfit::ingest
