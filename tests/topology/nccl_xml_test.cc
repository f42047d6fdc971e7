// SPDX-License-Identifier: Apache-2.0
// NCCL's topology files: what is read from them and written, refused and repaired.
#include <fstream>
#include <pugixml.hpp>
#include <set>

#include "formats/nccl_xml.h"
#include "graph/missing_parts.h"
#include "machine_content.h"
#include "nccl_host.h"

using namespace rondo;
using namespace rondo::test;

namespace {

std::vector<std::string> lines_of(const TopologyGraph& graph) {
  std::vector<std::string> lines;
  for (const TopologyNode& node : graph.nodes())
    lines.push_back(fmt::format("{} {} {} {} {}", static_cast<int>(node.kind), node.name, node.bus_id,
                                node.dev, node.rank));
  for (const TopologyLink& link : graph.links())
    lines.push_back(
        fmt::format("{} {} {} {} {}", link.from, link.to, link_class_name(link.cls), link.count, link.kBps));
  return lines;
}

/// Every element as "depth name attribute=value ...", attributes sorted; siblings of a name stay in order,
/// but a <nic> comes before a <pci>.
void list_elements(pugi::xml_node element, int depth, std::vector<std::string>& list) {
  std::set<std::string> attributes;
  for (const pugi::xml_attribute attribute : element.attributes())
    attributes.insert(fmt::format("{}={}", attribute.name(), attribute.value()));
  std::string line = fmt::format("{} {}", depth, element.name());
  for (const std::string& attribute : attributes) line += " " + attribute;
  list.push_back(line);
  for (const pugi::xml_node child : element.children())
    if (std::string_view(child.name()) != "pci") list_elements(child, depth + 1, list);
  for (const pugi::xml_node child : element.children("pci")) list_elements(child, depth + 1, list);
}

std::vector<std::string> elements_of(const std::string& text) {
  pugi::xml_document document;
  REQUIRE(document.load_buffer(text.data(), text.size()));
  std::vector<std::string> list;
  list_elements(document.document_element(), 0, list);
  return list;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("every recorded topology is read, and has a graph") {
  for (const std::string& path : recorded_topologies()) {
    CAPTURE(path);
    const auto machine = machine_from_nccl_xml_file(path);
    REQUIRE(machine.status().message() == "");
    const TopologyGraph graph = graph_of(machine.value());
    const bool is_template = path.ends_with(".template.xml");
    CHECK(graph.gpus().empty() == is_template);
    CHECK(missing_parts(machine.value()).empty() != is_template);
  }
}

TEST_CASE("a topology that was read and written is the same when read again, and so is its graph") {
  for (const std::string& path : recorded_topologies()) {
    CAPTURE(path);
    const Machine machine = machine_from_nccl_xml_file(path).take();
    const Machine again = read(nccl_xml(machine));
    CHECK(have_same_content(machine, again));
    CHECK(lines_of(graph_of(machine)) == lines_of(graph_of(again)));
    CHECK(nccl_xml(again) == nccl_xml(machine));
  }
}

TEST_CASE("what is written has every element and attribute that was read") {
  for (const std::string& path : recorded_topologies()) {
    CAPTURE(path);
    const Machine machine = machine_from_nccl_xml_file(path).take();
    if (machine.repairs.empty()) CHECK(elements_of(nccl_xml(machine)) == elements_of(text_of(path)));
  }
}

TEST_CASE("a description is written as NCCL writes it") {
  CHECK(nccl_xml(read(kHost)) == kHost);
  CHECK(nccl_xml(read("<system version='1'><cpu numaid='0'><pci busid='1:2.0'/></cpu></system>")) ==
        "<system version=\"1\">\n  <cpu numaid=\"0\">\n    <pci busid=\"0000:01:02.0\"/>\n  "
        "</cpu>\n</system>\n");
}

TEST_CASE("every attribute and element that NCCL and RCCL know is kept") {
  const std::string text = R"(<system version="2" p2p_below_switches="0" name="a &lt;&amp;&quot;&gt; b">
  <cpu host_hash="0x12" numaid="-1" affinity="f" arch="arm64" affinity_offset="64">
    <pci busid="fffff:ff:1f.7" class="0x060400" vendor="0x1000" link_speed="" link_width="0">
      <pci busid="0000:01:00.0" class="0x120000" link_speed="32.0 GT/s PCIe" link_width="16">
        <gpu dev="3" sm="100" gcn="gfx942" arch="38911" rank="7" gdr="0" mlopart="1">
          <xgmi target="0000:05:00.0" count="2" tclass="0x120000"/>
          <nvlink target="fffffff:ff:ff.0" count="18" tclass="0x068000" more="x"/>
          <c2c bw="44712" count="10"/>
        </gpu>
        <nic keep="1">
          <net name="ib0" dev="2" speed="400000" port="1" latency="0.5" rail="3" plane="1"/>
          <net name="ib1" rail="65537" plane="65538"/>
          <gin name="ib0" dev="2"/>
        </nic>
      </pci>
      <pcilink target="0000:09:00.0"/>
    </pci>
    <nic>
      <net name="eth0"/>
      <rma dev="1"/>
    </nic>
  </cpu>
</system>
)";
  const Machine machine = read(text);
  CHECK(machine.repairs.empty());
  CHECK(nccl_xml(machine) == text);
  CHECK(machine.p2p_below_switches == false);
  CHECK(machine.extra == Attributes{{"name", "a <&\"> b"}});
  const PciDevice& device = machine.numa[0].devices[0].below[0];
  CHECK(device.gpu->gfx == "gfx942");
  CHECK(device.gpu->links[0].target == FabricTarget::Gpu);
  CHECK(device.gpu->links[1].target == FabricTarget::NvSwitch);
  CHECK(device.gpu->links[2].target == FabricTarget::Cpu);
  CHECK(device.gpu->links[2].link_MBps == 44712);
  CHECK(device.ports[0].rail == 3);
  CHECK(device.ports[0].plane == 1);
  CHECK(device.ports[1].rail == -1);  // NCCL's own numbering of what it does not know
  CHECK(device.ports[1].plane == -1);
}

TEST_CASE("the class of its target says where an NVLink ends") {
  const std::vector<std::pair<std::string, FabricTarget>> rows = {
      {"0x030000", FabricTarget::Gpu}, {"0x030200", FabricTarget::Gpu}, {"0x038000", FabricTarget::Gpu},
      {"0x03", FabricTarget::Gpu},     {"0x120000", FabricTarget::Gpu}, {"0x068000", FabricTarget::NvSwitch},
      {"0x068001", FabricTarget::Cpu},
  };
  for (const auto& [cls, target] : rows) {
    CAPTURE(cls);
    const Machine machine = read(changed("tclass=\"0x030200\"", "tclass=\"" + cls + "\""));
    CHECK(machine.repairs.empty());
    CHECK(machine.numa[0].devices[0].gpu->links[0].target == target);
    CHECK(machine.numa[0].devices[0].gpu->links[0].target_class == cls);
  }
}

TEST_CASE("a byte order mark, line ends of Windows, comments and declarations change nothing") {
  const Machine machine = read(kHost);
  std::string windows;
  for (const char c : kHost) windows += c == '\n' ? std::string("\r\n") : std::string(1, c);
  const std::vector<std::string> texts = {
      "\xef\xbb\xbf" + kHost,
      windows,
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- <cpu> & so on -->\n<!DOCTYPE system>\n" + kHost +
          "<!-- end -->",
      changed("<gpu", "<!-- a\nGPU --><gpu"),
      changed("\"", "'"),
      changed("count=\"12\"", "count='0xc'"),
      changed("0000:01:00.0", "00000000:01:00.0"),
      changed("0000:01:00.0", "01:00.0"),
  };
  for (const std::string& text : texts) {
    CAPTURE(text);
    const Machine same = read(text);
    CHECK(same.repairs.empty());
    CHECK(have_same_content(machine, same));
  }
}
