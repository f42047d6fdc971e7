// SPDX-License-Identifier: Apache-2.0
#include "verbs/settings.h"

#include <fmt/core.h>

#include <utility>

#include "base/error_kinds.h"
#include "base/words.h"
#include "verbs/write_order.h"

namespace rondo::verbs {
namespace {

/// A number that either variable sets.
struct NumberRule {
  std::string_view variable;
  std::string_view nccl;
  int64_t min = 0;
  int64_t max = 0;
  bool nccl_default = false;  // -1 in NCCL's variable means its default
};

constexpr NumberRule kServiceLevel{"RONDO_IB_SL", "NCCL_IB_SL", 0, 15, true};
constexpr NumberRule kTrafficClass{"RONDO_IB_TRAFFIC_CLASS", "NCCL_IB_TC", 0, 255, true};
// 0 would be a wait without end.
constexpr NumberRule kTimeout{"RONDO_IB_TIMEOUT", "NCCL_IB_TIMEOUT", 1, 31, false};
constexpr NumberRule kRetries{"RONDO_IB_RETRY", "NCCL_IB_RETRY_CNT", 0, 7, false};
constexpr NumberRule kQueuePairs{"RONDO_IB_QPS", "NCCL_IB_QPS_PER_CONNECTION", 1, kMaxPairs, false};
constexpr NumberRule kGidIndex{"RONDO_IB_GID", "NCCL_IB_GID_INDEX", 0, 255, true};
constexpr NumberRule kPartitionIndex{"", "NCCL_IB_PKEY", 0, 65535, false};
constexpr std::string_view kPorts = "RONDO_IB_PORTS";
constexpr std::string_view kNcclPorts = "NCCL_IB_HCA";
constexpr std::string_view kNcclDisable = "NCCL_IB_DISABLE";
constexpr std::string_view kPartition = "RONDO_IB_PKEY";
constexpr std::string_view kBytes = "RONDO_IB_BYTES";
constexpr std::string_view kOnDemand = "RONDO_IB_ODP";
constexpr std::string_view kGpuDirect = "RONDO_IB_GPU_DIRECT";

std::optional<int64_t> in_range(const NumberRule& rule, std::string_view text) {
  const auto value = parse_integer(text);
  return value && *value >= rule.min && *value <= rule.max ? value : std::nullopt;
}

template <typename Number>
void assign(Number& out, int64_t value) {
  out = static_cast<Number>(value);
}

template <typename Number>
void assign(std::optional<Number>& out, int64_t value) {
  out = static_cast<Number>(value);
}

class SettingsReader {
 public:
  explicit SettingsReader(const ReadVariable& read) : read_(read) {}

  Result<VerbsSettings> settings() {
    RONDO_TRY(read_ports());
    RONDO_TRY(read_gid());
    RONDO_TRY(read_partition());
    RONDO_TRY(read_number(kServiceLevel, out_.service_level));
    RONDO_TRY(read_number(kTrafficClass, out_.traffic_class));
    RONDO_TRY(read_number(kTimeout, out_.timeout));
    RONDO_TRY(read_number(kRetries, out_.retries));
    RONDO_TRY(read_number(kQueuePairs, out_.queue_pairs));
    if (!read_(kQueuePairs.variable)) out_.queue_pairs_variable = kQueuePairs.nccl;
    RONDO_TRY(read_bytes());
    RONDO_TRY(read_switch(kOnDemand, out_.on_demand));
    RONDO_TRY(read_switch(kGpuDirect, out_.gpu_direct));
    return std::move(out_);
  }

 private:
  Status read_ports() {
    const auto own = read_(kPorts);
    out_.disabled = own && same_word(*own, "none");
    if (out_.disabled) return {};
    if (own) {
      RONDO_TRY_ASSIGN(out_.ports, PortFilter::parse(kPorts, *own));
      return {};
    }
    if (const auto disable = read_(kNcclDisable)) out_.disabled = nccl_switch(kNcclDisable, *disable);
    if (const auto nccl = read_(kNcclPorts)) {
      RONDO_TRY_ASSIGN(out_.ports, PortFilter::parse_nccl(kNcclPorts, *nccl));
    }
    return {};
  }

