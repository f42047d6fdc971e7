// SPDX-License-Identifier: Apache-2.0
// Writes what nccl_graph_reader.cc reads.
#include "formats/nccl_graph.h"
#include "xml_document.h"

namespace rondo {
namespace {

/// The shortest decimal fraction: "20", "20.6".
std::string gigabytes(int64_t kBps) {
  std::string text = fmt::format("{}.{:06}", kBps / 1'000'000, kBps % 1'000'000);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string attributes_text(const Attributes& attributes) {
  std::string text;
  for (const auto& [name, value] : attributes) text += fmt::format(" {}=\"{}\"", name, escaped(value));
  return text;
}

std::string channel_text(const NcclChannel& channel) {
  std::string text = fmt::format("    <channel{}>\n", attributes_text(channel.extra));
  for (const NcclStop& stop : channel.stops)
    text += fmt::format("      <{} dev=\"{}\"/>\n", stop.is_port ? "net" : "gpu", stop.dev);
  return text + "    </channel>\n";
}

std::string graph_text(const NcclGraph& graph) {
  std::string text = fmt::format(
      "  <graph id=\"{}\" pattern=\"{}\" crossnic=\"{}\" nchannels=\"{}\" speedintra=\"{}\" "
      "speedinter=\"{}\" "
      "typeintra=\"{}\" typeinter=\"{}\" samechannels=\"{}\"{}",
      graph.id, graph.pattern, graph.cross_nic, graph.channels.size(), gigabytes(graph.intra_kBps),
      gigabytes(graph.inter_kBps), path_class_name(graph.intra), path_class_name(graph.inter),
      graph.same_channels ? 1 : 0, attributes_text(graph.extra));
  if (graph.channels.empty()) return text + "/>\n";
  text += ">\n";
  for (const NcclChannel& channel : graph.channels) text += channel_text(channel);
  return text + "  </graph>\n";
}

}  // namespace

std::string_view nccl_pattern_name(int pattern) {
  switch (pattern) {
    case kNcclBalancedTree: return "balanced tree";
    case kNcclSplitTree: return "split tree";
    case kNcclTree: return "tree";
    case kNcclRing: return "ring";
    case kNcclNvls: return "NVLS";
    case kNcclCollnet: return "collnet";
    default: return "unknown";
  }
}

std::string nccl_graph_xml(const NcclGraphs& graphs) {
  std::string text = fmt::format("<graphs version=\"1\"{}>\n", attributes_text(graphs.extra));
  for (const NcclGraph& graph : graphs.graphs) text += graph_text(graph);
  return text + "</graphs>\n";
}

}  // namespace rondo
