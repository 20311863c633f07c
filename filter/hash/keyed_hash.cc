#include <cstdlib>

#include <sys/random.h>

#include "trawl/fingerprint.h"

#include "base/mix.h"
#include "filter/hash/siphash.h"
#include "filter/hash/universal_hash.h"

namespace trawl {

namespace {

// As many rounds as SipHash-1-3 has between its last word and its value.
constexpr int kFinishingRounds = 4;

// Half of what SipHash's permutation makes of the 256 bits, which are secret and uniform: a
// pseudo-random function of them.
Fingerprint finish(const NhSums& sums) noexcept {
  SipState state{
      static_cast<std::uint64_t>(sums.first), static_cast<std::uint64_t>(sums.first >> 64),
      static_cast<std::uint64_t>(sums.second), static_cast<std::uint64_t>(sums.second >> 64)};
  state.rounds<kFinishingRounds>();
  return {.high = state.v0 ^ state.v1, .low = state.v2 ^ state.v3};
}

// Kept apart, so that the short inputs' function needs no stack.
[[gnu::noinline]] Fingerprint hash_long(const ExpandedKey& key, std::string_view bytes) noexcept {
  return finish(hash_many_blocks(key, bytes));
}

}  // namespace

KeyedHash KeyedHash::random() {
  Key key;
  // 16 bytes are below the size up to which getrandom never returns less than asked for; it fails
  // only on kernels without it, where a predictable key would be worse than none.
  if (::getrandom(key.data(), key.size(), 0) != static_cast<ssize_t>(key.size())) std::abort();
  return from_key(key);
}

KeyedHash KeyedHash::from_seed(std::uint64_t seed) {
  const std::uint64_t words[2] = {mix64(seed), mix64(seed + 0x9e3779b97f4a7c15)};
  Key key;
  for (std::size_t i = 0; i < key.size(); ++i)
    key[i] = static_cast<std::uint8_t>(words[i / 8] >> (8 * (i % 8)));
  return from_key(key);
}

KeyedHash KeyedHash::from_key(const Key& key) {
  return KeyedHash(std::make_shared<const ExpandedKey>(expand_key(key)));
}

KeyedHash::Key KeyedHash::key() const noexcept {
  return expanded_->key;
}

Fingerprint KeyedHash::operator()(std::string_view bytes) const noexcept {
  if (bytes.size() > kHashBlockBytes) [[unlikely]]
    return hash_long(*expanded_, bytes);
  return finish(hash_one_block(*expanded_, bytes));
}

}  // namespace trawl
