#include <cstdlib>
#include <cstring>

#include <sys/random.h>

#include "trawl/fingerprint.h"

#include "filter/mix.h"
#include "filter/siphash.h"

namespace trawl {

KeyedHash KeyedHash::random() {
  Key key;
  // 16 bytes are below the size up to which getrandom never returns less than asked for; it fails
  // only on kernels without it, where a predictable key would be worse than none.
  if (::getrandom(key.data(), key.size(), 0) != static_cast<ssize_t>(key.size())) std::abort();
  return from_key(key);
}

KeyedHash KeyedHash::from_seed(std::uint64_t seed) {
  return {mix64(seed), mix64(seed + 0x9e3779b97f4a7c15)};
}

KeyedHash KeyedHash::from_key(const Key& key) {
  std::uint64_t words[2];
  std::memcpy(words, key.data(), key.size());
  return {words[0], words[1]};
}

KeyedHash::Key KeyedHash::key() const noexcept {
  const std::uint64_t words[2] = {k0_, k1_};
  Key key;
  std::memcpy(key.data(), words, key.size());
  return key;
}

Fingerprint KeyedHash::operator()(std::string_view bytes) const noexcept {
  return SipHash128<1, 3>(k0_, k1_)(bytes);
}

}  // namespace trawl
