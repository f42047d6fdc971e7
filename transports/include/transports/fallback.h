// SPDX-License-Identifier: Apache-2.0
// FallbackConnection: slots over one transport, and over another one if both ends find that the first cannot
// connect them, or cannot any more (Connection::is_refused()). No message is lost or comes twice. Used by the
// connection's thread.
#pragma once

#include <functional>
#include <memory>

#include "transports/connection.h"
#include "transports/zero_copy.h"

namespace rondo {

/// Of the optional parts it has ZeroCopy, with the abilities of the transport that is used.
class FallbackConnection final : public Connection, public ZeroCopy {
 public:
  /// Starts connecting over the second transport; `why`: the status of the first. Null while dialling takes
  /// time: to be called again.
  using ConnectSecond = std::function<Result<std::unique_ptr<Connection>>(const Status& why)>;
  FallbackConnection(std::unique_ptr<Connection> first, ConnectSecond connect_second)
      : Connection(first->slot_bytes(), {.zero_copy = this}),
        first_(std::move(first)),
        connect_second_(std::move(connect_second)) {}

  std::byte* acquire(size_t bytes) override;
  void commit(size_t bytes, const Signature& signature) override;
  bool flushed() override;
  const Arrival* peek() override;
  void release() override { reading_->release(); }
  Status status() const override;
  void look() override;
  bool has_left() const override { return used().has_left(); }
  std::string describe() const override { return used().describe(); }
  bool is_refused() const override { return second_ != nullptr && second_->is_refused(); }
  Awaited awaited(Awaiting what) const override;

  std::string gpu_obstacle() const override;
  void export_memory(const ExportableMemory& memory) override;
  PostMode post_mode(const std::byte* data, size_t bytes) const override;
  bool post(const std::byte* data, size_t bytes, const Signature& signature) override;
  std::optional<size_t> held() const override;
  void expect(std::byte* place, size_t bytes, const Signature& signature) override;
  std::optional<size_t> room_ahead() const override;
  void expect_next(std::byte* place, size_t bytes, const Signature* signature) override;
  void expect_all(std::byte* place, size_t bytes, const Signature& signature) override;
  bool intact() const override;
  void stop_reading() override;
  void cancel() override;

 private:
  Connection& used() const { return second_ != nullptr ? *second_ : *first_; }
  /// The next message: the second may have no room for one whose slot was acquired from the first.
  Connection& sends() const { return acquired_ != nullptr ? *first_ : used(); }
  bool must_replace() const { return second_ == nullptr && failure_.ok() && first_->is_refused(); }
  bool replaced();
  bool sent_again();

  const std::unique_ptr<Connection> first_;  // of its messages some may have to be received, or sent again
  const ConnectSecond connect_second_;
  std::unique_ptr<Connection> second_;  // null: the first is used
  size_t again_ = 0;                    // messages of the first that the second has sent
  /// The slot of the first that is being filled or passed over by post(): if that is replaced, the message is
  /// sent again.
  std::byte* acquired_ = nullptr;
  Connection* reading_ = nullptr;  // whose arrival is being read
  Status failure_;                 // to begin with the second
};

}  // namespace rondo
