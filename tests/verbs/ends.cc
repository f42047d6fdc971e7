// SPDX-License-Identifier: Apache-2.0
#include "ends.h"

#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "clock.h"

namespace rondo::verbs_test {
namespace {

template <class Made>
Made* made(Made* object, const char* what) {
  require(object != nullptr, std::string(what) + ": " + std::strerror(errno));
  return object;
}

ibv_context* open_device(uint32_t index) {
  int count = 0;
  ibv_device** const list = made(ibv_get_device_list(&count), "ibv_get_device_list");
  const char* const name = std::getenv("RONDO_TEST_VERBS_DEVICE");
  ibv_device* chosen = static_cast<int>(index) < count ? list[index] : nullptr;
  for (int i = 0; name != nullptr && i < count; ++i)
    if (std::strcmp(ibv_get_device_name(list[i]), name) == 0) chosen = list[i];
  require(chosen != nullptr, "no such device");
  ibv_context* const context = made(ibv_open_device(chosen), "ibv_open_device");
  ibv_free_device_list(list);
  return context;
}

}  // namespace

void succeed(int error, const std::string& what) { require(error == 0, what + ": " + std::strerror(error)); }

End::End(const Options& given) : options(given), memory(given.bytes) {
  context = open_device(options.device);
  succeed(ibv_query_port(context, options.port, &port), "ibv_query_port");
  if (options.gid < 0 && port.link_layer == IBV_LINK_LAYER_ETHERNET) {
    ibv_gid_entry entry{};
    for (uint32_t i = 0; i < static_cast<uint32_t>(port.gid_tbl_len); ++i)
      if (ibv_query_gid_ex(context, options.port, i, &entry, 0) == 0) options.gid = static_cast<int>(i);
  }
  pd = made(ibv_alloc_pd(context), "ibv_alloc_pd");
  channel = made(ibv_create_comp_channel(context), "ibv_create_comp_channel");
  send_cq = made(ibv_create_cq(context, options.completions, nullptr, channel, 0), "ibv_create_cq");
  receive_cq = send_cq;
  if (!options.one_queue)
    receive_cq = made(ibv_create_cq(context, options.completions, this, channel, 0), "ibv_create_cq");
  ibv_qp_init_attr wanted{};
  wanted.send_cq = send_cq;
  wanted.recv_cq = receive_cq;
  wanted.qp_type = IBV_QPT_RC;
  wanted.cap = {options.send_requests, options.receive_requests, options.elements, options.elements,
                options.inline_bytes};
  pair = made(ibv_create_qp(pd, &wanted), "ibv_create_qp");
  region = made(ibv_reg_mr(pd, memory.data(), memory.size(), options.region_access), "ibv_reg_mr");
  init();
}

End::~End() {
  if (pair != nullptr) ibv_destroy_qp(pair);
  if (region != nullptr) ibv_dereg_mr(region);
  if (receive_cq != nullptr && receive_cq != send_cq) ibv_destroy_cq(receive_cq);
  if (send_cq != nullptr) ibv_destroy_cq(send_cq);
  if (channel != nullptr) ibv_destroy_comp_channel(channel);
  if (pd != nullptr) ibv_dealloc_pd(pd);
  if (context != nullptr) ibv_close_device(context);
}

Address End::address() const {
  Address own{pair->qp_num, options.psn, region->rkey, reinterpret_cast<uint64_t>(memory.data()),
              port.lid,     {}};
  if (options.gid >= 0) ibv_query_gid(context, options.port, options.gid, &own.gid);
  return own;
}

void End::init() {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = options.port;
  attr.pkey_index = options.partition;
  attr.qp_access_flags = options.access;
  succeed(ibv_modify_qp(pair, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
          "INIT");
}

int End::ready_to_receive(const Address& peer) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTR;
  attr.path_mtu = options.mtu;
  attr.dest_qp_num = peer.number;
  attr.rq_psn = peer.psn;
  attr.max_dest_rd_atomic = options.reads;
  attr.min_rnr_timer = options.rnr_timer;
  attr.ah_attr.port_num = options.port;
  attr.ah_attr.dlid = peer.lid;
  if (options.gid >= 0) {
    attr.ah_attr.is_global = 1;
    attr.ah_attr.grh.dgid = peer.gid;
    attr.ah_attr.grh.sgid_index = static_cast<uint8_t>(options.gid);
    attr.ah_attr.grh.hop_limit = 64;
  }
  return ibv_modify_qp(pair, &attr,
                       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                           IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

int End::ready_to_send() {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTS;
  attr.timeout = options.timeout;
  attr.retry_cnt = options.retry;
  attr.rnr_retry = options.rnr_retry;
  attr.sq_psn = options.psn;
  attr.max_rd_atomic = options.reads;
  return ibv_modify_qp(pair, &attr,
                       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                           IBV_QP_MAX_QP_RD_ATOMIC);
}

void End::connect(const Address& peer) {
  succeed(ready_to_receive(peer), "RTR");
  succeed(ready_to_send(), "RTS");
}

void End::to_error() {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_ERR;
  succeed(ibv_modify_qp(pair, &attr, IBV_QP_STATE), "ERR");
}

ibv_qp_state End::state() {
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  succeed(ibv_query_qp(pair, &attr, IBV_QP_STATE, &init), "ibv_query_qp");
  return attr.qp_state;
}

ibv_send_wr End::request(ibv_wr_opcode opcode, const Address& peer, size_t offset, uint32_t bytes,
                         uint64_t id) {
  element = {reinterpret_cast<uint64_t>(memory.data()) + offset, bytes, region->lkey};
  ibv_send_wr wr{};
  wr.wr_id = id;
  wr.sg_list = &element;
  wr.num_sge = 1;
  wr.opcode = opcode;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.imm_data = static_cast<uint32_t>(id);
  wr.wr.rdma.remote_addr = peer.addr + offset;
  wr.wr.rdma.rkey = peer.rkey;
  return wr;
}

void End::post(ibv_send_wr wr) {
  ibv_send_wr* bad = nullptr;
  succeed(ibv_post_send(pair, &wr, &bad), "ibv_post_send");
}

void End::receive(uint64_t id, size_t offset, uint32_t bytes) {
  ibv_sge into{reinterpret_cast<uint64_t>(memory.data()) + offset, bytes, region->lkey};
  ibv_recv_wr wr{};
  wr.wr_id = id;
  wr.sg_list = &into;
  wr.num_sge = bytes != 0 ? 1 : 0;
  ibv_recv_wr* bad = nullptr;
  succeed(ibv_post_recv(pair, &wr, &bad), "ibv_post_recv");
}

std::vector<const char*> seeds(std::vector<const char*> of_standin) {
  if (!is_standin()) of_standin.resize(1);
  return of_standin;
}

void connect(End& one, End& other) {
  one.connect(other.address());
  other.connect(one.address());
}

ibv_wc next(ibv_cq* queue, double limit_s) {
  ibv_wc wc{};
  for (const double until = test::seconds_now() + limit_s; ibv_poll_cq(queue, 1, &wc) != 1; ::sched_yield())
    require(test::seconds_now() < until, "no completion comes");
  return wc;
}

ibv_wc next_is(ibv_cq* queue, ibv_wc_status status, double limit_s) {
  const ibv_wc wc = next(queue, limit_s);
  require(wc.status == status, std::string("a completion is '") + ibv_wc_status_str(wc.status) + "', not '" +
                                   ibv_wc_status_str(status) + "'");
  return wc;
}

ibv_wc next_is(ibv_cq* queue, const std::vector<ibv_wc_status>& statuses) {
  const ibv_wc wc = next(queue);
  const bool is_one = std::find(statuses.begin(), statuses.end(), wc.status) != statuses.end();
  require(is_one, std::string("a completion is '") + ibv_wc_status_str(wc.status) + "', not '" +
                      ibv_wc_status_str(statuses.front()) + "'");
  return wc;
}

bool stays_empty(ibv_cq* queue, int ms) {
  ibv_wc wc{};
  for (const double until = test::seconds_now() + ms / 1e3; test::seconds_now() < until; test::sleep_ms(1))
    if (ibv_poll_cq(queue, 1, &wc) != 0) return false;
  return true;
}

bool is_readable(int fd, int limit_ms) {
  pollfd one{fd, POLLIN, 0};
  return ::poll(&one, 1, limit_ms) == 1 && (one.revents & POLLIN) != 0;
}

ibv_event_type next_event(End& end, double limit_s) {
  require(is_readable(end.context->async_fd, static_cast<int>(limit_s * 1e3)), "no asynchronous event comes");
  ibv_async_event event{};
  succeed(ibv_get_async_event(end.context, &event), "ibv_get_async_event");
  ibv_ack_async_event(&event);
  return event.event_type;
}

}  // namespace rondo::verbs_test
