// SPDX-License-Identifier: Apache-2.0
// Faults in the settings of hosts that exist as folders alone.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "catch.h"
#include "folder.h"
#include "review/host_faults.h"

using namespace rondo;
namespace fs = std::filesystem;

namespace {

constexpr uint8_t kDownstream = 0x62, kUpstream = 0x52, kRootPort = 0x42;  // type and version, as PCIe has it
constexpr uint16_t kRedirect = 0x1d;                                       // as Linux sets it by default

void put(std::string& bytes, size_t at, uint32_t value, size_t count) {
  for (size_t i = 0; i != count; ++i) bytes[at + i] = static_cast<char>(value >> (8 * i) & 0xff);
}

/// A bridge with a PCIe capability behind another, and ACS behind another extended capability.
std::string config(uint8_t port_type, uint16_t acs_control) {
  std::string bytes(4096, '\0');
  put(bytes, 0x34, 0x40, 1);
  put(bytes, 0x40, 0x5001, 2);  // power management; next at 0x50
  put(bytes, 0x50, 0x0010, 2);
  put(bytes, 0x52, port_type, 2);
  put(bytes, 0x100, 0x1480'0001, 4);  // error reporting; next at 0x148
  put(bytes, 0x148, 0x0001'000d, 4);
  put(bytes, 0x14e, acs_control, 2);
  return bytes;
}

/// A root port, a switch with two downstream ports and a GPU below each, and a control group of two CPUs.
class FakeHost {
 public:
  FakeHost() {
    device("0000:00:01.0", "0x060400", config(kRootPort, kRedirect));
    device("0000:00:01.0/0000:01:00.0", "0x060400", config(kUpstream, 0));
    for (const std::string port : {"0000:02:00.0", "0000:02:01.0"})
      device(below_switch(port), "0x060400", config(kDownstream, 0));
    device(below_switch("0000:02:00.0/0000:03:00.0"), "0x030200", "");
    device(below_switch("0000:02:01.0/0000:04:00.0"), "0x030200", "");
    device("0000:00:02.0", "0x030000", "");  // a screen
    write("proc/self/status", "Name:\trank\nCpus_allowed:\tff\nCpus_allowed_list:\t0-3,8\n");
    write("proc/self/limits",
          "Limit   Soft Limit  Hard Limit  Units\nMax locked memory   unlimited  unlimited  bytes\n");
    write("proc/self/cgroup", "0::/job\n");
    write("sys/fs/cgroup/job/cpu.max", "max 100000\n");
  }

  static std::string below_switch(const std::string& device) { return "0000:00:01.0/0000:01:00.0/" + device; }

  void device(const std::string& place, const std::string& pci_class, const std::string& config_bytes) {
    const std::string at = "sys/devices/pci0000:00/" + place, bus_id = fs::path(place).filename();
    write(at + "/class", pci_class + "\n");
    write(at + "/vendor", "0x10d" + std::string(pci_class == "0x030000" ? "f" : "e") + "\n");
    write(at + "/config", config_bytes);
    fs::create_directories(root() + "/sys/bus/pci/devices");
    const std::string link = root() + "/sys/bus/pci/devices/" + bus_id;
    if (!fs::exists(link)) fs::create_symlink("../../../devices/pci0000:00/" + place, link);
  }

  void write(const std::string& path, const std::string& text) const {
    fs::create_directories(fs::path(root() + "/" + path).parent_path());
    std::ofstream(root() + "/" + path, std::ios::binary) << text;
  }

  void write_gpu(const std::string& file, const std::string& text) const {
    for (const std::string gpu : {"0000:02:00.0/0000:03:00.0", "0000:02:01.0/0000:04:00.0"})
      write("sys/devices/pci0000:00/" + below_switch(gpu) + "/" + file, text);
  }

  const std::string& root() const { return folder_.path(); }

  std::vector<std::string> said() const {
    std::vector<std::string> texts;
    for (const MachineFinding& fault : host_faults(root())) {
      CHECK(!fault.advice.empty());
      CHECK(!fault.change);
      texts.push_back(fault.text);
    }
    return texts;
  }

 private:
  const test::Folder folder_;
};

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("a host with settings for collectives has no faults, nor has an empty folder") {
  CHECK(FakeHost().said().empty());
  const test::Folder empty;
  CHECK(host_faults(empty.path()).empty());
}

TEST_CASE("ACS is a fault at downstream ports of switches above GPUs") {
  FakeHost host;
  host.device(FakeHost::below_switch("0000:02:01.0"), "0x060400", config(kDownstream, kRedirect));
  CHECK(host.said() ==
        Texts{"ACS sends what GPUs below one PCI switch exchange up to the CPU, at 1 port: 0000:02:01.0"});
  // Source validation alone redirects nothing.
  host.device(FakeHost::below_switch("0000:02:01.0"), "0x060400", config(kDownstream, 1));
  CHECK(host.said().empty());
  // A port with nothing but a NIC below.
  host.device(FakeHost::below_switch("0000:02:02.0"), "0x060400", config(kDownstream, kRedirect));
  host.device(FakeHost::below_switch("0000:02:02.0/0000:05:00.0"), "0x020000", "");
  CHECK(host.said().empty());
  // An accelerator that is no GPU of NVIDIA or AMD, as detection has it.
  const std::string accelerator = FakeHost::below_switch("0000:02:02.0/0000:06:00.0");
  host.device(accelerator, "0x120000", "");
  CHECK(host.said().size() == 1);
  host.write("sys/devices/pci0000:00/" + accelerator + "/vendor", "0x8086\n");
  CHECK(host.said().empty());
}

TEST_CASE("configurations of root ports, and of bridges without ACS, need not be read") {
  FakeHost host;
  host.device("0000:00:01.0", "0x060400", config(kRootPort, kRedirect).substr(0, 64));
  CHECK(host.said().empty());
  host.device("0000:00:01.0/0000:01:00.0", "0x060400", config(kUpstream, 0).substr(0, 256));
  CHECK(host.said().empty());
  host.device("0000:00:01.0/0000:01:00.0", "0x060400", config(kUpstream, 0).substr(0, 255));
  CHECK(host.said().size() == 1);
}

TEST_CASE("configurations that cannot be read, or whose lists run in circles, are no faults by themselves") {
  FakeHost host;
  const std::string port = FakeHost::below_switch("0000:02:00.0");
  host.device(port, "0x060400", config(kDownstream, kRedirect).substr(0, 64));
  CHECK(host.said() ==
        Texts{"whether ACS redirects what GPUs exchange is not known: the configuration of 1 bridge above "
              "GPUs cannot be read: 0000:02:00.0"});
  std::string circle = config(kDownstream, kRedirect);
  put(circle, 0x100, 0x1001'0001, 4);
  host.device(port, "0x060400", circle);
  CHECK(host.said().empty());
  circle = config(kDownstream, kRedirect);
  put(circle, 0x40, 0x4001, 2);
  host.device(port, "0x060400", circle);
  CHECK(host.said().empty());
  host.device(port, "0x060400", config(kDownstream, kRedirect).substr(0, 0x149));
  CHECK(host.said().empty());
}

TEST_CASE("folders and pipes in place of files read as files that are missing") {
  FakeHost host;
  host.write("sys/class/infiniband/mlx5_0/node_type", "1: CA\n");
  const std::string config = "sys/devices/pci0000:00/" + FakeHost::below_switch("0000:02:00.0") + "/config";
  const Texts unknown = {
      "whether ACS redirects what GPUs exchange is not known: the configuration of 1 bridge above GPUs "
      "cannot "
      "be read: 0000:02:00.0"};
  for (const std::string& file : {config, std::string("proc/self/limits"), std::string("proc/self/cgroup"),
                                  std::string("sys/fs/cgroup/job/cpu.max")}) {
    CAPTURE(file);
    const std::string path = host.root() + "/" + file;
    fs::remove(path);
    fs::create_directory(path);
    CHECK(host.said() == unknown);
    fs::remove(path);
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    CHECK(host.said() == unknown);
  }
}

TEST_CASE("an IOMMU that translates what GPUs address is a fault") {
  FakeHost host;
  host.write_gpu("iommu_group/type", "identity\n");
  CHECK(host.said().empty());
  host.write_gpu("iommu_group/type", "DMA-FQ\n");
  CHECK(host.said() == Texts{"the IOMMU translates addresses of 2 GPUs: 0000:03:00.0 and 0000:04:00.0"});
}

TEST_CASE("little lockable memory is a fault where there is InfiniBand") {
  FakeHost host;
  host.write("proc/self/limits",
             "Limit  Soft Limit  Hard Limit  Units\nMax locked memory  65536  unlimited  bytes\n");
  CHECK(host.said().empty());
  host.write("sys/class/infiniband/mlx5_0/node_type", "1: CA\n");
  CHECK(host.said() ==
        Texts{"this process may lock 64 KiB of memory, and InfiniBand needs all that it transfers"});
  host.write("proc/self/status", "CapEff:\t000001ffffffbfff\n");  // all but CAP_IPC_LOCK
  CHECK(host.said().size() == 1);
  host.write("proc/self/status", "CapEff:\t0000000000004000\n");
  CHECK(host.said().empty());
}

TEST_CASE("a control group with less CPU time than CPUs is a fault") {
  FakeHost host;
  host.write("sys/fs/cgroup/job/cpu.max", "250000 100000\n");
  CHECK(host.said() ==
        Texts{"the control group allows the time of 2.5 of 5 CPUs: beyond it, all threads stop until the "
              "next period"});
  host.write("sys/fs/cgroup/job/cpu.max", "500000 100000\n");
  CHECK(host.said().empty());
}

TEST_CASE("CPUs far from a GPU are a fault if the process may use no others") {
  FakeHost host;
  host.write_gpu("local_cpulist", "8-15\n");
  CHECK(host.said().empty());
  host.write_gpu("local_cpulist", "4-7\n");
  CHECK(host.said() == Texts{"none of the CPUs that this process may use (0-3,8) is near 2 GPUs: "
                             "0000:03:00.0 and 0000:04:00.0"});
}

TEST_CASE("CPUs that are kept at their lowest frequency are a fault") {
  FakeHost host;
  const std::string policy = "sys/devices/system/cpu/cpu0/cpufreq/";
  host.write(policy + "scaling_governor", "powersave\n");
  host.write(policy + "scaling_driver", "acpi-cpufreq\n");
  CHECK(host.said().empty());  // the frequencies are not known
  host.write(policy + "scaling_min_freq", "800000\n");
  host.write(policy + "cpuinfo_max_freq", "3500000\n");
  CHECK(host.said() == Texts{"the governor powersave keeps the CPUs at 0.8 of 3.5 GHz"});
  host.write(policy + "scaling_driver", "intel_pstate\n");
  CHECK(host.said().empty());
  host.write(policy + "scaling_driver", "acpi-cpufreq\n");
  host.write(policy + "scaling_governor", "schedutil\n");
  CHECK(host.said().empty());
}

TEST_CASE("small buffers of TCP are a fault") {
  FakeHost host;
  host.write("proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n");
  host.write("proc/sys/net/ipv4/tcp_wmem", "4096\t16384\t212992\n");
  CHECK(host.said() == Texts{"net.ipv4.tcp_wmem lets a TCP connection have 208 KiB on its way: no more than "
                             "0.21 GB/s where a round trip takes a millisecond"});
  host.write("proc/sys/net/ipv4/tcp_wmem", "a b c\n");
  CHECK(host.said().empty());
}
