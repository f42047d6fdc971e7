// SPDX-License-Identifier: Apache-2.0
// Topology files that are broken, contradict themselves or are made to do harm: each is refused with file,
// line and what was expected, or repaired with a sentence, in bounded time and memory.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <fstream>
#include <functional>
#include <thread>

#include "base/fd.h"
#include "counted_memory.h"
#include "folder.h"
#include "formats/nccl_xml.h"
#include "graph/missing_parts.h"
#include "graph/paths.h"
#include "nccl_host.h"
#include "sanitized.h"

using namespace rondo;
using namespace rondo::test;

namespace {

std::string repeated(size_t times, const std::function<std::string(size_t)>& piece) {
  std::string text;
  for (size_t i = 0; i != times; ++i) text += piece(i);
  return text;
}

std::string times(size_t count, const std::string& piece) {
  return repeated(count, [&](size_t) { return piece; });
}

std::string in_cpu(const std::string& inside) {
  return "<system version='1'><cpu numaid='0'>" + inside + "</cpu></system>";
}

std::string bus_id(size_t i) { return fmt::format("{:04x}:{:02x}:{:02x}.0", i >> 13, i >> 5 & 255, i & 31); }

/// What reading the text and making its graph ends with.
Status outcome_of(const std::string& text) {
  const auto machine = machine_from_nccl_xml(text, "host.xml");
  return machine.ok() ? TopologyGraph::build(machine.value()).status() : machine.status();
}

struct Refused {
  std::string text;
  int line;
  std::string message;
};

void check_refused(const std::vector<Refused>& rows) {
  for (const auto& [text, line, message] : rows) {
    CAPTURE(text);
    const Status status = outcome_of(text);
    CHECK(status.code() == Code::InvalidArgument);
    CHECK(status.message() == fmt::format("host.xml:{}: {}", line, message));
  }
}

const std::string kCutOff = "; the text ends here: is it cut off?";

}  // namespace

TEST_CASE("text that is not XML, or more than that, is refused") {
  check_refused({
      {"", 1, "not well-formed XML: No document element found" + kCutOff},
      {"[]", 1, "not well-formed XML: No document element found" + kCutOff},
      {kHost.substr(0, kHost.find(" sm")), 4,
       "not well-formed XML: Error parsing start element tag" + kCutOff},
      {kHost.substr(0, kHost.find("</cpu")), 18, "not well-formed XML: Start-end tags mismatch" + kCutOff},
      {changed("</cpu>", "</gpu>"), 18, "not well-formed XML: Start-end tags mismatch"},
      {changed("<net ", "<net <!-- --> "), 15, "not well-formed XML: Error parsing start element tag"},
      {changed("dev=\"1\"", "dev=1"), 9, "not well-formed XML: Error parsing element attribute"},
      {changed("dev=\"1\"", "dev=\"1\" dev=\"2\""), 9, "<gpu> has dev twice"},
      {kHost + kHost, 20, "<system> follows the end of <system>: expected nothing"},
      {kHost + "text", 20, "the text 'text' outside of <system>: expected nothing"},
      {changed("<nic>", "<nic>text"), 14, "<nic> contains the text 'text': expected elements only"},
      {changed("<nic>", "<nic><![CDATA[x]]>"), 14, "<nic> contains the text 'x': expected elements only"},
      {changed("mlx5_0", "mlx5\x1b[2J"), 15, "name=\"mlx5?[2J\": expected printable text in UTF-8"},
      {changed("mlx5_0", "mlx5&#27;[2J"), 15, "name=\"mlx5?[2J\": expected printable text in UTF-8"},
      {changed("mlx5_0", "mlx5\xff"), 15, "name=\"mlx5?\": expected printable text in UTF-8"},
      {changed("mlx5_0", std::string(255, 'x')), 15,
       "name=\"" + std::string(64, 'x') + "...\" is longer than 254 bytes"},
      {changed("mlx5_0\"", "\"" + repeated(65, [](size_t i) { return fmt::format(" a{}=''", i); })), 15,
       "<net> has more than 64 attributes"},
      {changed("mlx5_0\"", "\"" + repeated(45, [](size_t i) { return fmt::format(" a{}=''", i); })), 15,
       "<net> has 49 attributes that are not known: expected at most 48"},
      {"<!DOCTYPE system [<!ENTITY a \"b\">]>\n" + changed("mlx5_0", "&a;"), 1,
       "definitions in <!DOCTYPE ...>: expected none, as entities are not expanded"},
      {changed("dev=\"0\" sm", "dev=\"&zero;\" sm"), 4,
       "<gpu> has dev=\"&zero;\": expected a whole number from -1 to 65535"},
      {std::string("<system\0>", 9), 1, "a NUL byte: expected XML in UTF-8"},
      {in_cpu(times(31, "<a>") + times(31, "</a>")), 1,
       "<a> is nested too deeply: expected at most 32 levels"},
  });
}

