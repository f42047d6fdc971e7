// SPDX-License-Identifier: Apache-2.0
// Any text at all as a topology file: it is refused with a sentence, or what is read can be written and read
// again, and has a graph that is sound.
#include "formats/nccl_xml.h"
#include "machine_content.h"
#include "sound_machine.h"

using namespace rondo;
using namespace rondo::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto machine = machine_from_nccl_xml({reinterpret_cast<const char*>(data), size}, kSource);
  if (!machine.ok()) {
    require_named(machine.status());
    return 0;
  }
  const auto graph = require_sound(machine.value());

  const std::string text = nccl_xml(machine.value());
  const auto again = machine_from_nccl_xml(text, kSource);
  require(again.ok(), "what is written is read");
  require(test::have_same_content(machine.value(), again.value()), "what is written and read is the same");

  const auto graph_again = TopologyGraph::build(again.value());
  require(graph.ok() == graph_again.ok(), "what is read again has a graph if it had one");
  if (!graph.ok()) return 0;
  require(graph.value().nodes().size() == graph_again.value().nodes().size() &&
              graph.value().links().size() == graph_again.value().links().size(),
          "what is read again has the same graph");
  return 0;
}
