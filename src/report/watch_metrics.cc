#include "report/watch_metrics.h"

#include <fmt/format.h>

#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace vramfit::report {

namespace {

using Labels = std::vector<std::pair<std::string_view, std::string>>;

std::string escape(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\' || c == '"') result += '\\';
    if (c == '\n') {
      result += "\\n";
    } else {
      result += c;
    }
  }
  return result;
}

std::string to_text(const Labels& labels) {
  std::string text;
  for (const auto& [name, value] : labels) {
    if (value.empty()) continue;
    text += fmt::format("{}{}=\"{}\"", text.empty() ? "" : ",", name, escape(value));
  }
  return text.empty() ? text : "{" + text + "}";
}

// Metrics have base units: a name and a factor for each field.
struct Metric {
  std::string name;
  double factor = 1;
};

Metric metric_of(std::string_view prefix, std::string_view field, model::Unit unit) {
  const auto with_suffix = [&](std::string_view old_suffix, std::string_view suffix, double factor) {
    std::string_view stem = field;
    if (stem.ends_with(old_suffix)) stem.remove_suffix(old_suffix.size());
    return Metric{fmt::format("{}_{}{}", prefix, stem, suffix), factor};
  };
  switch (unit) {
    case model::Unit::kPercent:
      return with_suffix("_percent", "_busy_ratio", 0.01);
    case model::Unit::kMilliwatts:
      return with_suffix("_milliwatts", "_watts", 1e-3);
    case model::Unit::kMegahertz:
      return with_suffix("_mhz", "_hertz", 1e6);
    case model::Unit::kSeconds:
      return with_suffix("_unix_seconds", "_time_seconds", 1);
    default:
      return {fmt::format("{}_{}", prefix, field)};
  }
}

// All series of one metric stand together, under its help and type.
class Page {
 public:
  void begin(const std::string& name, std::string_view help) {
    name_ = name;
    head_ = fmt::format("# HELP {} {}\n# TYPE {} gauge\n", name, help, name);
  }
  void add(const Labels& labels, double value) {
    text_ += std::exchange(head_, {});
    text_ += fmt::format("{}{} {}\n", name_, to_text(labels), value);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string name_, head_, text_;
};

template <class Owner>
void add_all(Page& page, std::string_view prefix, std::span<const model::Field<Owner>> fields,
             const std::vector<std::pair<Labels, const Owner*>>& owners) {
  for (const auto& field : fields) {
    const Metric metric = metric_of(prefix, field.name, field.unit);
    page.begin(metric.name, field.meaning);
    for (const auto& [labels, owner] : owners) {
      const model::Reading& reading = owner->*field.member;
      if (reading) page.add(labels, static_cast<double>(*reading) * metric.factor);
    }
  }
}

Labels labels_of(const model::CardReading& card) {
  return {{"uuid", card.uuid}, {"name", card.name}, {"parent", card.parent}, {"session", card.session}};
}

Labels labels_of(const model::ProcessReading& process) {
  return {{"pid", std::to_string(process.pid)},
          {"process", process.name},
          {"user", process.user},
          {"container", process.container},
          {"slurm_job", process.slurm_job},
          {"pod", process.kubernetes_pod},
          {"rank", process.rank}};
}

void add_states(Page& page, const model::MachineSample& sample) {
  page.begin("vramfit_driver_up", "1 when the NVIDIA driver answers");
  page.add({{"version", sample.driver.version}, {"cuda", sample.driver.cuda}}, sample.driver.answers ? 1 : 0);
  page.begin("vramfit_gpu_up", "1 when the card answers");
  for (const auto& card : sample.cards) page.add(labels_of(card), card.problem.empty() ? 1 : 0);
  page.begin("vramfit_gpu_processes", "Processes that the driver shows on the card");
  for (const auto& card : sample.cards) {
    if (!card.unexplained_bytes && card.unexplained_bytes.why() != model::Absence::kNotSupported) continue;
    int count = 0;
    for (const auto& process : sample.processes) {
      for (const auto& use : process.uses) count += use.card == card.uuid ? 1 : 0;
    }
    page.add(labels_of(card), count);
  }
}

}  // namespace

std::string machine_to_metrics(const model::MachineSample& sample, const MetricsOptions& options) {
  Page page;
  add_states(page, sample);
  std::vector<std::pair<Labels, const model::CardReading*>> cards;
  for (const auto& card : sample.cards) cards.emplace_back(labels_of(card), &card);
  add_all(page, "vramfit_gpu", model::card_fields(), cards);
  add_all(page, "vramfit_host", model::host_fields(), {{Labels{}, &sample.host}});
  if (!options.processes) return page.take();
  std::vector<std::pair<Labels, const model::ProcessReading*>> processes;
  std::vector<std::pair<Labels, const model::CardUse*>> uses;
  for (const auto& process : sample.processes) {
    processes.emplace_back(labels_of(process), &process);
    for (const auto& use : process.uses) {
      Labels labels = labels_of(process);
      labels.insert(labels.begin(), {"uuid", use.card});
      uses.emplace_back(std::move(labels), &use);
    }
  }
  add_all(page, "vramfit_process_gpu", model::use_fields(), uses);
  add_all(page, "vramfit_process", model::process_fields(), processes);
  return page.take();
}

}  // namespace vramfit::report