  Status read_gid() {
    const auto own = read_(kGidIndex.variable);
    if (own && (same_word(*own, "v1") || same_word(*own, "v2"))) {
      out_.gid.v1 = same_word(*own, "v1");
      return {};
    }
    out_.gid.is_required = own.has_value();
    if (!own) out_.gid.variable = kGidIndex.nccl;
    if (!own || in_range(kGidIndex, *own)) return read_number(kGidIndex, out_.gid.index);
    return error(ErrorKind::SettingInvalid,
                 "{} is '{}': it must be the index of a GID, from {} to {}, or v1 or v2", kGidIndex.variable,
                 *own, kGidIndex.min, kGidIndex.max);
  }

  Status read_partition() {
    const auto own = read_(kPartition);
    out_.partition.variable = own ? kPartition : kPartitionIndex.nccl;
    if (!own) return read_nccl_number(kPartitionIndex, out_.partition.index);
    constexpr int64_t kMembership = 0x8000;
    const auto value = parse_integer(*own);
    if (!value || *value < 1 || *value > 0xffff || *value == kMembership)
      return error(
          ErrorKind::SettingInvalid,
          "{} is '{}': it must be a partition key, such as 0x8001, from 0x0001 to 0x7fff or from 0x8001 "
          "to 0xffff",
          kPartition, *own);
    out_.partition.value = static_cast<uint16_t>(*value);
    return {};
  }

  Status read_bytes() {
    const auto own = read_(kBytes);
    if (!own) return {};
    const auto bytes = parse_size(*own);
    if (!bytes)
      return error(ErrorKind::SettingInvalid, "{} is '{}': it must be a number of bytes, such as 512M",
                   kBytes, *own);
    out_.max_pinned = *bytes;
    return {};
  }

  template <typename Switch>
  Status read_switch(std::string_view variable, Switch& out) {
    const auto own = read_(variable);
    if (!own) return {};
    const auto value = parse_switch(*own);
    if (!value) return error(ErrorKind::SettingInvalid, "{} is '{}': it must be 0 or 1", variable, *own);
    out = *value;
    return {};
  }

  template <typename Out>
  Status read_number(const NumberRule& rule, Out& out) {
    const auto own = read_(rule.variable);
    if (!own) return read_nccl_number(rule, out);
    const auto value = in_range(rule, *own);
    if (!value)
      return error(ErrorKind::SettingInvalid, "{} is '{}': it must be a whole number from {} to {}",
                   rule.variable, *own, rule.min, rule.max);
    assign(out, *value);
    return {};
  }

  /// Never fails.
  template <typename Out>
  Status read_nccl_number(const NumberRule& rule, Out& out) {
    const auto text = read_(rule.nccl);
    if (!text || (rule.nccl_default && *text == "-1")) return {};
    if (const auto value = in_range(rule, *text))
      assign(out, *value);
    else
      out_.ignored.push_back(
          fmt::format("{} is '{}', which is ignored: it must be a whole number from {} to {}", rule.nccl,
                      *text, rule.min, rule.max));
    return {};
  }

  /// NCCL's switches are numbers.
  bool nccl_switch(std::string_view variable, const std::string& text) {
    if (const auto number = parse_integer(text)) return *number != 0;
    if (const auto value = parse_switch(text)) return *value;
    out_.ignored.push_back(fmt::format("{} is '{}', which is ignored: it must be 0 or 1", variable, text));
    return false;
  }

  const ReadVariable& read_;
  VerbsSettings out_;
};

}  // namespace

int64_t VerbsSettings::give_up_us() const { return (retries + 1) * ((int64_t{4096} << timeout) / 1000); }

Result<VerbsSettings> read_settings(const ReadVariable& read) { return SettingsReader(read).settings(); }

}  // namespace rondo::verbs
