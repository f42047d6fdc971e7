// SPDX-License-Identifier: Apache-2.0
#include "formats/nvidia_smi.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <numeric>
#include <span>

#include "base/error_kinds.h"
#include "graph/cpu_list.h"

namespace rondo {
namespace {

constexpr size_t kMaxBytes = size_t{1} << 20;
constexpr size_t kMaxColumns = 256;
constexpr int kMaxLinksOfPair = 64;  // of a GPU to another; today's have 18

// How near two devices are, nearest first; NV# is a row of its own.
constexpr std::array<std::string_view, 6> kRelations = {"X", "PIX", "PXB", "PHB", "NODE", "SYS"};
constexpr int kPix = 1, kPxb = 2, kNode = 4;

/// NVLinks that a GPU of each generation has, and its compute capability.
struct Generation {
  int links;
  int sm;
};
constexpr Generation kGenerations[] = {{4, 60}, {6, 70}, {12, 80}, {18, 90}};

struct Line {
  std::vector<std::string_view> words;
  int number;
};

/// Words of each line; escape sequences, with which it underlines the heading, are left out. Of words, those
/// bytes that are no printable ASCII become '?': names of devices go into messages.
std::vector<Line> lines_of(std::string& text) {
  std::string plain;
  for (size_t i = 0; i != text.size(); ++i) {
    if (text[i] == '\x1b' && i + 1 != text.size() && text[i + 1] == '[') {
      while (i != text.size() && std::isalpha(static_cast<unsigned char>(text[i])) == 0) ++i;
      if (i == text.size()) break;
    } else {
      const bool is_plain =
          (text[i] >= ' ' && text[i] <= '~') || std::string_view("\t\r\n").find(text[i]) < 3;
      plain += is_plain ? text[i] : '?';
    }
  }
  text = std::move(plain);
  std::vector<Line> lines;
  std::string_view rest = text;
  for (int number = 1; !rest.empty(); ++number) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    Line& words = lines.emplace_back(Line{{}, number});
    while (true) {
      const size_t begin = line.find_first_not_of(" \t\r");
      if (begin == std::string_view::npos) break;
      line.remove_prefix(begin);
      words.words.push_back(line.substr(0, line.find_first_of(" \t\r")));
      line.remove_prefix(words.words.back().size());
    }
  }
  return lines;
}

bool is_gpu(std::string_view word) {
  return word.starts_with("GPU") && word.size() > 3 && std::isdigit(static_cast<unsigned char>(word[3])) != 0;
}

/// CPUs "0-3,32" as a mask that the kernel prints: "00000001,0000000f". Empty if they are not a list of CPUs.
std::string mask_of(std::string_view list) {
  constexpr int kWordBits = 32;
  const auto cpus = cpu_list(list);
  if (!cpus || cpus->empty()) return {};
  std::vector<uint32_t> words(static_cast<size_t>(*cpus->rbegin() / kWordBits) + 1);
  for (const int cpu : *cpus) words[static_cast<size_t>(cpu / kWordBits)] |= 1U << (cpu % kWordBits);
  std::ranges::reverse(words);
  return fmt::format("{:08x}", fmt::join(words, ","));
}

class SmiTable {
 public:
  explicit SmiTable(std::string source) { machine_.source = std::move(source); }

  Result<Machine> read(std::string text) {
    const std::vector<Line> lines = lines_of(text);
    size_t next = 0;
    while (next != lines.size() && (lines[next].words.empty() || !is_gpu(lines[next].words.front()))) ++next;
    if (next == lines.size())
      return error(ErrorKind::FileMalformed,
                   "{}: expected the table of nvidia-smi topo -m, which begins with GPU0", machine_.source);
    RONDO_TRY(read_heading(lines[next]));
    for (++next; next != lines.size() && rows_.size() != names_.size(); ++next)
      if (!lines[next].words.empty()) RONDO_TRY(read_row(lines[next]));
    if (rows_.size() != names_.size())
      return error(ErrorKind::FileMalformed, "{}: expected {} rows, one for each column; there are {}",
                   machine_.source, names_.size(), rows_.size());
    read_legend(std::span(lines).subspan(next));
    RONDO_TRY(check_symmetry());
    find_numa_nodes();
    add_devices();
    add_nvlinks();
    return std::move(machine_);
  }

