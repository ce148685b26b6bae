#include "report/page/network_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/parse_number.h"

namespace vramfit::report::page {

using base::Bytes;
using model::ModuleNode;
using model::ModuleRow;
using model::ModuleTable;

namespace {

constexpr std::size_t kEnoughBoxes = 14;  // with fewer, the largest is drawn as what is in it
constexpr std::size_t kMostBoxes = 26;
// A line from the model's input to a box with larger inputs (an attention mask, labels) is left out below this share.
constexpr double kLeastInputShare = 0.1;

constexpr std::array<std::string_view, 16> kFollowers = {
    "Norm",     "ReLU", "GELU", "SiLU",      "Swish",   "Sigmoid",  "Tanh",       "Dropout",
    "DropPath", "ELU",  "Mish", "Hardswish", "Softmax", "Identity", "Activation", "Act"};

bool is_below(std::string_view name, std::string_view module) {
  if (module.empty()) return name.find('/') == std::string_view::npos;
  if (!name.starts_with(module)) return false;
  return name.size() == module.size() || name[module.size()] == '.' || name[module.size()] == '/';
}

bool is_end(const ModuleNode& node) { return node.operation == "input" || node.operation == "output"; }

// The part of a name behind the module it is seen from.
std::string relative(const std::string& name, const std::string& module) {
  if (module.empty() || name.size() <= module.size()) return name;
  return name.substr(module.size() + 1);
}

// "blocks.3" -> blocks and 3
std::optional<std::pair<std::string, int>> numbered(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  const std::string_view last = std::string_view(name).substr(dot == std::string::npos ? 0 : dot + 1);
  const auto number = base::parse_number<int>(last);
  if (!number) return std::nullopt;
  return std::pair(dot == std::string::npos ? std::string() : name.substr(0, dot), *number);
}

// The name as drawings of networks have it.
std::string short_name(const std::string& class_name) {
  if (class_name.find("BatchNorm") != std::string::npos) return "BN";
  return class_name == "LayerNorm" ? "LN" : class_name;
}

struct Draft {
  NetworkBox box;
  std::string key;
  bool is_leaf = false;  // a call of a module without others below it
  bool is_gone = false;  // drawn as part of another
};

class Viewer {
 public:
  Viewer(const ModuleTable& table, std::string module) : table_(table), module_(std::move(module)) {
    for (const ModuleRow& row : table.rows) {
      rows_.emplace(row.name, &row);
    }
    for (const std::string& name : model_names(table)) is_model_ = is_model_ || name == module_;
  }

  NetworkView view() {
    std::set<std::string> closed;
    build();
    while (count_boxes() < kEnoughBoxes) {
      const std::string largest = find_largest(closed);
      if (largest.empty()) break;
      expanded_.insert(largest);
      build();
      if (count_boxes() > kMostBoxes) {
        expanded_.erase(largest);
        build();
      }
      closed.insert(largest);
    }
    return finish();
  }

 private:
  // A container that is never called (ModuleList) is passed over.
  bool is_called(const std::string& name) const {
    const auto row = rows_.find(name);
    return row != rows_.end() &&
           std::ranges::any_of(row->second->uses, [](const model::ModuleUse& use) { return use.calls > 0; });
  }

  std::string child_on_the_way(const std::string& from, const std::string& to) const {
    std::size_t end = from.empty() ? 0 : from.size() + 1;
    do {
      end = to.find('.', end);
      if (end == std::string::npos) return to;
      if (is_called(to.substr(0, end))) return to.substr(0, end);
      ++end;
    } while (true);
  }

  std::string key_of(const ModuleNode& node) const {
    if (!is_below(node.module, module_) || (is_end(node) && !is_model_)) return "";
    std::string at = module_;
    while (at != node.module) {
      const std::string child = child_on_the_way(at, node.module);
      if (child == node.module && node.operation.empty()) return node.id;
      if (!expanded_.contains(child)) return child;
      at = child;
    }
    return node.id;
  }