TEST_CASE("an element that contradicts another, lacks what it is known by, or is out of range is refused") {
  const std::string whole = ": expected a whole number from ";
  const std::string a_bus_id = "\"0000:3b:00.0\" or the like";
  check_refused({
      {"<graphs version=\"1\"/>", 1,
       "<graphs>: expected <system>, as NCCL_TOPO_DUMP_FILE has it; <graphs> is the result of a search, as "
       "NCCL_GRAPH_DUMP_FILE has it"},
      {"<topology/>", 1, "<topology>: expected <system>, as NCCL_TOPO_DUMP_FILE has it"},
      {"<system version=\"1\"/>", 1, "<system> has no <cpu>: expected at least one"},
      {changed("version=\"1\"", "version=\"3\""), 1, "<system> has version=\"3\"" + whole + "1 to 2"},
      {changed(" numaid=\"0\"", ""), 2, "<cpu> has no numaid: expected numaid=\"0\" or the like"},
      {changed("</cpu>", "</cpu><cpu numaid='1' host_hash='0x1'/>"), 18,
       "<cpu> is of another host than the one at line 2, by their host_hash: expected one host"},
      {changed("</cpu>", "</cpu><cpu numaid='0'/>"), 18, "NUMA node 0 is described twice"},
      {changed("</system>",
               repeated(64, [](size_t i) { return fmt::format("<cpu numaid='{}'/>", i + 1); }) + "</system>"),
       19, "more <cpu> than the 64 NUMA nodes that a host may have"},
      {changed("familyid=\"6\"", "familyid=\"six\""), 2,
       "<cpu> has familyid=\"six\"" + whole + "-1 to 2147483647"},
      {changed(" busid=\"0000:02:00.0\"", ""), 8, "<pci> has no busid: expected busid=" + a_bus_id},
      {changed("busid=\"0000:02:00.0\"", "busid=\"two\""), 8,
       "<pci>: busid: 'two' is not a PCI address such as 0000:3b:00.0"},
      {changed("busid=\"0000:02:00.0\"", "busid=\"0000:01:00.0\""), 8,
       "the bus id 0000:01:00.0 is also that of line 3"},
      {changed("link_width=\"16\"", "link_width=\"-1\""), 3,
       "<pci> has link_width=\"-1\"" + whole + "0 to 255"},
      {changed("link_width=\"16\"", "link_width=\"16 \""), 3,
       "<pci> has link_width=\"16 \"" + whole + "0 to 255"},
      {changed("dev=\"1\"", "dev=\"0\""), 9, "GPU 0 is described twice; the other is at line 4"},
      {changed("dev=\"1\"", "dev=\"99999999999999999999\""), 9,
       "<gpu> has dev=\"99999999999999999999\"" + whole + "-1 to 65535"},
      {changed("dev=\"1\"", "dev=\"--9223372036854775808\""), 9,
       "<gpu> has dev=\"--9223372036854775808\"" + whole + "-1 to 65535"},
      {changed("sm=\"80\"", "sm=\"8.0\""), 4, "<gpu> has sm=\"8.0\"" + whole + "0 to 65535"},
      {changed("count=\"12\"", "count=\"-1\""), 5, "<nvlink> has count=\"-1\"" + whole + "0 to 1024"},
      {changed("count=\"12\"", "count=\"1e9\""), 5, "<nvlink> has count=\"1e9\"" + whole + "0 to 1024"},
      {changed("count=\"12\"", "count=\"1000000000\""), 5,
       "<nvlink> has count=\"1000000000\"" + whole + "0 to 1024"},
      {changed(" target=\"0000:01:00.0\"", ""), 10, "<nvlink> has no target: expected target=" + a_bus_id},
      {changed("<nvlink", "<c2c bw='-1'/><nvlink"), 5, "<c2c> has bw=\"-1\"" + whole + "0 to 10000000"},
      {changed("speed=\"200000\"", "speed=\"1e9\""), 15,
       "<net> has speed=\"1e9\"" + whole + "-1 to 10000000000"},
      {changed("speed=\"200000\"", "speed=\"-2\""), 15,
       "<net> has speed=\"-2\"" + whole + "-1 to 10000000000"},
      {changed("speed=\"200000\"", "speed=\"123456789\""), 15,
       "<net> has speed=\"123456789\": expected megabits per second, up to 10000000"},
  });
}

