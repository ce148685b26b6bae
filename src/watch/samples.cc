// The frames of a watch recording: samples to bytes and back. The files they lie in are watch_recording.cc.
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "watch/bytes.h"
#include "watch/recording.h"

namespace vramfit::watch {

namespace {

constexpr std::uint64_t kMostEntities = 1u << 20;

enum class Kind : std::uint8_t { kHost = 0, kDriver = 1, kCard = 2, kProcess = 3, kUse = 4 };
constexpr std::size_t kKinds = 5;

// A thing with texts and readings. The order of texts is part of the format: new ones go to the end.
struct Entity {
  Kind kind = Kind::kHost;
  std::vector<std::string> texts;
  std::vector<model::Reading> readings;
};

template <class Owner>
std::vector<model::Reading> readings_of(const Owner& owner, std::span<const model::Field<Owner>> fields) {
  std::vector<model::Reading> readings;
  for (const auto& field : fields) readings.push_back(owner.*field.member);
  return readings;
}

template <class Owner>
std::vector<std::string> names_of(std::span<const model::Field<Owner>> fields) {
  std::vector<std::string> names;
  for (const auto& field : fields) names.emplace_back(field.name);
  return names;
}

std::array<std::vector<std::string>, kKinds> all_names() {
  return {names_of(model::host_fields()),
          {},
          names_of(model::card_fields()),
          names_of(model::process_fields()),
          names_of(model::use_fields())};
}

// The entities of a sample with their keys, in its order.
std::vector<std::pair<std::string, Entity>> entities_of(const model::MachineSample& sample) {
  std::vector<std::pair<std::string, Entity>> all;
  all.push_back({"host", {Kind::kHost, {sample.host.name}, readings_of(sample.host, model::host_fields())}});
  const auto& driver = sample.driver;
  all.push_back(
      {"driver", {Kind::kDriver, {driver.answers ? "1" : "", driver.problem, driver.version, driver.cuda}, {}}});
  for (const auto& card : sample.cards) {
    all.push_back({"card " + card.uuid,
                   {Kind::kCard,
                    {card.uuid, card.name, card.bus_id, card.parent, card.session, card.problem},
                    readings_of(card, model::card_fields())}});
  }
  for (const auto& process : sample.processes) {
    const std::string pid = std::to_string(process.pid);
    all.push_back({"process " + pid,
                   {Kind::kProcess,
                    {pid, std::to_string(process.parent), std::to_string(static_cast<int>(process.state)), process.name,
                     process.command, process.user, process.container, process.slurm_job, process.kubernetes_pod,
                     process.rank, process.world_size, process.parent_name},
                    readings_of(process, model::process_fields())}});
    for (const auto& use : process.uses) {
      all.push_back(
          {"use " + pid + " " + use.card, {Kind::kUse, {pid, use.card}, readings_of(use, model::use_fields())}});
    }
  }
  return all;
}

}  // namespace

// ── writing ──────────────────────────────────────────────────────────────

struct SampleEncoder::State {
  struct Known {
    std::uint64_t id = 0;
    Entity last;
  };
  bool fresh = true;
  std::int64_t at = 0;
  std::map<std::string, Known> known;
  std::vector<std::uint64_t> present;
};

SampleEncoder::SampleEncoder() : state_(std::make_unique<State>()) {}
SampleEncoder::~SampleEncoder() = default;
void SampleEncoder::reset() { *state_ = State(); }

std::string SampleEncoder::encode(const model::MachineSample& sample) {
  State& state = *state_;
  std::string frames;
  if (std::exchange(state.fresh, false)) {
    Writer names;
    names.byte('T');
    for (const auto& list : all_names()) {
      names.number(list.size());
      for (const std::string& name : list) names.text(name);
    }
    frames += frame(names.bytes());
  }
  Writer changes;
  std::vector<std::uint64_t> present;
  std::uint64_t changed_entities = 0;
  for (auto& [key, entity] : entities_of(sample)) {
    const auto [found, is_new] = state.known.try_emplace(key);
    State::Known& known = found->second;
    if (is_new) known.id = state.known.size() - 1;
    if (is_new || known.last.texts != entity.texts) {
      Writer texts;
      texts.byte('E');
      texts.number(known.id);
      texts.byte(static_cast<std::uint8_t>(entity.kind));
      texts.number(entity.texts.size());
      for (const std::string& text : entity.texts) texts.text(text);
      frames += frame(texts.bytes());
    }
    known.last.readings.resize(entity.readings.size());
    Writer fields;
    std::uint64_t changed = 0;
    for (std::size_t i = 0; i < entity.readings.size(); ++i) {
      const model::Reading &before = known.last.readings[i], &now = entity.readings[i];
      if (now == before) continue;
      ++changed;
      fields.number(i << 1 | (now ? 0u : 1u));
      if (now) {
        fields.number(zigzag(minus(*now, before.value_or(0))));
      } else {
        fields.byte(static_cast<std::uint8_t>(now.why()));
      }
    }
    if (changed > 0) {
      ++changed_entities;
      changes.number(known.id);
      changes.number(changed);
      for (const char c : fields.bytes()) changes.byte(static_cast<std::uint8_t>(c));
    }
    present.push_back(known.id);
    known.last = std::move(entity);
  }
  Writer whole;
  whole.byte('S');
  whole.number(zigzag(minus(sample.at_unix_ns, state.at)));
  state.at = sample.at_unix_ns;
  const bool same = present == state.present;
  whole.byte(same ? 0 : 1);
  if (!same) {
    whole.number(present.size());
    for (const std::uint64_t id : present) whole.number(id);
    state.present = present;
  }
  whole.number(changed_entities);
  std::string payload = whole.bytes() + changes.bytes();
  return frames + frame(payload);
}

// ── reading ──────────────────────────────────────────────────────────────

struct SampleDecoder::State {
  bool in_group = false;
  std::int64_t at = 0;
  std::array<std::vector<std::string>, kKinds> names;
  std::map<std::uint64_t, Entity> entities;
  std::vector<std::uint64_t> present;