  Draft draft_of(const ModuleNode& node, const std::string& key) const {
    Draft draft{.box = {}, .key = key};
    if (key.empty()) {
      draft.box.kind = BoxKind::kEnd;
      return draft;
    }
    if (key != node.id) {
      draft.box.title = relative(key, module_);
      draft.box.inside = key;
      const auto row = rows_.find(key);
      if (row != rows_.end()) draft.box.class_name = row->second->class_name;
    } else if (is_end(node)) {
      draft.box = {.kind = BoxKind::kEnd, .title = relative(node.id, is_model_ ? module_ : "")};
    } else if (!node.operation.empty()) {
      draft.box = {.kind = BoxKind::kOperator, .title = node.operation};
    } else {
      draft.is_leaf = true;
      draft.box.title = relative(node.id, module_);
      const auto row = rows_.find(node.module);
      if (row != rows_.end()) draft.box.class_name = row->second->class_name;
    }
    return draft;
  }

  std::size_t add(Draft draft) {
    drafts_.push_back(std::move(draft));
    return drafts_.size() - 1;
  }

  void build() {
    drafts_.clear();
    lines_.clear();
    std::map<std::string, std::size_t> known;
    std::vector<std::optional<std::size_t>> places(table_.nodes.size());
    for (std::size_t i = 0; i < table_.nodes.size(); ++i) {
      const ModuleNode& node = table_.nodes[i];
      const std::string key = key_of(node);
      if (key.empty()) continue;
      const auto [found, is_new] = known.try_emplace(key, drafts_.size());
      if (is_new) add(draft_of(node, key));
      places[i] = found->second;
      drafts_[found->second].box.activations += node.activations;
      drafts_[found->second].box.held += node.held;
    }
    connect(places);
    drop_small_inputs();
    merge_followers();
    fold_repeated();
  }

  void connect(const std::vector<std::optional<std::size_t>>& places) {
    std::optional<std::size_t> before, behind;  // what lies outside
    for (const model::ModuleEdge& edge : table_.edges) {
      if (edge.from >= places.size() || edge.to >= places.size()) continue;
      auto from = places[edge.from], to = places[edge.to];
      if (!from && !to) continue;
      if (!from) {
        if (!before) before = add({.box = {.kind = BoxKind::kEnd, .title = "from before"}, .key = ">"});
        from = before;
      }
      if (!to) {
        if (!behind) behind = add({.box = {.kind = BoxKind::kEnd, .title = "to what follows"}, .key = "<"});
        to = behind;
      }
      if (*from != *to) lines_[{*from, *to}] += edge.bytes;
    }
  }

  void drop_small_inputs() {
    std::map<std::size_t, Bytes> largest;
    for (const auto& [line, bytes] : lines_) largest[line.second] = std::max(largest[line.second], bytes);
    std::erase_if(lines_, [&](const auto& entry) {
      const auto& [line, bytes] = entry;
      const bool is_input = drafts_[line.first].box.kind == BoxKind::kEnd;
      return is_input &&
             static_cast<double>(bytes.count()) < kLeastInputShare * static_cast<double>(largest[line.second].count());
    });
  }

  std::vector<std::size_t> sources(std::size_t box) const {
    std::vector<std::size_t> found;
    for (const auto& [line, bytes] : lines_) {
      if (line.second == box) found.push_back(line.first);
    }
    return found;
  }

  std::size_t count_targets(std::size_t box) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(lines_, [&](const auto& entry) { return entry.first.first == box; }));
  }

  // `gone` is drawn as part of `kept`.
  void merge(std::size_t gone, std::size_t kept) {
    drafts_[gone].is_gone = true;
    drafts_[kept].box.activations += drafts_[gone].box.activations;
    drafts_[kept].box.held += drafts_[gone].box.held;
    std::map<std::pair<std::size_t, std::size_t>, Bytes> moved;
    for (const auto& [line, bytes] : lines_) {
      const std::size_t from = line.first == gone ? kept : line.first, to = line.second == gone ? kept : line.second;
      if (from != to) moved[{from, to}] += bytes;
    }
    lines_ = std::move(moved);
  }

  static bool follows(const NetworkBox& box) {
    return std::ranges::any_of(kFollowers,
                               [&](std::string_view word) { return box.class_name.find(word) != std::string::npos; });
  }