TEST_CASE("what has only one sensible reading is repaired, and a sentence says so") {
  struct Row {
    std::string text;
    int line;
    std::string sentence;
  };
  const Row rows[] = {
      {changed(" version=\"1\"", ""), 1, "<system> has no version: taken to be 1"},
      {changed("speed=\"200000\"", "speed=\"200000000\""), 15,
       "<net> has speed=\"200000000\": taken as kilobits per second, so 200000 Mbit/s"},
      {changed("speed=\"200000\"", "speed=\"1000000000\""), 15,
       "<net> has speed=\"1000000000\": taken as kilobits per second, so 1000000 Mbit/s"},
      {changed("speed=\"200000\"", "speed=\"0\""), 15,
       "the speed of port mlx5_0 is not known: taken to be 10000 Mbit/s"},
      {changed("speed=\"200000\"", "speed=\"-1\""), 15,
       "the speed of port mlx5_0 is not known: taken to be 10000 Mbit/s"},
      {changed(" speed=\"200000\"", ""), 15,
       "the speed of port mlx5_0 is not known: taken to be 10000 Mbit/s"},
      {changed("name=\"mlx5_0\" ", ""), 15, "<net> has no name: called net0"},
      {changed("name=\"mlx5_0\" dev=\"0\" ", ""), 15, "<net> has no name: called net@15"},
      {changed("link_width=\"16\"", "link_width=\"255\""), 3,
       "link_width=\"255\" is more lanes than PCIe has: taken as unknown"},
      {changed(" link_width=\"16\"", ""), 3,
       "the speed of the PCIe link of 0000:01:00.0 is not known: taken to be 24 GB/s"},
      {changed(" link_speed=\"16.0 GT/s PCIe\"", ""), 3,
       "the speed of the PCIe link of 0000:01:00.0 is not known: taken to be 12 GB/s"},
      {changed("16.0 GT/s PCIe", "Unknown"), 3,
       "'Unknown' is not a speed of PCIe, such as '16.0 GT/s PCIe'; 0000:01:00.0 is taken to have 12 GB/s"},
      {changed("tclass=\"0x030200\"", "tclass=\"0x0b4000\""), 5,
       "links have tclass=\"0x0b4000\": 0000:02:00.0 is taken to be the GPU of that bus id"},
      {changed(" tclass=\"0x030200\"", ""), 5,
       "links have tclass=\"\": 0000:02:00.0 is taken to be the GPU of that bus id"},
      {changed("target=\"0000:02:00.0\" count=\"12\" tclass=\"0x030200\"", "target=\"fffffff:ff:ff.0\""), 5,
       "links have tclass=\"\": fffffff:ff:ff.0 is taken to be an NVSwitch"},
      {changed(" count=\"12\"", ""), 5, "<nvlink> has no count: taken to be one link"},
      {changed("count=\"12\"", "count=\"0\""), 5, "<nvlink> has count=\"0\": left out"},
      {changed("<nvlink", "<c2c count='5'/><nvlink"), 5,
       "<c2c> does not say its bandwidth: taken to be that of NVLinks of this GPU"},
      {changed("target=\"0000:02:00.0\"", "target=\"0000:01:00.0\""), 5,
       "gpu0 has links to itself: left out"},
      {changed("target=\"0000:02:00.0\"", "target=\"0000:09:00.0\""), 5,
       "gpu0 has links to 0000:09:00.0, which is not a GPU of this description: left out"},
      {changed("target=\"0000:02:00.0\" count=\"12\"", "target=\"0000:02:00.0\" count=\"3\""), 10,
       "gpu1 has 12 links to gpu0, which has 3 back: taken as described"},
      {changed("<nvlink target=\"0000:02:00.0\" count=\"12\" tclass=\"0x030200\"/>", ""), 10,
       "gpu1 has 12 links to gpu0, which has 0 back: taken as described"},
      {changed("</gpu>", "</gpu><gpu dev='2'/>"), 6, "a second <gpu> in the <pci> of line 3: left out"},
      {changed("</nic>", "</nic><nic/>"), 16,
       "a second <nic> at the same place: its ports are taken to be those of the first"},
      {changed("</nic>", "<net name='mlx5_0'/></nic>"), 16,
       "the port mlx5_0 was described before, at line 15: left out"},
      {changed("gpu", "apu"), 4, "<apu> is not known within <pci>: left out, with 1 more of them"},
      {changed("nvlink", "ccilink"), 5, "<ccilink> is not known within <gpu>: left out, with 1 more of them"},
      {changed("<cpu", "<rack/><cpu"), 2, "<rack> is not known within <system>: left out"},
      {changed("<pci busid=\"0000:01", "<disk/><pci busid=\"0000:01"), 3,
       "<disk> is not known within <cpu>: left out"},
      {changed("<net", "<led/><net"), 15, "<led> is not known within <nic>: left out"},
  };
  for (const auto& [text, line, sentence] : rows) {
    CAPTURE(text);
    const TopologyGraph graph = graph_of(read(text));
    const std::string expected = fmt::format("host.xml:{}: {}", line, sentence);
    CAPTURE(expected, graph.repairs());
    CHECK(std::ranges::count(graph.repairs(), expected) == 1);
  }
}

