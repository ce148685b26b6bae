// The time model on rows of a file, for figures that are told it: what bench/time/run fits and scores with.
//
//   bench_step_time cards.toml lists.csv rows.csv      then on stdin, a line each:
//     figure NAME VALUE     of TimeFigures, for every card (default: the program's own)
//     card KEY VECTOR TENSOR BANDWIDTH                 factors of one card
//     own                   the program's own figures, of every card
//     predict               answers a line for each row: seconds by the model, seconds by the roofline
//
// lists.csv: list,kind,number,rows,columns,inner,batch,bytes,count.  rows.csv: list,card,...
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "devices/time_model.h"
#include "ingest/cards.h"

namespace {

using vramfit::devices::TimeFigures;
using vramfit::model::Card;
using vramfit::model::OperatorWork;
using vramfit::model::StepWork;

using Lists = std::map<std::string, std::vector<OperatorWork>>;

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> parts;
  std::stringstream stream(line);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

template <typename Use>
void for_each_row(const char* path, Use use) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);  // the header
  while (std::getline(file, line)) use(split(line));
}

Lists read_lists(const char* path) {
  Lists lists;
  std::string list;  // named in its first line only
  for_each_row(path, [&](const std::vector<std::string>& row) {
    OperatorWork work;
    work.kind = row[1] == "memory"    ? OperatorWork::Kind::kMemory
                : row[1] == "product" ? OperatorWork::Kind::kProduct
                                      : OperatorWork::Kind::kConvolution;
    work.number = static_cast<vramfit::model::Number>(std::stoi(row[2]));
    double* const fields[] = {&work.rows, &work.columns, &work.inner, &work.batch, &work.bytes, &work.count};
    for (std::size_t i = 0; i < std::size(fields); ++i) *fields[i] = std::stod(row[3 + i]);
    if (!row[0].empty()) list = row[0];
    lists[list].push_back(work);
  });
  return lists;
}

StepWork work_of(const std::vector<OperatorWork>& operators) {
  StepWork work;
  for (const OperatorWork& one : operators) {
    if (one.kind == OperatorWork::Kind::kMemory) {
      work.launches += one.count;
      work.other_bytes += one.bytes * one.count;
      continue;
    }
    work.macs[static_cast<std::size_t>(one.number)] += one.rows * one.columns * one.inner * one.batch * one.count;
    work.matmul_bytes += one.bytes * one.count;
  }
  work.operators = std::make_shared<std::vector<OperatorWork>>(operators);
  return work;
}

struct Row {
  const Card* card;
  const StepWork* work;
};

struct Factors {
  double vector = 1, tensor = 1, bandwidth = 1;
};

class Predictor {
 public:
  Predictor(std::vector<Card> cards, const Lists& lists, const char* rows) : cards_(std::move(cards)) {
    for (const auto& [name, operators] : lists) works_[name] = work_of(operators);
    for_each_row(rows, [&](const std::vector<std::string>& row) {
      for (const Card& card : cards_) {
        if (card.key == row[1]) rows_.push_back({&card, &works_.at(row[0])});
      }
    });
  }

  void obey(const std::string& line) {
    std::stringstream words(line);
    std::string verb, name;
    words >> verb >> name;
    if (verb == "figure") {
      own_ = false;
      if (double* figure = vramfit::devices::find_figure(figures_, name)) words >> *figure;
    } else if (verb == "card") {
      Factors& factors = factors_[name];
      words >> factors.vector >> factors.tensor >> factors.bandwidth;
    } else if (verb == "own") {
      own_ = true;
    } else if (verb == "predict") {
      predict();
    }
  }

 private:
  TimeFigures figures_of(const Card& card) const {
    if (own_) return vramfit::devices::find_time_figures(card);
    TimeFigures figures = figures_;
    if (const auto found = factors_.find(card.key); found != factors_.end()) {
      figures.vector *= found->second.vector;
      figures.tensor *= found->second.tensor;
      figures.bandwidth *= found->second.bandwidth;
    }
    return figures;
  }

  void predict() const {
    for (const Row& row : rows_) {
      std::cout << vramfit::devices::estimate_step_seconds(*row.card, *row.work, figures_of(*row.card)) << ' '
                << vramfit::devices::estimate_roofline_seconds(*row.card, *row.work) << '\n';
    }
    std::cout << std::flush;
  }

  std::vector<Card> cards_;
  std::map<std::string, StepWork> works_;
  std::vector<Row> rows_;
  TimeFigures figures_;
  std::map<std::string, Factors> factors_;
  bool own_ = true;
};

}  // namespace

int main(int count, char** words) {
  if (count != 4) return 2;
  auto cards = vramfit::ingest::read_cards(words[1]);
  if (!cards) return 1;
  Predictor predictor(std::move(*cards), read_lists(words[2]), words[3]);
  for (std::string line; std::getline(std::cin, line);) predictor.obey(line);
}
