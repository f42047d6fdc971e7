// SPDX-License-Identifier: Apache-2.0
// NCCL's description of a host in XML, as NCCL_TOPO_DUMP_FILE writes it and NCCL_TOPO_FILE is read: version
// 1, and version 2 as RCCL has it (xgmi in place of nvlink). Files may come from strangers. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "graph/machine.h"

namespace rondo {

/// `source` is the name of the text in errors and repairs. InvalidArgument, with source, line and what was
/// expected, if it is not such a description. What can be guessed or left out is, and Machine::repairs says
/// it.
Result<Machine> machine_from_nccl_xml(std::string_view text, std::string source);
Result<Machine> machine_from_nccl_xml_file(const std::string& path);

/// The Machine in that format, as NCCL writes it. Reading this gives an equal Machine, but for source, lines
/// and repairs.
std::string nccl_xml(const Machine& machine);

}  // namespace rondo
