// SPDX-License-Identifier: Apache-2.0
#include "synthesis/msccl_algorithm.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "base/error_kinds.h"
#include "formats/msccl_xml.h"
#include "synthesis/msccl_schedules.h"
#include "synthesis/proved.h"

namespace rondo {
namespace {

constexpr int kMaxSlots = 8;  // of MSCCL's connections

/// Sets what the Schedules need: the fewest slots with which they verify, and memory of its own for the
/// output if they do not verify in place.
Status judge(const MscclProgram& program, const std::vector<Schedule>& ranks, Algorithm& row) {
  const Shape shape{.kind = program.collective, .nranks = static_cast<int>(ranks.size())};
  Status status;
  for (row.slots = 1; row.slots <= kMaxSlots; row.slots *= 2) {
    status = prove(shape, ranks, row.slots, false);
    if (status.code() == Code::Unsupported) return status.within(program.source);
    if (!status.ok()) continue;
    row.in_place = prove(shape, ranks, row.slots, true).ok();
    return {};
  }
  return error(ErrorKind::ProgramIsWrong, "{}: it is no {}: {}", program.source,
               collective_name(program.collective), status.message());
}

}  // namespace

bool is_of_msccl(CollectiveKind kind) {
  return std::ranges::find(kMscclCollectives, kind) != kMscclCollectives.end();
}

Result<Algorithm> msccl_algorithm(const char* name, const std::string& path) {
  RONDO_TRY_ASSIGN(const MscclProgram program, msccl_program_from_xml_file(path));
  RONDO_TRY_ASSIGN(std::vector<Schedule> schedules, schedules_of(program));
  const auto ranks = std::make_shared<const std::vector<Schedule>>(std::move(schedules));
  const auto nranks = static_cast<int>(ranks->size());
  Algorithm row{.name = name,
                .kind = program.collective,
                .summary = "as a file of MSCCL says",
                .supports =
                    [nranks](const Shape& shape) {
                      return shape.nranks == nranks && (shape.commutative || !reduces(shape.kind));
                    },
                .build = [ranks](const Shape&, int rank) { return (*ranks)[static_cast<size_t>(rank)]; },
                .max_count = [most = ranks->front().slot_chunks](const Shape&) { return most; },
                .parts = [parts = program.parts](const Shape&) { return parts; }};
  RONDO_TRY(judge(program, *ranks, row));
  return proved(std::move(row), nranks, true);
}

}  // namespace rondo
