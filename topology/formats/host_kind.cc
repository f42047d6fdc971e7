// SPDX-License-Identifier: Apache-2.0
// The text: a line for P2P below switches, a line for each repair, an empty line, NCCL's XML.
#include "formats/host_kind.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/error_kinds.h"
#include "formats/nccl_xml.h"

namespace rondo {
namespace {

constexpr std::string_view kP2p[] = {"p2p unknown", "p2p off", "p2p on"};

const char* p2p_line(std::optional<bool> p2p) { return kP2p[p2p ? 1 + *p2p : 0].data(); }

/// Takes the guids of ports for their order.
class PortGuids {
 public:
  void renumber(std::vector<PciDevice>& devices) {
    for (PciDevice& device : devices) {
      renumber(device.ports);
      renumber(device.below);
    }
  }

  void renumber(std::vector<NetPort>& ports) {
    for (NetPort& port : ports)
      for (auto& [name, value] : port.extra)
        if (name == "guid")
          value = fmt::format("{:#x}", orders_.try_emplace(value, orders_.size() + 1).first->second);
  }

 private:
  std::map<std::string, size_t> orders_;
};

/// Up to the next end of a line, which it takes too.
std::optional<std::string_view> take_line(std::string_view& text) {
  const size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

}  // namespace

std::string host_kind_text(Machine machine) {
  PortGuids guids;
  for (NumaNode& numa : machine.numa) {
    std::erase_if(numa.extra, [](const auto& attribute) { return attribute.first == "host_hash"; });
    guids.renumber(numa.devices);
    guids.renumber(numa.ports);
  }
  std::string text = fmt::format("{}\n", p2p_line(machine.p2p_below_switches));
  for (std::string& repair : machine.repairs) {
    std::ranges::replace(repair, '\n', ' ');
    text += repair + "\n";
  }
  return text + "\n" + nccl_xml(machine);
}

Result<Machine> machine_of_host_kind(std::string_view text, std::string source) {
  const auto first = take_line(text);
  const auto p2p = std::ranges::find(kP2p, first.value_or(""));
  if (p2p == std::end(kP2p))
    return error(ErrorKind::FileMalformed, "{}: not the description of a kind of host", source);
  std::vector<std::string> repairs;
  for (auto line = take_line(text); line && !line->empty(); line = take_line(text))
    repairs.emplace_back(*line);
  RONDO_TRY_ASSIGN(Machine machine, machine_from_nccl_xml(text, std::move(source)));
  if (p2p != kP2p) machine.p2p_below_switches = p2p == kP2p + 2;
  machine.repairs.insert(machine.repairs.begin(), repairs.begin(), repairs.end());
  return machine;
}

}  // namespace rondo