  void merge_followers() {
    for (std::size_t i = 0; i < drafts_.size(); ++i) {
      if (!drafts_[i].is_leaf || !follows(drafts_[i].box)) continue;
      const auto from = sources(i);
      if (from.size() != 1 || !drafts_[from[0]].is_leaf || count_targets(from[0]) != 1) continue;
      std::string& names = drafts_[from[0]].box.class_name;
      names += ", " + short_name(drafts_[i].box.class_name);
      merge(i, from[0]);
    }
  }

  // Neighbours of one class in a chain, which are given nothing but each other's output and what all are given.
  bool continues(std::size_t first, std::size_t last, std::size_t next) const {
    const NetworkBox &left = drafts_[last].box, &right = drafts_[next].box;
    if (left.inside.empty() || right.inside.empty() || left.class_name != right.class_name) return false;
    const auto left_name = numbered(last_keys_.at(last)), right_name = numbered(right.inside);
    if (!left_name || !right_name || left_name->first != right_name->first) return false;
    if (left_name->second + 1 != right_name->second) return false;
    const auto shared = sources(first), given = sources(next);
    return std::ranges::find(given, last) != given.end() && std::ranges::all_of(given, [&](std::size_t source) {
             return source == last || std::ranges::find(shared, source) != shared.end();
           });
  }

  void fold_repeated() {
    last_keys_.clear();
    for (std::size_t i = 0; i < drafts_.size(); ++i) last_keys_.push_back(drafts_[i].box.inside);
    std::optional<std::size_t> kept;
    for (std::size_t i = 0; i < drafts_.size(); ++i) {
      if (drafts_[i].is_gone || drafts_[i].box.inside.empty()) continue;
      if (!kept || !continues(*kept, *kept, i)) {
        kept = i;
        continue;
      }
      last_keys_[*kept] = drafts_[i].box.inside;
      ++drafts_[*kept].box.alike;
      merge(i, *kept);
    }
    for (std::size_t i = 0; i < drafts_.size(); ++i) {
      NetworkBox& box = drafts_[i].box;
      if (box.alike > 1) box.title += fmt::format(" to {}", numbered(last_keys_[i])->second);
    }
  }

  std::size_t count_boxes() const {
    return static_cast<std::size_t>(std::ranges::count_if(drafts_, [](const Draft& d) { return !d.is_gone; }));
  }

  std::string find_largest(const std::set<std::string>& closed) const {
    const Draft* largest = nullptr;
    for (const Draft& draft : drafts_) {
      if (draft.is_gone || draft.box.inside.empty() || draft.box.alike > 1 || closed.contains(draft.key)) continue;
      const Bytes bytes = draft.box.activations + draft.box.held;
      if (largest == nullptr || bytes > largest->box.activations + largest->box.held) largest = &draft;
    }
    return largest == nullptr ? "" : largest->key;
  }

  NetworkView finish() {
    NetworkView view;
    std::vector<std::size_t> places(drafts_.size(), 0);
    std::set<std::size_t> joined;
    for (const auto& [line, bytes] : lines_) joined.insert({line.first, line.second});
    for (std::size_t i = 0; i < drafts_.size(); ++i) {
      const bool is_loose = drafts_[i].box.kind == BoxKind::kEnd && !joined.contains(i);
      if (drafts_[i].is_gone || is_loose) continue;
      places[i] = view.boxes.size();
      view.boxes.push_back(std::move(drafts_[i].box));
    }
    for (const auto& [line, bytes] : lines_) view.lines.push_back({places[line.first], places[line.second]});
    return view;
  }

  const ModuleTable& table_;
  std::string module_;
  bool is_model_ = false;
  std::map<std::string, const ModuleRow*> rows_;
  std::set<std::string> expanded_;
  std::vector<Draft> drafts_;
  std::vector<std::string> last_keys_;  // of each draft: the module of the last block drawn as it
  std::map<std::pair<std::size_t, std::size_t>, Bytes> lines_;
};

}  // namespace

std::vector<std::string> model_names(const ModuleTable& table) {
  std::vector<std::string> names;
  for (const ModuleNode& node : table.nodes) {
    if (node.operation == "input" && node.id.ends_with("input")) names.push_back(node.module);
  }
  return names;
}

NetworkView view_network(const ModuleTable& table, const std::string& module) { return Viewer(table, module).view(); }

}  // namespace vramfit::report::page
