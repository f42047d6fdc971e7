// SPDX-License-Identifier: Apache-2.0
#include "plugin/wire.h"

namespace rondo::plugin {

Status check(const PluginOffer& offer) {
  if (offer.magic != PluginOffer::kMagic) return nonsense("magic of the offer", offer.magic);
  if (offer.version != PluginOffer::kVersion) return nonsense("version", offer.version);
  RONDO_TRY(check_giving_up(kGoesOn, offer.plugin));
  return check_giving_up(offer.gives_up, offer.reason);
}

Status check(const PluginVerdict& verdict) {
  if (verdict.magic != PluginVerdict::kMagic) return nonsense("magic of the verdict", verdict.magic);
  return check_giving_up(verdict.gives_up, verdict.reason);
}

}  // namespace rondo::plugin