  bool read_names(Reader& in);
  bool read_entity(Reader& in);
  bool read_sample(Reader& in);
  model::MachineSample build() const;
  template <class Owner>
  void fill(const Entity& entity, Owner& owner, std::span<const model::Field<Owner>> fields) const;
};

bool SampleDecoder::State::read_names(Reader& in) {
  *this = State();
  for (auto& list : names) {
    const std::uint64_t count = in.count();
    for (std::uint64_t i = 0; i < count && in.ok(); ++i) list.push_back(in.text());
  }
  in_group = in.ok();
  return in_group;
}

bool SampleDecoder::State::read_entity(Reader& in) {
  const std::uint64_t id = in.number();
  const std::uint8_t kind = in.byte();
  const std::uint64_t count = in.count();
  if (!in.ok() || kind >= kKinds || id > kMostEntities) return false;
  Entity& entity = entities[id];
  entity.kind = static_cast<Kind>(kind);
  entity.readings.resize(names[kind].size());
  entity.texts.clear();
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) entity.texts.push_back(in.text());
  return in.ok();
}

bool SampleDecoder::State::read_sample(Reader& in) {
  at = plus(at, unzigzag(in.number()));
  if (in.byte() != 0) {
    present.clear();
    const std::uint64_t count = in.count();
    for (std::uint64_t i = 0; i < count && in.ok(); ++i) present.push_back(in.number());
  }
  const std::uint64_t changed = in.count();
  for (std::uint64_t i = 0; i < changed && in.ok(); ++i) {
    const auto entity = entities.find(in.number());
    const std::uint64_t fields = in.count();
    if (entity == entities.end()) return false;
    for (std::uint64_t k = 0; k < fields && in.ok(); ++k) {
      const std::uint64_t code = in.number();
      if (code >> 1 >= entity->second.readings.size()) return false;
      model::Reading& reading = entity->second.readings[code >> 1];
      if ((code & 1) != 0) {
        const std::uint8_t why = in.byte();
        reading = why <= static_cast<std::uint8_t>(model::Absence::kFailed) ? static_cast<model::Absence>(why)
                                                                            : model::Absence::kNotRead;
      } else {
        reading = plus(reading.value_or(0), unzigzag(in.number()));
      }
    }
  }
  return in.ok() && in.at_end();
}