 private:
  struct DeviceRow {
    std::vector<int> relation;  // index of kRelations; kNvLink: NVLinks
    std::vector<int> nvlinks;
    std::string affinity;
    int numa = -1;
    int line = 0;
  };
  static constexpr int kNvLink = -1;

  template <typename... Args>
  Status wrong(int line, fmt::format_string<Args...> format, Args&&... args) const {
    return Status(ErrorKind::FileMalformed,
                  place(machine_, line) + ": " + fmt::format(format, std::forward<Args>(args)...));
  }

  Status read_heading(const Line& line) {
    for (const std::string_view word : line.words) {
      if (word == "CPU") break;
      names_.emplace_back(word);
    }
    if (names_.size() > kMaxColumns)
      return wrong(line.number, "{} columns: expected at most {}", names_.size(), kMaxColumns);
    auto sorted = names_;
    std::ranges::sort(sorted);
    if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
      return wrong(line.number, "the column {} appears twice", *twice);
    gpus_ = static_cast<size_t>(std::ranges::count_if(names_, is_gpu));
    const bool first = std::all_of(names_.begin(), names_.begin() + static_cast<ptrdiff_t>(gpus_), is_gpu);
    return first ? Status() : wrong(line.number, "expected the columns of GPUs before those of NICs");
  }

  Status read_row(const Line& line) {
    const size_t index = rows_.size();
    if (line.words.front() != names_[index])
      return wrong(line.number, "expected the row of {}, as in the heading; found '{}'", names_[index],
                   line.words.front().substr(0, 32));
    if (line.words.size() < names_.size() + 1)
      return wrong(line.number, "expected {} entries; found {}", names_.size(), line.words.size() - 1);
    DeviceRow& row = rows_.emplace_back();
    row.line = line.number;
    for (size_t i = 0; i != names_.size(); ++i) RONDO_TRY(read_entry(row, line, i, index));
    const auto rest = std::span(line.words).subspan(names_.size() + 1);
    if (index < gpus_ && !rest.empty() && rest[0] != "N/A") row.affinity = rest[0];
    if (index < gpus_ && rest.size() > 1) {
      const auto [end, problem] = std::from_chars(rest[1].data(), rest[1].data() + rest[1].size(), row.numa);
      if (problem == std::errc::result_out_of_range || row.numa > kMaxNumaId)
        return wrong(line.number, "NUMA node {}: expected at most {}", rest[1].substr(0, 32), kMaxNumaId);
    }
    return {};
  }

  Status read_entry(DeviceRow& row, const Line& line, size_t column, size_t own) {
    const std::string_view word = line.words[column + 1];
    row.relation.push_back(0);
    row.nvlinks.push_back(0);
    if (word.starts_with("NV")) {
      int& count = row.nvlinks.back();
      const auto [end, problem] = std::from_chars(word.data() + 2, word.data() + word.size(), count);
      if (problem != std::errc() || end != word.data() + word.size() || count < 1 ||
          count > kMaxLinksOfPair || column >= gpus_ || own >= gpus_)
        return wrong(line.number, "'{}' under {}: expected NV1 to NV{}, between two GPUs", word.substr(0, 32),
                     names_[column], kMaxLinksOfPair);
      row.relation.back() = kNvLink;
    } else {
      const auto known = std::ranges::find(kRelations, word);
      if (known == kRelations.end() || (word == "X") != (column == own))
        return wrong(line.number, "'{}' under {}: expected {}", word.substr(0, 32), names_[column],
                     column == own ? "X" : "NV#, PIX, PXB, PHB, NODE or SYS");
      row.relation.back() = static_cast<int>(known - kRelations.begin());
    }
    return {};
  }

