// Word: what a word in memory says to those who wait for it. Plain data.
#pragma once

namespace rondo::device {

/// The words by which lanes, blocks and ranks wait for one another. A release store of one pairs with the
/// acquire loads of the same. Released is different: see store_after_reads().
enum class Word {
  Ready,     // of a slot: its message is there
  Released,  // of a FIFO: slots are free again
  Progress,  // of a lane of a Program: its Steps are done
  Stop,      // of a call: why it failed is written down
};

/// Whether only blocks of one device have to do with it.
constexpr bool stays_on_device(Word word) { return word == Word::Progress; }

}  // namespace rondo::device