TEST_CASE("a repaired description needs no repair of the reader when it is read again") {
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{" version=\"1\"", ""},
                                                        {"speed=\"200000\"", "speed=\"200000000\""},
                                                        {"name=\"mlx5_0\" ", ""},
                                                        {"link_width=\"16\"", "link_width=\"255\""},
                                                        {" count=\"12\"", ""},
                                                        {"count=\"12\"", "count=\"0\""},
                                                        {"gpu", "apu"},
                                                        {"</nic>", "</nic><nic/>"}}) {
    CAPTURE(from, to);
    const Machine machine = read(changed(from, to));
    CHECK(!machine.repairs.empty());
    CHECK(read(nccl_xml(machine)).repairs.empty());
  }
}

TEST_CASE("a file that cannot be read is an error that names it") {
  const Folder folder;
  const std::string path = folder / "host.xml";
  CHECK(machine_from_nccl_xml_file(path).status().message() == path + ": No such file or directory");
  CHECK(machine_from_nccl_xml_file(folder.path()).status().message() == folder.path() + ": Is a directory");
  CHECK(machine_from_nccl_xml_file("/dev/zero").status().message() ==
        "/dev/zero: larger than 4194304 bytes: no file of its kind is");
  std::ofstream(path) << kHost;
  CHECK(machine_from_nccl_xml_file(path).ok());
}

TEST_CASE("a pipe is read to its end, and one without a writer does not block") {
  const Folder folder;
  const std::string path = folder / "pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  CHECK(machine_from_nccl_xml_file(path).status().code() == Code::InvalidArgument);
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const Fd source(ends[0]);
  std::thread writer([sink = Fd(ends[1])] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    static_cast<void>(::write(sink.get(), kHost.data(), kHost.size()));
  });
  CHECK(machine_from_nccl_xml_file(fmt::format("/proc/self/fd/{}", source.get())).ok());
  writer.join();
}

TEST_CASE("a description says what it lacks before plans can be searched for") {
  using Missing = std::vector<std::string>;
  CHECK(missing_parts(read(kHost)) == Missing{});
  CHECK(missing_parts(read(changed("gpu", "apu"))) == Missing{"2 PCI devices of class 0x0302 without a GPU"});
  CHECK(missing_parts(read(changed("net", "ten"))) ==
        Missing{"1 PCI device of class 0x0200 without a network port"});
  CHECK(missing_parts(read(in_cpu("<pci busid='1:2.0'/><pci busid='1:3.0'/>"))) ==
        Missing{"2 PCI devices without a class, a GPU or a network port"});
  CHECK(missing_parts(read(changed(" sm=\"80\"", ""))) ==
        Missing{"2 GPUs with links but without a compute capability"});
  CHECK(missing_parts(read(in_cpu(""))) == Missing{"no GPUs"});
}