  /// "  NIC2: mlx5_2": names of the columns of NICs.
  void read_legend(std::span<const Line> lines) {
    for (const Line& line : lines)
      if (line.words.size() == 2 && line.words[0].ends_with(':'))
        legend_[std::string(line.words[0].substr(0, line.words[0].size() - 1))] = line.words[1];
  }

  Status check_symmetry() const {
    for (size_t a = 0; a != rows_.size(); ++a)
      for (size_t b = a + 1; b != rows_.size(); ++b)
        if (rows_[a].relation[b] != rows_[b].relation[a] || rows_[a].nvlinks[b] != rows_[b].nvlinks[a])
          return wrong(rows_[b].line, "{} and {} are joined in one way at line {} and in another here",
                       names_[a], names_[b], rows_[a].line);
    return {};
  }

  bool is_near(size_t a, size_t b, int relation) const {
    return rows_[a].relation[b] >= 0 && rows_[a].relation[b] <= relation;
  }

  /// The NUMA node of each device: as its GPU's row says, else that of a device that is not across sockets.
  void find_numa_nodes() {
    std::map<std::string, int> of_affinity;
    numa_.assign(names_.size(), -1);
    for (size_t i = 0; i != gpus_; ++i) {
      const int fallback =
          of_affinity.emplace(rows_[i].affinity, static_cast<int>(of_affinity.size())).first->second;
      numa_[i] = rows_[i].numa >= 0 ? rows_[i].numa : fallback;
    }
    for (size_t i = gpus_; i != names_.size(); ++i) {
      for (size_t other = 0; other != i && numa_[i] < 0; ++other)
        if (is_near(i, other, kNode)) numa_[i] = numa_[other];
      if (numa_[i] < 0) numa_[i] = *std::ranges::max_element(numa_) + 1;
    }
  }

  std::string bus_id(size_t device) const {
    return fmt::format("{:04x}:{:02x}:00.0", (device + 1) >> 8, (device + 1) & 0xff);
  }

  PciDevice device(size_t index) const {
    PciDevice result;
    result.bus_id = bus_id(index);
    result.line = rows_[index].line;
    if (index < gpus_) {
      result.pci_class = "0x030200";
      result.gpu = GpuInfo{.dev = static_cast<int>(index), .line = rows_[index].line};
      return result;
    }
    result.pci_class = "0x020700";
    result.has_nic = true;
    const auto name = legend_.find(names_[index]);
    result.ports = {NetPort{.name = name != legend_.end() ? name->second : names_[index],
                            .dev = static_cast<int>(index - gpus_),
                            .line = rows_[index].line}};
    return result;
  }

