#include "doctor/not_run.h"

#include <gtest/gtest.h>

#include "doctor/diagnose.h"

namespace vramfit::doctor {
namespace {

model::TextFile file_of(const std::string& name, const std::string& text) {
  model::TextFile file;
  file.name = name;
  file.sample = text;
  file.lines = 3;
  file.looks = model::TextLooks::kLog;  // names of settings and what a script prints look like it
  return file;
}

model::Diagnosis diagnose_file(const std::string& name, const std::string& text) {
  Case given;
  given.texts.files = {file_of(name, text)};
  return diagnose(given);
}

TEST(NotRun, a_script_is_not_well_before_it_ran) {
  const model::Diagnosis diagnosis = diagnose_file("leak5.py", "losses.append(loss)\n");
  EXPECT_TRUE(diagnosis.trouble);
  ASSERT_EQ(diagnosis.findings.size(), 1u);
  const model::Finding& finding = diagnosis.findings.front();
  EXPECT_EQ(finding.label, "unknown");
  EXPECT_EQ(finding.severity, model::Severity::kWarning);
  EXPECT_EQ(diagnosis.verdict, "Can't tell from this (VF001). leak5.py is a program's source, and it was not run.");
  ASSERT_EQ(finding.fixes.size(), 1u);
  EXPECT_EQ(finding.fixes[0].command, "vramfit doctor --gpu CARD -- python leak5.py");
}

TEST(NotRun, settings_packages_and_job_scripts_are_not_well_either) {
  for (const char* name : {"config.yaml", "ds.json", "requirements.txt", "pyproject.toml", "model.cu"}) {
    EXPECT_TRUE(diagnose_file(name, "x: 1\n").trouble) << name;
  }
  const model::Diagnosis job =
      diagnose_file("job.sh", "#!/bin/bash\n# python old.py\npip install x\nsrun python train.py --batch 8 > log\n");
  EXPECT_EQ(job.findings.front().fixes.front().command, "vramfit doctor --gpu CARD -- python train.py --batch 8");
}

TEST(NotRun, source_of_whatever_language_is_not_well_before_it_ran) {
  for (const char* name : {"Train.java", "train.m", "train.jl", "main.go", "src/main.rs", "Train.kt", "net.swift"}) {
    const model::Diagnosis diagnosis = diagnose_file(name, "step 1 loss 0.5\n");
    EXPECT_TRUE(diagnosis.trouble) << name;
    EXPECT_NE(diagnosis.verdict.find(" is a program's source, and it was not run."), std::string::npos) << name;
  }
  Case given;
  given.texts.files = {file_of(model::kStandardInput, "fn main() {\n}\n")};
  given.texts.files[0].program = model::ProgramIn::kOther;
  EXPECT_NE(diagnose(given).verdict.find(" is a program's source, and it was not run."), std::string::npos);
}

TEST(NotRun, source_is_known_by_its_content_too) {
  Case given;
  given.texts.files = {file_of("notes.txt", "import torch\n")};
  given.texts.files[0].program = model::ProgramIn::kPython;
  EXPECT_EQ(diagnose(given).findings.front().fixes.front().command, "vramfit doctor --gpu CARD -- python notes.txt");
  given.texts.files[0].name = model::kStandardInput;
  EXPECT_EQ(diagnose(given).findings.front().fixes.front().command,
            "vramfit doctor --gpu CARD -- python YOUR_SCRIPT.py");
  given.texts.files[0].program = model::ProgramIn::kNotebook;
  EXPECT_EQ(diagnose(given).verdict, "Can't tell from this (VF001). standard input is a notebook, and it was not run.");
}

TEST(NotRun, settings_and_packages_are_told_whatever_their_name) {
  Case given;
  for (const char* name : {"run.log", model::kStandardInput}) {
    given.texts.files = {file_of(name, "model: resnet50\n")};
    given.texts.files[0].settings = model::SettingsIn::kSettings;
    EXPECT_NE(diagnose(given).verdict.find(" is a file of settings, and it was not run."), std::string::npos) << name;
    given.texts.files[0].settings = model::SettingsIn::kPackages;
    EXPECT_NE(diagnose(given).verdict.find(" is a list of packages"), std::string::npos) << name;
    given.texts.files[0].complete = false;
    EXPECT_EQ(diagnose(given).verdict.find(" is a list of packages"), std::string::npos) << "the rest may be a log";
  }
}

TEST(NotRun, a_log_is_well_and_the_script_beside_it_is_told) {
  EXPECT_FALSE(diagnose_file("train.log", "step 1 loss 0.5\n").trouble);
  EXPECT_FALSE(diagnose_file("trainer_state.json", "{\"log_history\": [{\"loss\": 0.5}]}\n").trouble);
  Case given;
  given.texts.files = {file_of("train.log", "step 1 loss 0.5\n"), file_of("train.py", "import torch\n")};
  const model::Diagnosis diagnosis = diagnose(given);
  EXPECT_FALSE(diagnosis.trouble);
  ASSERT_EQ(diagnosis.warnings.size(), 1u);
  EXPECT_TRUE(diagnosis.warnings[0].starts_with("train.py is a program's source, and it was not run"));
}

}  // namespace
}  // namespace vramfit::doctor
