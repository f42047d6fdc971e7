// SPDX-License-Identifier: Apache-2.0
// Reads <graphs> <graph> <channel> <gpu> and <net>.
#include <charconv>
#include <limits>
#include <set>

#include "formats/nccl_graph.h"
#include "xml_document.h"

namespace rondo {
namespace {

constexpr int kMaxId = std::numeric_limits<int>::max();
constexpr int kMaxChannels = 64;                                  // that NCCL has
constexpr int64_t kMaxDev = std::numeric_limits<int64_t>::max();  // NCCL adds the number of the host
constexpr int kDecimals = 6;
constexpr int64_t kMaxSpeed_GBps = 1'000'000;

class GraphsReader {
 public:
  explicit GraphsReader(const XmlDocument& document) : document_(document) {}

  Result<NcclGraphs> read() {
    const pugi::xml_node root = document_.root();
    if (std::string_view(root.name()) != "graphs")
      return document_.error_at(
          root, "<{}>: expected <graphs>, as NCCL_GRAPH_DUMP_FILE has it{}", shown(root.name()),
          std::string_view(root.name()) == "system" ? "; <system> is the machine, as NCCL_TOPO_FILE has it"
                                                    : "");
    NcclGraphs graphs{document_.source(), {}, {}};
    RONDO_TRY_ASSIGN(XmlAttributes attributes, XmlAttributes::of(document_, root));
    RONDO_TRY(integer(attributes, root, "version", 1, 1).status());
    RONDO_TRY_ASSIGN(graphs.extra, attributes.rest());
    std::set<int> ids;
    for (const pugi::xml_node child : root.children()) {
      RONDO_TRY(expect(child, {"graph"}));
      RONDO_TRY_ASSIGN(NcclGraph graph, read_graph(child));
      if (!ids.insert(graph.id).second)
        return document_.error_at(child, "a second <graph> with id=\"{}\": expected one", graph.id);
      graphs.graphs.push_back(std::move(graph));
    }
    if (graphs.graphs.empty())
      return document_.error_at(root, "<graphs> has no <graph>: expected at least one");
    return graphs;
  }

 private:
  Status expect(pugi::xml_node element, std::initializer_list<std::string_view> names) const {
    if (element.type() != pugi::node_element) return {};
    std::string expected;
    for (const std::string_view name : names) {
      if (name == element.name()) return {};
      expected += fmt::format("{}<{}>", expected.empty() ? "" : " or ", name);
    }
    return document_.error_at(element, "<{}> within <{}>: expected {}", shown(element.name()),
                              shown(element.parent().name()), expected);
  }

  Status require(const XmlAttributes& attributes, pugi::xml_node element, const char* name) const {
    const std::string_view value = element.attribute(name).value();
    if (attributes.has(name) && !value.empty()) return {};
    return document_.error_at(element, "<{}> has no {}: NCCL would refuse the file", element.name(), name);
  }

  Result<int> integer(XmlAttributes& attributes, pugi::xml_node element, const char* name, int min,
                      int max) const {
    RONDO_TRY(require(attributes, element, name));
    return attributes.integer(name, min, max, 0);
  }

  Result<NcclGraph> read_graph(pugi::xml_node element) const {
    NcclGraph graph;
    graph.line = document_.line(element);
    RONDO_TRY_ASSIGN(XmlAttributes attributes, XmlAttributes::of(document_, element));
    RONDO_TRY_ASSIGN(graph.id, integer(attributes, element, "id", 0, kMaxId));
    RONDO_TRY_ASSIGN(graph.pattern, integer(attributes, element, "pattern", kNcclBalancedTree, kNcclCollnet));
    RONDO_TRY_ASSIGN(graph.cross_nic, integer(attributes, element, "crossnic", 0, 2));
    RONDO_TRY_ASSIGN(const int channels, integer(attributes, element, "nchannels", 0, kMaxChannels));
    RONDO_TRY_ASSIGN(graph.intra_kBps, speed(attributes, element, "speedintra"));
    RONDO_TRY_ASSIGN(graph.inter_kBps, speed(attributes, element, "speedinter"));
    RONDO_TRY_ASSIGN(graph.intra, path_class(attributes, element, "typeintra"));
    RONDO_TRY_ASSIGN(graph.inter, path_class(attributes, element, "typeinter"));
    RONDO_TRY_ASSIGN(const int same, integer(attributes, element, "samechannels", 0, 1));
    graph.same_channels = same == 1;
    RONDO_TRY_ASSIGN(graph.extra, attributes.rest());
    for (const pugi::xml_node child : element.children()) {
      RONDO_TRY(expect(child, {"channel"}));
      RONDO_TRY_ASSIGN(NcclChannel channel, read_channel(child));
      graph.channels.push_back(std::move(channel));
    }
    if (std::ssize(graph.channels) != channels)
      return document_.error_at(element, "<graph> has nchannels=\"{}\", but {} <channel>: expected as many",
                                channels, graph.channels.size());
    return graph;
  }

