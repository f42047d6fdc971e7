// SPDX-License-Identifier: Apache-2.0
// Any text at all as an algorithm of MSCCL: it is refused with a sentence, or becomes Schedules that the
// verifier can judge; what is written of it, as it is or as these say, is read again.
#include "formats/msccl_xml.h"
#include "fuzz.h"
#include "schedule/verifier.h"
#include "synthesis/msccl_program.h"
#include "synthesis/msccl_schedules.h"

using namespace rondo;
using namespace rondo::fuzz;

namespace {

size_t size_of(const std::vector<Schedule>& ranks) {
  size_t size = 0;
  for (const Schedule& schedule : ranks)
    for (const Lane& lane : schedule.lanes) size += lane.steps.size() + 1;
  return size;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto program = msccl_program_from_xml({reinterpret_cast<const char*>(data), size}, kSource);
  if (!program.ok()) {
    require_named(program.status());
    return 0;
  }
  const std::string written = msccl_xml(program.value());
  const auto again = msccl_program_from_xml(written, kSource);
  require(again.ok() && msccl_xml(again.value()) == written, "what is written is read again");
  const auto ranks = schedules_of(program.value());
  if (!ranks.ok()) {
    require(ranks.status().message().starts_with(kSource), "an error begins with the name of the input");
    return 0;
  }
  if (size_of(ranks.value()) > 500) return 0;
  const Shape shape{.kind = program.value().collective, .nranks = static_cast<int>(ranks.value().size())};
  const Status status = verify(shape, ranks.value(), {.slots = 1, .tiles = 2});
  require(status.ok() || status.code() == Code::InternalError, "the verifier judges it");
  const auto text = msccl_text_of(shape, ranks.value(), kSource);
  if (!text.ok() || !status.ok()) return 0;
  const auto program_again = msccl_program_from_xml(text.value(), kSource);
  require(program_again.ok(), "what is exported is read");
  const auto ranks_again = schedules_of(program_again.value());
  require(ranks_again.ok(), "what is exported runs");
  require(verify(shape, ranks_again.value(), {.slots = 64, .tiles = 2}).ok(), "what is exported verifies");
  return 0;
}
