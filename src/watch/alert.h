// Alerts: "mem>90% for 30s". A rule is a quantity, a limit and how long it must hold; it fires once per card when it
// begins to hold, and again only after it ceased to.
#ifndef VRAMFIT_WATCH_ALERT_H
#define VRAMFIT_WATCH_ALERT_H

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/machine.h"

namespace vramfit::watch {

struct AlertRule {
  enum class Quantity : std::uint8_t {
    kMemory,       // mem: % of the card's memory, or bytes
    kFree,         // free: bytes, or %
    kBusy,         // busy: %
    kTemperature,  // temp: C
    kPower,        // power: W, or % of the limit
    kUnexplained,  // unexplained: bytes used by no process
    kEcc,          // ecc: uncorrected errors
    kLost,         // lost: 1 when the card or the driver does not answer
    kHostMemory,   // ram: % of the host's memory, or bytes
    kShm,          // shm: % of /dev/shm, or bytes
    kZombies       // zombies: processes
  };
  std::string text;  // as it was written
  Quantity quantity = Quantity::kMemory;
  bool above = true;  // > or <
  bool or_equal = false;
  bool percent = false;
  double limit = 0;  // %, bytes, C, W or a count
  std::int64_t hold_ns = 0;
  friend bool operator==(const AlertRule&, const AlertRule&) = default;
};

base::Result<AlertRule> parse_alert(std::string_view text);

// "1.5", "30s", "5 min", "10ms", "1h" in nanoseconds; a plain number is seconds.
base::Result<std::int64_t> parse_duration(std::string_view text);

// A rule that holds now.
struct Alert {
  std::string rule, card, name;  // card: UUID, empty for the host; name: for people
  double value = 0;
  std::string text;     // a sentence
  bool is_new = false;  // it began with this sample
};

class AlertWatch {
 public:
  explicit AlertWatch(std::vector<AlertRule> rules) : rules_(std::move(rules)) {}

  // An absent reading neither holds nor ceases to: what held before goes on holding.
  std::vector<Alert> look(const model::MachineSample& sample, std::int64_t now_ns);

 private:
  struct Breach {
    std::int64_t since_ns = 0;
    bool fired = false;
    double value = 0;
  };
  std::vector<AlertRule> rules_;
  std::map<std::pair<std::size_t, std::string>, Breach> breaches_;
};

// Starts `command` with /bin/sh in the background; the alert is in VRAMFIT_ALERT, _ALERT_CARD, _ALERT_NAME,
// _ALERT_VALUE and _ALERT_TEXT. Never waits.
base::Result<void> run_alert_command(const std::string& command, const Alert& alert);
// Takes away what ended.
void reap_alert_commands();

}  // namespace vramfit::watch

#endif
