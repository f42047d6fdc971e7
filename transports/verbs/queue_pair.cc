// SPDX-License-Identifier: Apache-2.0
#include "verbs/queue_pair.h"

#include <arpa/inet.h>
#include <fcntl.h>

#include <algorithm>
#include <cerrno>

namespace rondo::verbs {
namespace {

constexpr uint32_t kWantedInline = 256;
constexpr uint8_t kHopLimit = 64;
constexpr uint8_t kRnrTimer = 1;  // unused: receives are posted before the peer may send

ibv_mtu mtu_code(uint32_t bytes) {
  int code = IBV_MTU_256;
  while (code < IBV_MTU_4096 && (128U << static_cast<unsigned>(code + 1)) <= bytes) ++code;
  return static_cast<ibv_mtu>(code);
}

ibv_ah_attr address_of(const Path& path) {
  ibv_ah_attr to{};
  to.port_num = path.port;
  to.dlid = path.peer_lid;
  to.sl = path.service_level;
  if (!path.by_gid) return to;
  to.is_global = 1;
  std::copy(path.peer_gid.begin(), path.peer_gid.end(), std::begin(to.grh.dgid.raw));
  to.grh.sgid_index = static_cast<uint8_t>(path.gid_index);
  to.grh.hop_limit = kHopLimit;
  to.grh.traffic_class = path.traffic_class;
  return to;
}

}  // namespace

Status QueuePair::failed(const char* what, int error_number) const {
  return system_error(fmt::format("{} on {}", what, domain_->device().name()), error_number);
}

Result<std::unique_ptr<QueuePair>> QueuePair::make(std::shared_ptr<Domain> domain, const Depths& depths) {
  const Library& verbs = domain->device().verbs();
  auto made = std::unique_ptr<QueuePair>(new QueuePair(std::move(domain), verbs));
  RONDO_TRY(made->make_completion_queue(depths));
  RONDO_TRY(made->make_pair(depths));
  return made;
}

Status QueuePair::make_completion_queue(const Depths& depths) {
  ibv_context* const context = domain_->device().context();
  channel_ = verbs_.create_comp_channel(context);
  if (channel_ == nullptr) return failed("ibv_create_comp_channel", errno);
  if (::fcntl(channel_->fd, F_SETFL, ::fcntl(channel_->fd, F_GETFL) | O_NONBLOCK) != 0)
    return failed("fcntl of a completion channel", errno);
  completions_ =
      verbs_.create_cq(context, static_cast<int>(depths.sends + depths.receives), nullptr, channel_, 0);
  return completions_ != nullptr ? Status() : failed("ibv_create_cq", errno);
}

/// Devices differ in how much may be inline, and refuse more.
Status QueuePair::make_pair(const Depths& depths) {
  for (uint32_t inline_bytes = kWantedInline;; inline_bytes /= 2) {
    ibv_qp_init_attr wanted{};
    wanted.send_cq = wanted.recv_cq = completions_;
    wanted.qp_type = IBV_QPT_RC;
    wanted.sq_sig_all = 1;
    wanted.cap = {depths.sends, depths.receives, std::tuple_size_v<decltype(Write::pieces)>, 1, inline_bytes};
    pair_ = verbs_.create_qp(domain_->pd(), &wanted);
    if (pair_ != nullptr) {
      inline_bytes_ = std::min(inline_bytes, wanted.cap.max_inline_data);
      return {};
    }
    if (inline_bytes == 0) return failed("ibv_create_qp", errno);
  }
}

QueuePair::~QueuePair() {
  withdraw();
  if (pair_ != nullptr) verbs_.destroy_qp(pair_);
  if (completions_ != nullptr) verbs_.destroy_cq(completions_);
  if (channel_ != nullptr) verbs_.destroy_comp_channel(channel_);
}

Status QueuePair::modify(ibv_qp_attr attr, int mask, const char* state) {
  const int error_number = verbs_.modify_qp(pair_, &attr, mask | IBV_QP_STATE);
  return error_number == 0 ? Status() : failed(state, error_number);
}

Status QueuePair::prepare(uint8_t port, uint16_t pkey_index, unsigned rights) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = port;
  attr.pkey_index = pkey_index;
  attr.qp_access_flags = rights;
  RONDO_TRY(
      modify(attr, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, "moving a queue pair to INIT"));
  is_active_ = true;
  return {};
}

ibv_ece QueuePair::ece() const {
  ibv_ece found{};
  const bool has_any = verbs_.query_ece != nullptr && verbs_.query_ece(pair_, &found) == 0;
  return has_any ? found : ibv_ece{};
}

Status QueuePair::set_ece(ibv_ece ece) {
  const int error_number = verbs_.set_ece != nullptr ? verbs_.set_ece(pair_, &ece) : EOPNOTSUPP;
  return error_number == 0 ? Status() : failed("ibv_set_ece", error_number);
}

