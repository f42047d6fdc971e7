// SPDX-License-Identifier: Apache-2.0
// Verifiable messages: content, length and signature follow from a seed and a number. And Talker, one end of
// a conversation, which sends and receives a given number of them without ever blocking.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "exported_memory.h"
#include "transports/connection.h"

namespace rondo::test {

uint64_t mix(uint64_t a, uint64_t b);

/// The signature of message `number`, with a distinct value in every field.
Signature signature_of(uint64_t seed, uint64_t number);
void fill(std::byte* data, size_t bytes, uint64_t seed, uint64_t number);
/// Describes what is wrong with an arrival; empty if it is right.
std::string fault(const Arrival& arrival, size_t bytes, uint64_t seed, uint64_t number);

/// Sends message `number` in an acquired slot; false if no slot is free.
bool send_one(Connection& connection, size_t bytes, uint64_t seed, uint64_t number);

/// The same, telling the receiver of the bytes as they are written, if the connection can.
bool send_gradually(Connection& connection, size_t bytes, uint64_t seed, uint64_t number);

/// Calls `done` until it returns true; false after thirty seconds.
bool eventually(const std::function<bool()>& done);

struct Conversation {
  uint64_t seed = 0;
  uint64_t messages = 0;  // in each direction
  bool full = false;      // every message fills its slot; otherwise lengths are random, 0 included
  bool post = false;      // by reference if the connection supports it
  bool expect = false;    // announces where messages go, and later ones, sometimes with a wrong length or
                          // signature
};

class Talker {
 public:
  Talker(Connection& connection, const Conversation& conversation, bool dials);

  /// Sends or receives one message; false if that is not possible now.
  bool send();
  bool receive();
  bool sent_all() const { return sent_ == conversation_.messages; }
  bool received_all() const { return received_ == conversation_.messages; }
  /// Sends and receives until everything is done and flushed, something is wrong, or thirty seconds pass.
  void run();
  bool done() { return sent_all() && received_all() && connection_.flushed(); }
  const std::string& fault() const { return fault_; }

 private:
  size_t length(uint64_t seed, uint64_t number) const;
  bool post(size_t bytes);
  void poison_posted();
  const Arrival* peek();
  void expect();
  void expect_ahead();
  bool kept_off() const;
  bool kept_off_ahead(const Arrival& arrival);
  bool left_alone() const;
  std::byte* place_ahead(uint64_t number) const;

  Connection& connection_;
  Conversation conversation_;
  uint64_t out_seed_;
  uint64_t in_seed_;
  uint64_t sent_ = 0;
  uint64_t received_ = 0;
  uint64_t expectations_ = 0;
  uint64_t poisoned_ = 0;                   // of those sent, whose memory was changed after they were flushed
  std::unique_ptr<ExportedMemory> posted_;  // a separate buffer for each message, kept until the end
  std::vector<std::byte> place_;            // destination of the expected message
  std::unique_ptr<ExportedMemory> places_;  // destinations of all messages, poisoned once they are received
  uint64_t expected_ahead_ = 0;
  std::vector<std::byte> copied_;  // from an arrival whose bytes were still coming
  Arrival copy_;
  std::string fault_;
};

}  // namespace rondo::test
