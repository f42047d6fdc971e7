// SPDX-License-Identifier: Apache-2.0
#include "schedule/verifier.h"

#include "structure.h"
#include "symbolic_run.h"

namespace rondo {

Status verify(const Shape& shape, const std::vector<Schedule>& ranks, const VerifyOptions& options) {
  RONDO_TRY(check_structure(shape, ranks));
  SymbolicRun run(shape, ranks, options);
  RONDO_TRY(run.run());
  return run.check_results();
}

std::string association(const Shape& shape, const std::vector<Schedule>& ranks, int rank, int output_chunk) {
  SymbolicRun run(shape, ranks, {.tiles = 1});
  return run.run().ok() ? run.association(rank, output_chunk) : std::string();
}

std::vector<Formula> formulas(const Shape& shape, const std::vector<Schedule>& ranks,
                              const FormulaStyle& style) {
  SymbolicRun run(shape, ranks, {.tiles = 1});
  return run.run().ok() ? run.formulas(style) : std::vector<Formula>();
}

}  // namespace rondo