Status QueuePair::connect(const Path& path, const PairAddress& peer, uint32_t first_packet) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTR;
  attr.ah_attr = address_of(path);
  attr.path_mtu = mtu_code(path.mtu);
  attr.dest_qp_num = peer.queue_pair;
  attr.rq_psn = peer.first_packet;
  attr.max_dest_rd_atomic = 1;
  attr.min_rnr_timer = kRnrTimer;
  RONDO_TRY(modify(attr,
                   IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
                       IBV_QP_MIN_RNR_TIMER,
                   "moving a queue pair to RTR"));
  attr = {};
  attr.qp_state = IBV_QPS_RTS;
  attr.timeout = path.timeout;
  attr.retry_cnt = path.retries;
  attr.rnr_retry = 0;
  attr.sq_psn = first_packet;
  attr.max_rd_atomic = 1;
  return modify(
      attr, IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
      "moving a queue pair to RTS");
}

namespace {

using Sges = std::array<ibv_sge, std::tuple_size_v<decltype(QueuePair::Write::pieces)>>;

ibv_send_wr request_for(const QueuePair::Write& write, Sges& from, uint32_t inline_bytes) {
  ibv_send_wr request{};
  uint32_t bytes = 0;
  for (const QueuePair::GatheredBytes& piece : write.pieces) {
    if (piece.bytes == 0) continue;
    from[static_cast<size_t>(request.num_sge++)] = {reinterpret_cast<uint64_t>(piece.from), piece.bytes,
                                                    piece.local_key};
    bytes += piece.bytes;
  }
  request.wr_id = write.id;
  request.sg_list = from.data();
  request.opcode = write.immediate ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
  request.send_flags = bytes != 0 && bytes <= inline_bytes ? IBV_SEND_INLINE : 0;
  request.imm_data = htonl(write.immediate.value_or(0));
  request.wr.rdma.remote_addr = write.to;
  request.wr.rdma.rkey = write.remote_key;
  return request;
}

}  // namespace

Status QueuePair::post(std::span<const Write> writes) {
  std::array<Sges, kMaxWrites> from{};
  std::array<ibv_send_wr, kMaxWrites> requests{};
  for (size_t i = 0; i < writes.size(); ++i) {
    requests[i] = request_for(writes[i], from[i], inline_bytes_);
    if (i != 0) requests[i - 1].next = &requests[i];
  }
  ibv_send_wr* refused = requests.data();
  const int error_number = ibv_post_send(pair_, requests.data(), &refused);
  outstanding_ += error_number == 0 ? writes.size() : static_cast<size_t>(refused - requests.data());
  return error_number == 0 ? Status() : failed("ibv_post_send", error_number);
}

Status QueuePair::post_read(const ReadByte& read) {
  ibv_sge landing{reinterpret_cast<uint64_t>(read.to), 1, read.local_key};
  ibv_send_wr request{};
  request.sg_list = &landing;
  request.num_sge = 1;
  request.opcode = IBV_WR_RDMA_READ;
  request.wr.rdma.remote_addr = reinterpret_cast<uint64_t>(read.at);
  request.wr.rdma.rkey = read.remote_key;
  ibv_send_wr* refused = nullptr;
  const int error_number = ibv_post_send(pair_, &request, &refused);
  if (error_number == 0) ++outstanding_;
  return error_number == 0 ? Status() : failed("ibv_post_send of a read", error_number);
}

Status QueuePair::post_receives(uint32_t count) {
  std::array<ibv_recv_wr, kBatch> requests{};
  for (ibv_recv_wr& request : requests) request.wr_id = kReceive;
  while (count != 0) {
    const size_t batch = std::min<size_t>(count, requests.size());
    for (size_t i = 0; i < batch; ++i) requests[i].next = i + 1 < batch ? &requests[i + 1] : nullptr;
    ibv_recv_wr* refused = nullptr;
    if (const int error_number = ibv_post_recv(pair_, requests.data(), &refused); error_number != 0)
      return failed("ibv_post_recv", error_number);
    outstanding_ += batch;
    count -= static_cast<uint32_t>(batch);
  }
  return {};
}

Result<std::span<const ibv_wc>> QueuePair::poll() {
  const int found = ibv_poll_cq(completions_, static_cast<int>(polled_.size()), polled_.data());
  if (found < 0) return failed("ibv_poll_cq", EIO);
  outstanding_ -= static_cast<uint64_t>(found);
  return std::span<const ibv_wc>(polled_.data(), static_cast<size_t>(found));
}

Status QueuePair::arm() {
  ibv_cq* queue = nullptr;
  void* context = nullptr;
  while (verbs_.get_cq_event(channel_, &queue, &context) == 0) verbs_.ack_cq_events(queue, 1);
  if (const int error_number = ibv_req_notify_cq(completions_, 0); error_number != 0)
    return failed("ibv_req_notify_cq", error_number);
  return {};
}

void QueuePair::end() {
  if (!std::exchange(is_active_, false)) return;
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_ERR;
  must_drain_ = modify(attr, 0, "moving a queue pair to ERR").ok();
}

}  // namespace rondo::verbs