  /// The first device of the group of each: devices are of one group if a chain of such relations joins them,
  /// since NVLinks hide the relation of GPUs that a NIC shows.
  std::vector<size_t> groups(int relation) const {
    std::vector<size_t> group(names_.size());
    std::iota(group.begin(), group.end(), size_t{0});
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t a = 0; a != group.size(); ++a)
        for (size_t b = 0; b != group.size(); ++b)
          if (is_near(a, b, relation) && group[a] < group[b]) group[b] = group[a], changed = true;
    }
    return group;
  }

  /// A switch for the devices of each PIX group, and one above for the groups that are PXB to one another.
  void add_devices() {
    const std::vector<size_t> below_switch = groups(kPix), below_switches = groups(kPxb);
    std::map<size_t, std::map<size_t, std::vector<PciDevice>>> devices;
    for (size_t i = 0; i != names_.size(); ++i)
      devices[below_switches[i]][below_switch[i]].push_back(device(i));
    std::map<int, NumaNode> nodes;
    size_t switches = names_.size();
    const auto bridge = [&](std::vector<PciDevice> below) {
      PciDevice result;
      result.bus_id = bus_id(switches++);
      result.pci_class = "0x060400";
      result.line = below.front().line;
      result.below = std::move(below);
      return result;
    };
    for (auto& [first, of_switch] : devices) {
      NumaNode& numa = nodes[numa_[first]];
      numa.id = numa_[first];
      if (first < gpus_) numa.affinity = mask_of(rows_[first].affinity);
      std::vector<PciDevice> here;
      for (auto& [_, below] : of_switch)
        here.push_back(below.size() + of_switch.size() > 2 ? bridge(std::move(below))
                                                           : std::move(below.front()));
      numa.devices.push_back(here.size() > 1 ? bridge(std::move(here)) : std::move(here.front()));
    }
    for (auto& [id, numa] : nodes) machine_.numa.push_back(std::move(numa));
  }

  static void visit_gpus(std::vector<PciDevice>& devices, const auto& change) {
    for (PciDevice& device : devices) {
      if (device.gpu) change(*device.gpu);
      visit_gpus(device.below, change);
    }
  }

  /// More links than any GPU has, if each pair had its own, go through NVSwitches.
  void add_nvlinks() {
    int most = 0, widest = 0;
    for (size_t i = 0; i != gpus_; ++i) {
      most = std::max(most, std::accumulate(rows_[i].nvlinks.begin(), rows_[i].nvlinks.end(), 0));
      widest = std::max(widest, *std::ranges::max_element(rows_[i].nvlinks));
    }
    if (most == 0) return;
    const bool switched = most > std::end(kGenerations)[-1].links;
    const int links = switched ? widest : most;
    const Generation* known =
        std::ranges::find_if(kGenerations, [&](const Generation& row) { return links <= row.links; });
    const int sm = known == std::end(kGenerations) ? std::end(kGenerations)[-1].sm : known->sm;
    machine_.repairs.push_back(fmt::format(
        "{}: the table does not name the GPUs' generation: {} NVLinks each{} are taken for those of compute "
        "capability {}.{}",
        machine_.source, links, switched ? " to NVSwitches" : "", sm / 10, sm % 10));
    for (NumaNode& numa : machine_.numa)
      visit_gpus(numa.devices, [&](GpuInfo& gpu) {
        gpu.sm = sm;
        const auto own = static_cast<size_t>(gpu.dev);
        if (switched) {
          const int count = *std::ranges::max_element(rows_[own].nvlinks);
          if (count > 0)
            gpu.links.push_back({.target = FabricTarget::NvSwitch,
                                 .target_bus_id = kHiddenSwitchBusId,
                                 .target_class = kNvSwitchClass,
                                 .count = count,
                                 .line = gpu.line});
          return;
        }
        for (size_t other = 0; other != gpus_; ++other)
          if (rows_[own].nvlinks[other] > 0)
            gpu.links.push_back({.target = FabricTarget::Gpu,
                                 .target_bus_id = bus_id(other),
                                 .target_class = "0x030200",
                                 .count = rows_[own].nvlinks[other],
                                 .line = gpu.line});
      });
  }

  Machine machine_;
  std::vector<std::string> names_;  // of columns, GPUs first
  size_t gpus_ = 0;
  std::vector<DeviceRow> rows_;
  std::map<std::string, std::string> legend_;
  std::vector<int> numa_;
};

}  // namespace

bool is_nvidia_smi_table(std::string_view text) {
  const size_t word = text.find("GPU0");
  return word != std::string_view::npos && text.find('<') > word;
}

Result<Machine> machine_from_nvidia_smi(std::string_view text, std::string source) {
  if (text.size() > kMaxBytes)
    return error(ErrorKind::FileTooLarge, "{}: {} bytes: expected a table of at most {}", source, text.size(),
                 kMaxBytes);
  return SmiTable(std::move(source)).read(std::string(text));
}

}  // namespace rondo
