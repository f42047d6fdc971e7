// SPDX-License-Identifier: Apache-2.0
// Word: the kinds of synchronisation words in memory. Plain data.
#pragma once

namespace rondo::device {

/// The words on which lanes, blocks and ranks wait for one another. A release store to a word pairs with
/// acquire loads of the same word. Released is different: see store_after_reads().
enum class Word {
  Ready,     // of a slot: its message has arrived
  Released,  // of a FIFO: slots have been released
  Progress,  // of a BlockProgram's lane: Steps are done
  Stop,      // of a call: the reason of its failure has been written
};

/// Whether only blocks of one device access the word.
constexpr bool stays_on_device(Word word) { return word == Word::Progress; }

}  // namespace rondo::device
