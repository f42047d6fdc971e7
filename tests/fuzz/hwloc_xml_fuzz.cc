// SPDX-License-Identifier: Apache-2.0
// Any text at all as hwloc's XML: it is refused with a sentence, or what is read has a graph that is sound.
#include "formats/hwloc_xml.h"
#include "sound_machine.h"

using namespace rondo;
using namespace rondo::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto machine = machine_from_hwloc_xml({reinterpret_cast<const char*>(data), size}, kSource);
  if (machine.ok())
    (void)require_sound(machine.value());
  else
    require_named(machine.status());
  return 0;
}