  Result<NcclChannel> read_channel(pugi::xml_node element) const {
    NcclChannel channel;
    channel.line = document_.line(element);
    RONDO_TRY_ASSIGN(const XmlAttributes attributes, XmlAttributes::of(document_, element));
    RONDO_TRY_ASSIGN(channel.extra, attributes.rest());
    for (const pugi::xml_node child : element.children()) {
      RONDO_TRY(expect(child, {"gpu", "net"}));
      RONDO_TRY_ASSIGN(XmlAttributes of_stop, XmlAttributes::of(document_, child));
      RONDO_TRY(require(of_stop, child, "dev"));
      RONDO_TRY_ASSIGN(const int64_t dev, of_stop.number("dev", 0, kMaxDev, 0));
      channel.stops.push_back({std::string_view(child.name()) == "net", dev});
    }
    if (channel.stops.empty())
      return document_.error_at(element, "<channel> has neither <gpu> nor <net>: expected the order of GPUs");
    return channel;
  }

  /// GB/s with up to six decimals.
  Result<int64_t> speed(XmlAttributes& attributes, pugi::xml_node element, const char* name) const {
    RONDO_TRY(require(attributes, element, name));
    const std::string value = attributes.text(name);
    const auto kBps = millionths(value);
    if (!kBps || *kBps > kMaxSpeed_GBps * 1'000'000)
      return document_.error_at(element,
                                "<graph> has {}=\"{}\": expected GB/s from 0 to {}, with up to {} decimals",
                                name, shown(value), kMaxSpeed_GBps, kDecimals);
    return *kBps;
  }

  static std::optional<int64_t> millionths(std::string_view text) {
    const size_t point = std::min(text.find('.'), text.size());
    std::string digits(text.substr(0, point));
    std::string_view decimals = text.substr(point);
    if (!decimals.empty()) decimals.remove_prefix(1);
    if (digits.empty() || decimals.size() > kDecimals || (point < text.size() && decimals.empty()))
      return std::nullopt;
    digits += decimals;
    digits.append(kDecimals - decimals.size(), '0');
    if (digits.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
    int64_t value = 0;
    const auto [last, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return problem == std::errc() ? std::optional(value) : std::nullopt;
  }

  Result<PathClass> path_class(XmlAttributes& attributes, pugi::xml_node element, const char* name) const {
    RONDO_TRY(require(attributes, element, name));
    const std::string value = attributes.text(name);
    std::string known;
    for (int cls = 0; cls <= static_cast<int>(PathClass::Dis); ++cls) {
      const std::string_view class_name = path_class_name(static_cast<PathClass>(cls));
      if (class_name == value) return static_cast<PathClass>(cls);
      known += fmt::format("{}{}", known.empty() ? "" : ", ", class_name);
    }
    return document_.error_at(element, "<graph> has {}=\"{}\": expected one of {}", name, shown(value),
                              known);
  }

  const XmlDocument& document_;
};

}  // namespace

Result<NcclGraphs> nccl_graphs_from_xml(std::string_view text, std::string source) {
  RONDO_TRY_ASSIGN(const XmlDocument document, XmlDocument::parse(text, std::move(source)));
  return GraphsReader(document).read();
}

Result<NcclGraphs> nccl_graphs_from_xml_file(const std::string& path) {
  RONDO_TRY_ASSIGN(const std::string text, read_file(path));
  return nccl_graphs_from_xml(text, path);
}

}  // namespace rondo
