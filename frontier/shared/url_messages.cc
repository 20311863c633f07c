#include "frontier/shared/url_messages.h"

#include <cassert>
#include <cstdint>
#include <utility>

#include "base/coding.h"
#include "base/wall_time.h"

namespace trawl {
namespace {

constexpr std::uint64_t kMessageFormat = 1;

enum MessageBit : std::uint64_t {
  kHasParent = 1 << 0,
  kHasSameParent = 1 << 1,
  kHasPriority = 1 << 2,
  kHasRedirects = 1 << 3,
  kHasNotBefore = 1 << 4,
  kHasNote = 1 << 5,
  kIsAgain = 1 << 6,
  kIsSeenOnly = 1 << 7,
  kHasHold = 1 << 8,
  kHoldsAlways = 1 << 9,
  kHasKey = 1 << 10,
  kHasQueue = 1 << 11,
  kHasFingerprint = 1 << 12,
  kHasUnnamedQueue = 1 << 13,  // GivenIdentity::named is not set
  kAllMessageBits = (1 << 14) - 1,
};

// What goes with a request that has none.
const GivenIdentity kNothingGiven;

std::string_view queue_in(const UrlRequest& request, const GivenIdentity& given) {
  return given.fingerprint ? std::string_view(given.queue) : request.queue;
}

std::uint64_t bits_of(const UrlRequest& request, const GivenIdentity& given,
                      std::string_view last_parent) {
  std::uint64_t bits = 0;
  const auto set = [&](bool is, MessageBit bit) {
    if (is) bits |= bit;
  };
  const bool same = request.parent == last_parent;
  set(!request.parent.empty() && !same, kHasParent);
  set(!request.parent.empty() && same, kHasSameParent);
  set(request.priority != 0, kHasPriority);
  set(request.redirects != 0, kHasRedirects);
  set(request.not_before.has_value(), kHasNotBefore);
  set(!request.note.empty(), kHasNote);
  set(request.again, kIsAgain);
  set(request.seen_only, kIsSeenOnly);
  set(request.hold.has_value(), kHasHold);
  set(request.hold && request.hold->always, kHoldsAlways);
  const bool has_queue = !queue_in(request, given).empty();
  set(!request.key.empty() && !given.fingerprint, kHasKey);
  set(has_queue, kHasQueue);
  set(given.fingerprint.has_value(), kHasFingerprint);
  set(has_queue && given.fingerprint && !given.named, kHasUnnamedQueue);
  return bits;
}

// Bytes of the message that are the request's own, at most.
std::size_t bytes_of(const UrlRequest& request, const GivenIdentity& given) {
  constexpr std::size_t kNumbers = 80;
  const std::size_t reason = request.hold ? request.hold->reason.size() : 0;
  return kNumbers + request.url.size() + request.parent.size() + request.note.size() +
         request.key.size() + queue_in(request, given).size() + reason;
}

}  // namespace

std::string encode_requests(std::span<const UrlRequest> requests,
                            std::span<const GivenIdentity> given) {
  assert(given.empty() || given.size() == requests.size());
  std::string out;
  put_varint(out, kMessageFormat);
  put_varint(out, requests.size());
  std::string_view parent;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const UrlRequest& request = requests[i];
    const GivenIdentity& own = given.empty() ? kNothingGiven : given[i];
    const std::uint64_t bits = bits_of(request, own, parent);
    put_varint(out, bits);
    put_string(out, request.url);
    put_varint(out, request.depth);
    if ((bits & kHasParent) != 0) put_string(out, request.parent);
    if ((bits & kHasPriority) != 0) put_fixed(out, request.priority);
    if ((bits & kHasRedirects) != 0) put_varint(out, request.redirects);
    if ((bits & kHasNotBefore) != 0) put_fixed(out, not_before_milliseconds(*request.not_before));
    if ((bits & kHasNote) != 0) put_string(out, request.note);
    if ((bits & kHasHold) != 0) put_string(out, request.hold->reason);
    if ((bits & kHasHold) != 0) put_fixed(out, request.hold->rules);
    if ((bits & kHasKey) != 0) put_string(out, request.key);
    if ((bits & kHasQueue) != 0) put_string(out, queue_in(request, own));
    if ((bits & kHasFingerprint) != 0) put_fixed(out, own.fingerprint->high);
    if ((bits & kHasFingerprint) != 0) put_fixed(out, own.fingerprint->low);
    parent = request.parent;
  }
  return out;
}

