// SPDX-License-Identifier: Apache-2.0
#include "formats/machine_file.h"

#include "formats/nccl_xml.h"
#include "formats/nvidia_smi.h"
#include "xml_document.h"

namespace rondo {

Result<Machine> machine_from_file(const std::string& path) {
  RONDO_TRY_ASSIGN(const std::string text, read_file(path));
  return is_nvidia_smi_table(text) ? machine_from_nvidia_smi(text, path) : machine_from_nccl_xml(text, path);
}

}  // namespace rondo
