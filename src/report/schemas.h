// The numbers of the shapes in which results are written: docs/NAME.schema.json describes each.
//
// A number rises when a field is taken away or comes to mean something else. New fields may come at any time: whoever
// reads the JSON has to pass over those that it does not know.
#ifndef VRAMFIT_REPORT_SCHEMAS_H
#define VRAMFIT_REPORT_SCHEMAS_H

namespace vramfit::report {

inline constexpr int kRunSchema = 2;       // run, fit
inline constexpr int kVerifySchema = 1;    // verify
inline constexpr int kCheckSchema = 1;     // check
inline constexpr int kDoctorSchema = 1;    // doctor
inline constexpr int kCausesSchema = 1;    // explain
inline constexpr int kReplaySchema = 2;    // replay
inline constexpr int kSweepSchema = 1;     // sweep
inline constexpr int kGpusSchema = 1;      // gpus
inline constexpr int kRunsSchema = 1;      // runs; show: one of them
inline constexpr int kCompareSchema = 1;   // compare
inline constexpr int kInitSchema = 1;      // init
inline constexpr int kWatchSchema = 1;     // watch: a line of it
inline constexpr int kPeaksSchema = 1;     // watch -- command
inline constexpr int kEstimateSchema = 1;  // estimate
inline constexpr int kEnvSchema = 1;       // env list

}  // namespace vramfit::report

#endif
