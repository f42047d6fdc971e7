// SPDX-License-Identifier: Apache-2.0
#include "nvidia_gpus.h"

#include <algorithm>

#include "nvml.h"
#include "visible_gpus.h"

namespace rondo {
namespace {

constexpr const char* kNpuClass = "0x068001";
constexpr size_t kFirstSwitch = 1;  // position in a PciPath of a switch with devices below it

class GpuFinder {
 public:
  GpuFinder(NvmlHost host, const DetectOptions& options, Sysfs& sysfs, PciTree& tree, Machine& machine)
      : host_(std::move(host)), options_(options), sysfs_(sysfs), tree_(tree), machine_(machine) {}

  int add() {
    for (const std::string& sentence : host_.repairs) repair(sentence);
    visible_ = visible_gpus(host_.gpus, options_.visible_devices, machine_.repairs);
    warn_of_order();
    for (size_t dev = 0; dev != visible_.size(); ++dev) add_gpu(static_cast<int>(dev), visible_[dev]);
    find_p2p_below_switches();
    return static_cast<int>(visible_.size());
  }

 private:
  void repair(const std::string& sentence) { machine_.repairs.push_back(options_.nvml + ": " + sentence); }

  /// CUDA numbers all GPUs of the host, the fastest first, before it hides some.
  void warn_of_order() {
    const auto is_other = [&](const NvmlGpu& gpu) { return gpu.sm != host_.gpus.front().sm; };
    if (!options_.is_bus_order && depends_on_numbers(options_.visible_devices) &&
        std::ranges::any_of(host_.gpus, is_other))
      repair(
          "GPUs of several generations are numbered by bus id; CUDA numbers them otherwise unless "
          "CUDA_DEVICE_ORDER=PCI_BUS_ID");
  }

  void add_gpu(int dev, size_t index) {
    const NvmlGpu& gpu = host_.gpus[index];
    PciPath path = pci_path_of_function(sysfs_, gpu.bus_id);
    PciDevice& device = tree_.add_gpu(path, gpu.bus_id);
    device.gpu = GpuInfo{.dev = dev, .sm = gpu.sm, .links = links_of(index)};
    paths_.push_back(std::move(path));
  }

  /// Parallel links, in the order in which NVML has the first of each.
  std::vector<FabricLinks> links_of(size_t index) {
    const NvmlGpu& gpu = host_.gpus[index];
    std::vector<FabricLinks> result;
    if (gpu.mig_enabled) {
      repair(fmt::format("MIG divides {}: {}", gpu.bus_id,
                         gpu.links.empty() ? "taken as one GPU"
                                           : "taken as one GPU without its NVLinks, which no instance has"));
      return result;
    }
    for (const NvmlLink& link : gpu.links) {
      const auto known = std::ranges::find(result, link.bus_id, &FabricLinks::target_bus_id);
      if (known != result.end())
        ++known->count;
      else if (is_usable(link))
        result.push_back(
            {.target = link.target, .target_bus_id = link.bus_id, .target_class = class_of(link)});
    }
    std::erase_if(result, [&](const FabricLinks& links) { return is_refused(index, links); });
    return result;
  }

  std::string class_of(const NvmlLink& link) {
    if (link.target == FabricTarget::NvSwitch) return kNvSwitchClass;
    if (link.target == FabricTarget::Cpu) return kNpuClass;
    return sysfs_.text(pci_function(link.bus_id) + "/class");
  }

  /// Whether it leads to a switch, or to a GPU that can use it.
  bool is_usable(const NvmlLink& link) const {
    return link.target != FabricTarget::Gpu || std::ranges::any_of(visible_, [&](size_t gpu) {
             return host_.gpus[gpu].bus_id == link.bus_id && !host_.gpus[gpu].mig_enabled;
           });
  }

  /// NVLinks can be up and still carry nothing: P2P is turned off, or nothing has set up the NVSwitches.
  bool is_refused(size_t index, const FabricLinks& links) {
    bool has_peer = false;
    for (const size_t other : visible_) {
      const bool is_target = links.target == FabricTarget::Gpu
                                 ? host_.gpus[other].bus_id == links.target_bus_id
                                 : meets_at(other, links);
      if (other == index || !is_target) continue;
      if (host_.peers[index][other].has_nvlinks) return false;
      has_peer = true;
    }
    if (has_peer)
      repair(fmt::format("{} has {} NVLinks to {}, which P2P may not use: left out", host_.gpus[index].bus_id,
                         links.count, links.target_bus_id));
    return has_peer;
  }

  /// Whether a GPU has links to the same switch.
  bool meets_at(size_t gpu, const FabricLinks& links) const {
    return links.target == FabricTarget::NvSwitch && !host_.gpus[gpu].mig_enabled &&
           std::ranges::find(host_.gpus[gpu].links, links.target_bus_id, &NvmlLink::bus_id) !=
               host_.gpus[gpu].links.end();
  }

  /// Of GPUs without NVLinks, which would hide what PCIe allows.
  void find_p2p_below_switches() {
    for (size_t a = 0; a != visible_.size(); ++a) {
      for (size_t b = 0; b != visible_.size(); ++b) {
        const NvmlPeer& peer = host_.peers[visible_[a]][visible_[b]];
        const bool have_switch = a != b && paths_[a].bus_ids.size() > kFirstSwitch + 1 &&
                                 paths_[b].bus_ids.size() > kFirstSwitch + 1 &&
                                 paths_[a].bus_ids[kFirstSwitch] == paths_[b].bus_ids[kFirstSwitch];
        if (!have_switch || peer.has_nvlinks) continue;
        machine_.p2p_below_switches = machine_.p2p_below_switches.value_or(true) && peer.reads_and_writes;
      }
    }
  }

  const NvmlHost host_;
  const DetectOptions& options_;
  Sysfs& sysfs_;
  PciTree& tree_;
  Machine& machine_;
  std::vector<size_t> visible_;  // of host_.gpus, by dev
  std::vector<PciPath> paths_;   // by dev
};

}  // namespace

int add_nvidia_gpus(const DetectOptions& options, Sysfs& sysfs, PciTree& tree, Machine& machine) {
  auto host = read_nvml(options.nvml);
  if (host.ok()) return GpuFinder(host.take(), options, sysfs, tree, machine).add();
  if (const size_t count = gpu_functions(sysfs, kNvidiaVendor).size(); count > 0)
    machine.repairs.push_back(
        fmt::format("{}: {} left out", host.status().message(),
                    count == 1 ? "1 GPU of NVIDIA is" : fmt::format("{} GPUs of NVIDIA are", count)));
  return 0;
}

}  // namespace rondo
