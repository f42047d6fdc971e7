// SPDX-License-Identifier: Apache-2.0
#include "hwloc_nvlinks.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "graph/link_speeds.h"

namespace rondo {
namespace {

constexpr int kMaxObjects = 256;              // of a matrix
constexpr int64_t kMax_MBps = 1'000'000'000;  // between two objects

class NvLinkMatrix {
 public:
  NvLinkMatrix(const XmlDocument& document, pugi::xml_node element, const HwlocObjects& objects,
               Machine& machine)
      : document_(document),
        element_(element),
        objects_(objects),
        machine_(machine),
        line_(document.line(element)) {}

  Status read() {
    RONDO_TRY_ASSIGN(XmlAttributes attributes, XmlAttributes::of(document_, element_));
    RONDO_TRY_ASSIGN(const int size, attributes.integer("nbobjs", 1, kMaxObjects, 0));
    if (size == 0) return wrong("the matrix has no nbobjs: expected the number of its objects");
    size_ = static_cast<size_t>(size);
    if (attributes.has("type") && attributes.text("indexing") != "gp")
      return wrong("the matrix has indexing=\"{}\": expected \"gp\"", shown(attributes.text("indexing")));
    RONDO_TRY(read_indexes());
    return read_values();
  }

  void add_links() {
    join_nvswitches();
    visit_gpus(machine_, [&](PciDevice& device) {
      for (size_t row = 0; row != size_; ++row)
        if (ends_[row] && ends_[row]->kind == HwlocKind::Gpu && ends_[row]->bus_id == device.bus_id)
          add_row(row, *device.gpu);
    });
  }

 private:
  template <typename... Args>
  Status wrong(fmt::format_string<Args...> format, Args&&... args) const {
    return document_.error_at(element_, "{}", fmt::format(format, std::forward<Args>(args)...));
  }

  /// Calls `take` with each word in the elements of a name.
  template <typename Take>
  Status each_word(const char* name, const Take& take) const {
    for (const pugi::xml_node part : element_.children(name)) {
      std::string_view text = part.child_value();
      while (true) {
        text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
        if (text.empty()) break;
        const std::string_view word = text.substr(0, text.find_first_of(" \t\r\n"));
        RONDO_TRY(take(part, word));
        text.remove_prefix(word.size());
      }
    }
    return {};
  }

  Result<int64_t> number(pugi::xml_node part, std::string_view word, int64_t max) const {
    int64_t value = 0;
    const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (problem != std::errc() || end != word.data() + word.size() || value < 0 || value > max)
      return document_.error_at(part, "'{}': expected a whole number from 0 to {}", shown(word), max);
    return value;
  }

  /// "OSDev:802", of a matrix of one type "802".
  Status read_indexes() {
    RONDO_TRY(each_word("indexes", [&](pugi::xml_node part, std::string_view word) -> Status {
      const size_t colon = word.find(':');
      RONDO_TRY_ASSIGN(
          const int64_t gp_index,
          number(part, colon == std::string_view::npos ? word : word.substr(colon + 1), kMaxGpIndex));
      if (ends_.size() == size_) return wrong("more than {} indexes: expected as many as nbobjs says", size_);
      const auto known = objects_.find(gp_index);
      if (known == objects_.end()) {
        add_repair(machine_, document_.line(part),
                   "'{}' is no GPU, NVSwitch or package of this description: its NVLinks are left out",
                   shown(word));
        ends_.push_back(nullptr);
        return {};
      }
      for (const HwlocObject* other : ends_)
        if (other != nullptr && *other == known->second)
          return document_.error_at(part, "'{}' is in the matrix before: expected each object once",
                                    shown(word));
      ends_.push_back(&known->second);
      return {};
    }));
    return ends_.size() == size_ ? Status()
                                 : wrong("{} indexes: expected {}, as nbobjs says", ends_.size(), size_);
  }

  Status read_values() {
    RONDO_TRY(each_word("u64values", [&](pugi::xml_node part, std::string_view word) -> Status {
      RONDO_TRY_ASSIGN(const int64_t value, number(part, word, kMax_MBps));
      if (values_.size() < size_ * size_) values_.push_back(value);
      ++found_;
      return {};
    }));
    return found_ == size_ * size_
               ? Status()
               : wrong("{} values: expected {}, a square of nbobjs", found_, size_ * size_);
  }

