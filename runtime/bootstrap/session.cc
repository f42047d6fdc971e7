// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/session.h"

#include "control_plane.h"

namespace rondo {

Session::Session(std::unique_ptr<ControlPlane> control)
    : control_(std::move(control)),
      id_(control_->id()),
      rank_(control_->rank()),
      members_(control_->members()) {}

Session::~Session() = default;

Result<std::shared_ptr<Session>> Session::join(const UniqueId& id, int nranks, int rank,
                                               const PeerGpu& device, int64_t timeout_ms,
                                               const Interrupt& superseded, const Interrupt& interrupt) {
  RONDO_TRY_ASSIGN(auto control,
                   ControlPlane::join(id, nranks, rank, device, timeout_ms, superseded, interrupt));
  return std::shared_ptr<Session>(new Session(std::move(control)));
}

std::shared_ptr<Session> Session::alone(const PeerGpu& device) {
  return std::shared_ptr<Session>(new Session(ControlPlane::alone(device)));
}

bool Session::is_root_gone(const Status& failure) {
  return failure.code() == Code::SystemError &&
         failure.message().find(ControlPlane::kRootUnreachable) != std::string::npos;
}

Result<Fd> Session::dial(int rank, Route route, ConnectRequest purpose, const Deadline& deadline,
                         const Interrupt& interrupt, Contact* contact) {
  return control_->dial(rank, route, purpose, deadline, interrupt, contact);
}

Fd Session::arrived(ConnectRequest& purpose) { return control_->arrived(purpose); }

void Session::attach(Attachment attachment) { control_->attach(std::move(attachment)); }

void Session::detach(uint64_t communicator) { control_->detach(communicator); }

std::shared_ptr<FlightRecorder> Session::recorder_of(uint64_t communicator) {
  return control_->recorder_of(communicator);
}

int Session::first_gone(std::span<const int> ranks) { return control_->first_gone(ranks); }

void Session::finish(uint64_t communicator) { control_->finish(communicator); }

void Session::leave(uint64_t communicator, uint32_t latest) { control_->leave(communicator, latest); }

std::optional<uint32_t> Session::last_call(int rank, uint64_t communicator) {
  return control_->last_call(rank, communicator);
}

bool Session::is_last(uint64_t communicator) { return control_->is_last(communicator); }

void Session::give_up(const Status& cause) { control_->give_up(cause); }

void Session::notify(const FailureNotice& notice) { control_->notify(notice); }

bool Session::await_news(int64_t at_most_ms, const CommState& health) {
  return control_->await_news(at_most_ms, health);
}

Result<bool> Session::await_ends(uint64_t communicator, int64_t for_ms, const Interrupt& interrupt) {
  return control_->await_ends(communicator, for_ms, interrupt);
}

std::string Session::interfaces_text() const { return control_->interfaces_text(); }

void Session::depart() { control_->depart(); }

}  // namespace rondo
