// SPDX-License-Identifier: Apache-2.0
#include "formats/machine_file.h"

#include "formats/hwloc_xml.h"
#include "formats/nccl_xml.h"
#include "formats/nvidia_smi.h"
#include "xml_document.h"

namespace rondo {

Result<Machine> machine_from_file(const std::string& path) {
  RONDO_TRY_ASSIGN(const std::string text, read_file(path));
  if (is_nvidia_smi_table(text)) return machine_from_nvidia_smi(text, path);
  return is_hwloc_xml(text) ? machine_from_hwloc_xml(text, path) : machine_from_nccl_xml(text, path);
}

}  // namespace rondo