  bool is_nvswitch(size_t index) const {
    return ends_[index] != nullptr && ends_[index]->kind == HwlocKind::NvSwitch;
  }

  /// hwloc does not list links between NVSwitches. If they form groups whose GPUs have no NVSwitch in common,
  /// as on the two boards of a DGX-2, all of them get the name of the first: NVIDIA joins them without a
  /// bottleneck.
  void join_nvswitches() {
    std::vector<size_t> group(size_);
    std::iota(group.begin(), group.end(), size_t{0});
    const auto root = [&](size_t index) {
      while (group[index] != index) index = group[index] = group[group[index]];
      return index;
    };
    std::vector<size_t> used;
    for (size_t column = 0; column != size_; ++column) {
      if (!is_nvswitch(column)) continue;
      for (size_t row = 0; row != size_; ++row)
        if (values_[row * size_ + column] > 0 && ends_[row] != nullptr &&
            ends_[row]->kind == HwlocKind::Gpu) {
          group[root(row)] = root(column);
          if (used.empty() || used.back() != column) used.push_back(column);
        }
    }
    std::vector<size_t> roots;
    for (const size_t column : used) roots.push_back(root(column));
    std::ranges::sort(roots);
    const auto groups = std::unique(roots.begin(), roots.end()) - roots.begin();
    if (groups < 2) return;
    joined_ = ends_[used.front()]->bus_id;
    add_repair(machine_, line_,
               "the {} NVSwitches are in {} groups without a GPU in common: taken to be joined as one, with "
               "the bandwidth of all",
               used.size(), groups);
  }

  void add_row(size_t row, GpuInfo& gpu) {
    const int64_t one = nvlink_hwloc_MBps(gpu.sm);
    int64_t odd_MBps = 0;
    for (size_t column = 0; column != size_; ++column) {
      const int64_t MBps = values_[row * size_ + column];
      // The diagonal has a large figure that means nothing.
      if (MBps == 0 || column == row || ends_[column] == nullptr) continue;
      const HwlocObject& end = *ends_[column];
      if (end.kind == HwlocKind::Package && end.package != ends_[row]->package) {
        add_repair(machine_, line_, "{} has NVLinks to a package that it is not in: left out",
                   ends_[row]->bus_id);
        continue;
      }
      const int64_t count = std::clamp<int64_t>(MBps / one, 1, kMaxParallelLinks);
      if (count * one != MBps) odd_MBps = MBps;
      add(gpu, end, static_cast<int>(count));
    }
    if (odd_MBps > 0)
      add_repair(machine_, line_,
                 "{} has {} MB/s by NVLink to one end: expected a multiple of {}; taken to be whole links",
                 ends_[row]->bus_id, odd_MBps, one);
  }

  void add(GpuInfo& gpu, const HwlocObject& end, int count) {
    FabricLinks links;
    links.count = count;
    links.line = line_;
    switch (end.kind) {
      case HwlocKind::Gpu:
        links.target_bus_id = end.bus_id;
        links.target_class = "0x030200";
        break;
      case HwlocKind::NvSwitch:
        links.target = FabricTarget::NvSwitch;
        links.target_bus_id = joined_.empty() ? end.bus_id : joined_;
        links.target_class = kNvSwitchClass;
        break;
      case HwlocKind::Package:
        links.target = FabricTarget::Cpu;
        links.target_bus_id = kHiddenSwitchBusId;
        links.target_class = "0x068001";
        break;
    }
    const auto same = std::ranges::find(gpu.links, links.target_bus_id, &FabricLinks::target_bus_id);
    if (same != gpu.links.end())
      same->count += count;
    else
      gpu.links.push_back(std::move(links));
  }

  const XmlDocument& document_;
  const pugi::xml_node element_;
  const HwlocObjects& objects_;
  Machine& machine_;
  const int line_;
  size_t size_ = 0;
  std::vector<const HwlocObject*> ends_;  // of rows and columns; null: left out
  std::vector<int64_t> values_;           // by row
  size_t found_ = 0;                      // values in the file
  std::string joined_;                    // the bus id that all NVSwitches get, or empty
};

}  // namespace

Status add_hwloc_nvlinks(const XmlDocument& document, pugi::xml_node matrix, const HwlocObjects& objects,
                         Machine& machine) {
  NvLinkMatrix links(document, matrix, objects, machine);
  RONDO_TRY(links.read());
  links.add_links();
  return {};
}

}  // namespace rondo
