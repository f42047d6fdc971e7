// SPDX-License-Identifier: Apache-2.0
// rondo-sums: computes the all_reduce sum of vectors from a file, by one algorithm, between threads.
// numerics.py compares the result with the exact sums.
//
//     rondo-sums list                                              prints the algorithms, one per line
//     rondo-sums TYPE RANKS COUNT INPUT OUTPUT ALGORITHM
//
// INPUT holds COUNT elements for each rank, in rank order; OUTPUT receives rank 0's result. Prints what
// rondo_explain() says about the call. Exits with 4 if the algorithm does not serve that many ranks.
#include <fmt/format.h>
#include <rondo/rondo.h>

#include <charconv>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

enum Outcome { kDone = 0, kBadArguments = 2, kFailed = 3, kUnsupported = 4 };

const std::map<std::string_view, rondo_type_t> kTypes{{"float", RONDO_FLOAT32},
                                                      {"double", RONDO_FLOAT64},
                                                      {"half", RONDO_FLOAT16},
                                                      {"bfloat16", RONDO_BFLOAT16}};

int complain(const std::string& what, Outcome outcome) {
  fmt::print(stderr, "rondo-sums: {}\n", what);
  return outcome;
}

int list_algorithms() {
  const char* names = "";
  if (rondo_algorithm_names("all_reduce", &names) != RONDO_OK)
    return complain(rondo_last_error(nullptr), kFailed);
  for (const char* at = names; *at != '\0'; ++at) std::putchar(*at == ',' ? '\n' : *at);
  std::putchar('\n');
  return kDone;
}

struct SumJob {
  rondo_type_t type = RONDO_FLOAT32;
  int ranks = 0;
  size_t count = 0;
  std::string input, output, algorithm;
};

template <class Number>
bool read_number(std::string_view text, Number& number) {
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failure == std::errc() && end == text.data() + text.size() && number > 0;
}

bool read_job(char** words, SumJob& job) {
  const auto type = kTypes.find(words[1]);
  if (type == kTypes.end() || !read_number(words[2], job.ranks) || !read_number(words[3], job.count))
    return false;
  job.type = type->second;
  job.input = words[4];
  job.output = words[5];
  job.algorithm = std::string("all_reduce=") + words[6];
  return true;
}

/// All ranks have the same status unless the library has a bug; the first failure is returned.
rondo_status_t sum(const SumJob& job, const std::vector<char>& inputs, std::vector<char>& result) {
  rondo_config_t config = RONDO_CONFIG_INITIALIZER;
  config.algorithm = job.algorithm.c_str();
  config.device = "host";
  std::vector<rondo_comm_t> comms(static_cast<size_t>(job.ranks));
  if (const auto status = rondo_init_all(comms.data(), job.ranks, &config); status != RONDO_OK) return status;
  const char* explanation = "";  // remains empty if the calls will be refused
  rondo_explain(comms[0], "all_reduce", job.count, job.type, RONDO_SUM, 0, &explanation);
  std::fputs(explanation, stdout);
  std::vector<rondo_status_t> statuses(comms.size());
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < comms.size(); ++rank)
    threads.emplace_back([&, rank] {
      std::vector<char> own(result.size());
      statuses[rank] = rondo_all_reduce(inputs.data() + rank * own.size(), own.data(), job.count, job.type,
                                        RONDO_SUM, comms[rank], nullptr);
      if (rank == 0) result = std::move(own);
      rondo_destroy(comms[rank]);
    });
  for (std::thread& thread : threads) thread.join();
  for (const rondo_status_t status : statuses)
    if (status != RONDO_OK) return status;
  return RONDO_OK;
}

int run(const SumJob& job) {
  size_t element_bytes = 0;
  rondo_type_size(job.type, &element_bytes);
  std::vector<char> result(job.count * element_bytes);
  std::ifstream file(job.input, std::ios::binary);
  const std::vector<char> inputs{std::istreambuf_iterator<char>(file), {}};
  if (inputs.size() != result.size() * static_cast<size_t>(job.ranks))
    return complain(fmt::format("{} holds {} bytes; {} ranks need {} each", job.input, inputs.size(),
                                job.ranks, result.size()),
                    kBadArguments);
  if (const rondo_status_t status = sum(job, inputs, result); status != RONDO_OK)
    return complain(fmt::format("{}: {}", job.algorithm, rondo_status_string(status)),
                    status == RONDO_UNSUPPORTED ? kUnsupported : kFailed);
  std::ofstream output(job.output, std::ios::binary);
  output.write(result.data(), static_cast<std::streamsize>(result.size()));
  return output.flush() ? kDone : complain("cannot write " + job.output, kFailed);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "list") return list_algorithms();
  SumJob job;
  if (argc != 7 || !read_job(argv, job))
    return complain("usage: rondo-sums list, or rondo-sums TYPE RANKS COUNT INPUT OUTPUT ALGORITHM",
                    kBadArguments);
  return run(job);
}