TEST_CASE("no text takes more than a second or 64 MiB") {
  constexpr size_t kElements = 24'000;
  const auto pci = [](size_t i) { return fmt::format("<pci busid='{}'", bus_id(i)); };
  const auto gpu = [&](size_t i) { return fmt::format("{}><gpu dev='{}'", pci(i), i); };
  const std::string link = "<nvlink count='1' tclass='0x03' target='";
  const std::vector<std::pair<const char*, std::string>> texts = {
      {"5 MiB", std::string(5 << 20, ' ')},
      {"a comment of 4 MB", "<system version='1'><!--" + std::string(4'000'000, '-')},
      {"a value of 4 MB", "<system version='" + std::string(4'000'000, '1') + "'/>"},
      {"a name of 4 MB", "<" + std::string(4'000'000, 'a') + "/>"},
      {"text of 4 MB", "<system>" + std::string(4'000'000, 'a')},
      {"4 million '<'", std::string(4'000'000, '<')},
      {"4 million '&'", "<system a='" + std::string(4'000'000, '&')},
      {"nested until the end", times(kElements, "<pci busid='1:2.0'>")},
      {"nested and closed", times(kElements, "<a>") + times(kElements, "</a>")},
      {"nested groups of a DOCTYPE", "<!DOCTYPE a " + times(400'000, "[<!a ")},
      {"lines", "<system version='1'>" + std::string(3'000'000, '\n') + "<cpu numaid='x'/></system>"},
      {"attributes of one element", "<system" + times(199'000, " a='0123456789abcdef'") + "/>"},
      {"attributes of many", in_cpu(repeated(3'700,
                                             [&](size_t i) {
                                               const auto attribute = [](size_t a) {
                                                 return fmt::format(" a{}='0123456789abcdef'", a);
                                               };
                                               return pci(i) + repeated(46, attribute) + "/>";
                                             }))},
      {"unknown elements", in_cpu(repeated(kElements, [](size_t i) { return fmt::format("<a{}/>", i); }))},
      {"unknown elements by lines",
       in_cpu(repeated(kElements, [](size_t i) { return fmt::format("\n<b{}/>", kElements - i); }))},
      {"NUMA nodes", "<system>" +
                         repeated(kElements, [](size_t i) { return fmt::format("<cpu numaid='{}'/>", i); }) +
                         "</system>"},
      {"the most NUMA nodes",
       "<system>" + repeated(64, [](size_t i) { return fmt::format("<cpu numaid='{}'/>", i); }) +
           "</system>"},
      {"PCI devices", in_cpu(repeated(kElements, [&](size_t i) { return pci(i) + "/>"; }))},
      {"GPUs", in_cpu(repeated(kElements / 2, [&](size_t i) { return gpu(i) + "/></pci>"; }))},
      {"ports",
       in_cpu("<nic>" + repeated(kElements, [](size_t i) { return fmt::format("<net name='{}'/>", i); }) +
              "</nic>")},
      {"ports with planes",
       in_cpu("<nic>" +
              repeated(kElements, [](size_t i) { return fmt::format("<net name='{}' plane='{}'/>", i, i); }) +
              "</nic>")},
      {"ports of one name", in_cpu("<nic>" + times(kElements, "<net name='a'/>") + "</nic>")},
      {"links one way", in_cpu(repeated(kElements / 3,
                                        [&](size_t i) {
                                          return gpu(i) + ">" + link + bus_id((i + 1) % (kElements / 3)) +
                                                 "'/></gpu></pci>";
                                        }))},
      {"NVSwitches", in_cpu(repeated(kElements / 3,
                                     [&](size_t i) {
                                       return gpu(i) + "><nvlink count='1' tclass='0x0680' target='" +
                                              bus_id(i + 30'000) + "'/></gpu></pci>";
                                     }))},
      {"links without a class",
       in_cpu(gpu(0) + ">" +
              repeated(kElements - 10,
                       [](size_t i) { return fmt::format("<nvlink target='{}'/>", bus_id(i)); }) +
              "</gpu></pci>")},
      {"switches", in_cpu(repeated(700,
                                   [&](size_t i) {
                                     std::string chain;
                                     for (size_t depth = 0; depth != 28; ++depth)
                                       chain += pci(28 * i + depth) + ">";
                                     return chain + fmt::format("<gpu dev='{}'/>", i) + times(28, "</pci>");
                                   }))},
  };
  for (const auto& [what, text] : texts) {
    CAPTURE(what);
    const CountedMemory memory;
    const std::clock_t begin = std::clock();
    const Status status = outcome_of(text);
    const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    CAPTURE(seconds, status.message().substr(0, 200));
    CHECK(memory.peak_bytes() < size_t{64} << 20);
    if (!kSanitized) CHECK(seconds < 1);
  }
}

TEST_CASE("every recorded topology is read and has its graph and all paths in 5 ms and 4 MiB") {
  for (const std::string& path : recorded_topologies()) {
    CAPTURE(path);
    double best_ms = 1e9;
    const CountedMemory memory;
    for (int i = 0; i != 10; ++i) {
      const std::clock_t begin = std::clock();
      const TopologyGraph graph = graph_of(machine_from_nccl_xml_file(path).take());
      size_t paths = 0;
      for (const int gpu : graph.gpus()) paths += Paths::summaries(graph, gpu).size();
      CHECK(paths == graph.gpus().size() * graph.nodes().size());
      best_ms = std::min(best_ms, static_cast<double>(std::clock() - begin) * 1e3 / CLOCKS_PER_SEC);
    }
    if (!kSanitized) CHECK(best_ms < 5);
    CHECK(memory.peak_bytes() < size_t{4} << 20);
  }
}