template <class Owner>
void SampleDecoder::State::fill(const Entity& entity, Owner& owner, std::span<const model::Field<Owner>> fields) const {
  const auto& list = names[static_cast<std::size_t>(entity.kind)];
  for (std::size_t i = 0; i < list.size() && i < entity.readings.size(); ++i) {
    for (const auto& field : fields) {
      if (field.name == list[i]) owner.*field.member = entity.readings[i];
    }
  }
}

model::MachineSample SampleDecoder::State::build() const {
  model::MachineSample sample{.at_unix_ns = at};
  const auto text = [](const Entity& entity, std::size_t i) {
    return i < entity.texts.size() ? entity.texts[i] : std::string();
  };
  for (const std::uint64_t id : present) {
    const auto found = entities.find(id);
    if (found == entities.end()) continue;
    const Entity& one = found->second;
    if (one.kind == Kind::kHost) {
      sample.host.name = text(one, 0);
      fill(one, sample.host, model::host_fields());
    } else if (one.kind == Kind::kDriver) {
      sample.driver = {text(one, 0) == "1", text(one, 1), text(one, 2), text(one, 3)};
    } else if (one.kind == Kind::kCard) {
      model::CardReading card{text(one, 0), text(one, 1), text(one, 2), text(one, 3), text(one, 4), text(one, 5)};
      fill(one, card, model::card_fields());
      sample.cards.push_back(std::move(card));
    } else if (one.kind == Kind::kProcess) {
      model::ProcessReading process{.pid = std::atoll(text(one, 0).c_str()),
                                    .parent = std::atoll(text(one, 1).c_str())};
      const int state = std::atoi(text(one, 2).c_str());
      if (state >= 0 && state <= 2) process.state = static_cast<model::ProcessState>(state);
      std::size_t at_text = 3;
      for (std::string* into : {&process.name, &process.command, &process.user, &process.container, &process.slurm_job,
                                &process.kubernetes_pod, &process.rank, &process.world_size, &process.parent_name}) {
        *into = text(one, at_text++);
      }
      fill(one, process, model::process_fields());
      sample.processes.push_back(std::move(process));
    } else if (!sample.processes.empty()) {  // a share stands behind its process
      model::CardUse use{.card = text(one, 1)};
      fill(one, use, model::use_fields());
      sample.processes.back().uses.push_back(std::move(use));
    }
  }
  return sample;
}

SampleDecoder::SampleDecoder() : state_(std::make_unique<State>()) {}
SampleDecoder::~SampleDecoder() = default;

void SampleDecoder::lose_group() { *state_ = State(); }

std::string end_frame() { return frame("Z"); }

bool is_end_frame(std::string_view payload) { return payload == "Z"; }

bool SampleDecoder::decode(std::string_view payload, std::vector<model::MachineSample>& samples) {
  Reader in(payload);
  const std::uint8_t kind = in.byte();
  if (kind == 'T') return state_->read_names(in);
  if (!state_->in_group) return false;
  bool good = true;
  if (kind == 'E') good = state_->read_entity(in);
  if (kind == 'S') {
    good = state_->read_sample(in);
    if (good) samples.push_back(state_->build());
  }
  state_->in_group = good;  // other kinds are from later versions: skipped
  return good;
}

DecodedFile decode_watch_recording(std::string_view bytes) {
  DecodedFile result;
  SampleDecoder decoder;
  FrameScan scan(bytes);
  while (const auto payload = scan.next()) {
    if (scan.skipped()) decoder.lose_group();
    decoder.decode(*payload, result.samples);
  }
  result.damaged_bytes = scan.damaged_bytes();
  result.good_end = scan.good_end();
  return result;
}

}  // namespace vramfit::watch
