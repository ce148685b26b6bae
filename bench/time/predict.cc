// The time model on rows of a file, for figures that are told it: what bench/time/run fits and scores with.
//
//   bench_step_time cards.toml lists.csv rows.csv      then on stdin, a line each:
//     figure NAME VALUE     of TimeFigures, for every card (default: the program's own)
//     card KEY VECTOR TENSOR BANDWIDTH HALVED          factors of one card
//     own                   the program's own figures, of every card
//     figures               answers those of a card that was not measured: NAME VALUE, a line each, and an empty line
//     cards                 answers by which factors each card's are others: KEY FACTORS
//     predict               answers a line for each row: seconds by the model, by the roofline, and of the model's
//                           those of products and convolutions, of passes over memory, and of the host's launches
//
// lists.csv: list,kind,number,rows,columns,inner,batch,bytes,count,elements.  rows.csv: list,card,...
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "devices/operator_time.h"
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
    if (row.size() > 9) work.elements = std::stod(row[9]);
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
  double vector = 1, tensor = 1, bandwidth = 1, halved = 1;
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
      words >> factors.vector >> factors.tensor >> factors.bandwidth >> factors.halved;
    } else if (verb == "own") {
      own_ = true;
    } else if (verb == "predict") {
      predict();
    } else if (verb == "figures") {
      tell_figures();
    } else if (verb == "cards") {
      tell_cards();
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
      figures.halved *= found->second.halved;
    }
    return figures;
  }

  static void tell_figures() {
    TimeFigures figures = vramfit::devices::find_time_figures(Card{});
    for (const std::string_view name : vramfit::devices::figure_names()) {
      std::cout << name << ' ' << *vramfit::devices::find_figure(figures, name) << '\n';
    }
    std::cout << std::endl;
  }

  void tell_cards() const {
    const TimeFigures of_all = vramfit::devices::find_time_figures(Card{});
    for (const Card& card : cards_) {
      const TimeFigures own = vramfit::devices::find_time_figures(card);
      if (own == of_all) continue;
      std::cout << card.key << ' ' << own.vector / of_all.vector << ' ' << own.tensor / of_all.tensor << ' '
                << own.bandwidth / of_all.bandwidth << ' ' << own.halved / of_all.halved << '\n';
    }
    std::cout << std::endl;
  }

  static std::array<double, 3> kinds_of(const Row& row, const TimeFigures& figures) {
    std::array<double, 3> seconds{};
    for (const OperatorWork& one : *row.work->operators) {
      seconds[2] += figures.launch_seconds * one.count;
      seconds[one.kind == OperatorWork::Kind::kMemory ? 1 : 0] +=
          vramfit::devices::estimate_kernel_seconds(*row.card, one, figures) * one.count;
    }
    return seconds;
  }

  void predict() const {
    for (const Row& row : rows_) {
      const TimeFigures figures = figures_of(*row.card);
      std::cout << vramfit::devices::estimate_step_seconds(*row.card, *row.work, figures) << ' '
                << vramfit::devices::estimate_roofline_seconds(*row.card, *row.work);
      for (const double seconds : kinds_of(row, figures)) std::cout << ' ' << seconds;
      std::cout << '\n';
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
