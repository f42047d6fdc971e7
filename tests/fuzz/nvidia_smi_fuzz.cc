// SPDX-License-Identifier: Apache-2.0
// Any text at all as the table of nvidia-smi: it is refused with a sentence, or what is read has a graph that
// is sound.
#include "formats/nvidia_smi.h"
#include "sound_machine.h"

using namespace rondo;
using namespace rondo::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  is_nvidia_smi_table(text);
  const auto machine = machine_from_nvidia_smi(text, kSource);
  if (machine.ok())
    (void)require_sound(machine.value());
  else
    require_named(machine.status());
  return 0;
}
