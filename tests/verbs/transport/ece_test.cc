// SPDX-License-Identifier: Apache-2.0
// Options of Enhanced Connection Establishment: used where both ends have them.
#include "in_process.h"
#include "raw_ends.h"
#include "verbs/path_attempt.h"

namespace rondo::verbs_test {
namespace {

std::unique_ptr<verbs::PathAttempt> attempt_of(bool dials) {
  const auto devices = taken(verbs::Devices::open());
  const verbs::VerbsTerms terms{.params = {4096, 2, 0}, .peer = dials ? 1 : 0, .dials = dials};
  const verbs::ConnectionPages pages{taken(verbs::SlotPages::make(terms.layout())),
                                     taken(verbs::SlotPages::make(terms.layout()))};
  return taken(verbs::PathAttempt::make(devices, taken(devices->ports()).front(), terms, pages));
}

verbs::Path path_on(const verbs::VerbsPort& port) {
  return {.port = port.number,
          .gid_index = port.gids.back().index,
          .peer_gid = port.gids.back().raw,
          .mtu = port.mtu};
}

verbs::VerbsPort first_port() { return taken(taken(verbs::Devices::open())->ports()).front(); }

/// What the accepting end answers to a dialling one that offers this, and how it connects.
verbs::PairContact answer_to(const verbs::PairContact& offer) {
  const auto acceptor = attempt_of(false);
  require(acceptor->contact().ece_vendor == 0, "an offer of the accepting end");
  succeed(acceptor->connect(path_on(first_port()), offer));
  return acceptor->contact();
}

}  // namespace

TEST_CASE("ends use the options that both have, and none that only one has") {
  CHECK(in_process({}, [] {
          const auto dialler = attempt_of(true);
          verbs::PairContact offer = dialler->contact();
          require(offer.ece_vendor != 0 && offer.ece_options == 5, "the offer");
          offer.ece_options = 6;
          const verbs::PairContact answer = answer_to(offer);
          require(answer.ece_vendor == offer.ece_vendor && answer.ece_options == 4, "the answer");
          offer.ece_vendor = 77;
          require(answer_to(offer).ece_vendor == 0, "another vendor's");
          offer.ece_vendor = 0;
          require(answer_to(offer).ece_vendor == 0, "none");
        }) == "");
  CHECK(in_process({{"_ECE", "0"}}, [] {
          const auto dialler = attempt_of(true);
          verbs::PairContact offer = dialler->contact();
          require(offer.ece_vendor == 0, "an offer without ECE");
          offer.ece_vendor = 0x252;
          require(answer_to(offer).ece_vendor == 0, "an answer without ECE");
        }) == "");
}

TEST_CASE("a dialling end refuses an answer with options that its device does not have") {
  for (const char* has_ece : {"0", "1"})
    CHECK(in_process({{"_ECE", has_ece}}, [] {
            verbs::PairContact answer = attempt_of(false)->contact();
            answer.ece_vendor = 77;
            const Status refused = attempt_of(true)->connect(path_on(first_port()), answer);
            require(refused.message().find("ibv_set_ece on rondo_0") != std::string::npos, refused.message());
            answer.ece_vendor = 0;
            succeed(attempt_of(true)->connect(path_on(first_port()), answer));
          }) == "");
}

}  // namespace rondo::verbs_test