std::optional<UrlMessage> decode_requests(std::string_view body) {
  Decoder in(body);
  if (in.varint() != kMessageFormat) return std::nullopt;
  const std::uint64_t count = in.varint();
  constexpr std::size_t kLeastBytes = 3;  // of a request
  if (!in.ok() || count > in.rest().size() / kLeastBytes) return std::nullopt;
  UrlMessage message;
  auto& [requests, given] = message;
  requests.reserve(count);
  bool in_range = true;
  const auto small = [&] {
    const std::uint64_t value = in.varint();
    in_range = in_range && value <= ~std::uint32_t{0};
    return static_cast<std::uint32_t>(value);
  };
  std::string_view parent;
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
    UrlRequest& request = requests.emplace_back();
    const std::uint64_t bits = in.varint();
    const auto has = [&](MessageBit bit) { return (bits & bit) != 0; };
    // A bit that is not known would change what follows.
    if (bits > kAllMessageBits || (has(kHasParent) && has(kHasSameParent)) ||
        (has(kHoldsAlways) && !has(kHasHold)) || (has(kHasFingerprint) && has(kHasKey)) ||
        (has(kHasUnnamedQueue) && !(has(kHasQueue) && has(kHasFingerprint))))
      return std::nullopt;
    request.url = in.string();
    request.depth = small();
    if (has(kHasParent)) request.parent = in.string();
    if (has(kHasSameParent)) request.parent = parent;
    if (has(kHasPriority)) request.priority = in.fixed<std::int32_t>();
    if (has(kHasRedirects)) request.redirects = small();
    if (has(kHasNotBefore)) request.not_before = from_milliseconds(in.fixed<std::int64_t>());
    if (has(kHasNote)) request.note = in.string();
    request.again = has(kIsAgain);
    request.seen_only = has(kIsSeenOnly);
    if (has(kHasHold)) {
      HoldReason& hold = request.hold.emplace();
      hold.reason = in.string();
      hold.rules = in.fixed<std::uint64_t>();
      hold.always = has(kHoldsAlways);
    }
    if (has(kHasKey)) request.key = in.string();
    if (has(kHasQueue)) request.queue = in.string();
    if (has(kHasFingerprint)) {
      given.resize(count);
      const auto high = in.fixed<std::uint64_t>();
      given[i] = {.fingerprint = Fingerprint{.high = high, .low = in.fixed<std::uint64_t>()},
                  .queue = std::string(request.queue),
                  .named = !request.queue.empty() && !has(kHasUnnamedQueue)};
    }
    const bool needs_url = !has(kIsSeenOnly) || !has(kHasFingerprint);
    if ((needs_url && request.url.empty()) || (request.hold && request.hold->reason.empty()))
      return std::nullopt;
    parent = request.parent;
  }
  if (!in.done() || !in_range) return std::nullopt;
  return message;
}

std::vector<std::string> split_requests(std::string body) {
  std::vector<std::string> bodies;
  const auto message = body.size() > kMostMessageBytes ? decode_requests(body) : std::nullopt;
  if (!message) {
    bodies.push_back(std::move(body));
    return bodies;
  }
  const std::span<const UrlRequest> all(message->requests);
  const std::span<const GivenIdentity> given(message->given);
  const auto bytes_at = [&](std::size_t i) {
    return bytes_of(all[i], given.empty() ? kNothingGiven : given[i]);
  };
  for (std::size_t from = 0, n = 0; from < all.size(); from += n) {
    std::size_t bytes = bytes_at(from);
    for (n = 1; from + n < all.size(); ++n) {
      bytes += bytes_at(from + n);
      if (bytes > kMostMessageBytes) break;
    }
    bodies.push_back(
        encode_requests(all.subspan(from, n), given.empty() ? given : given.subspan(from, n)));
  }
  return bodies;
}

}  // namespace trawl
