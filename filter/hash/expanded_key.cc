#include "filter/hash/expanded_key.h"

#include <string_view>

#include "base/little_endian.h"
#include "filter/hash/siphash.h"

namespace trawl {

namespace {

class KeyStream {
 public:
  explicit KeyStream(const KeyedHash::Key& key) noexcept
      : prf_(load_le64(key.data()), load_le64(key.data() + 8)) {}

  Fingerprint next() noexcept {
    char counter[8];
    for (unsigned i = 0; i < sizeof counter; ++i)
      counter[i] = static_cast<char>(blocks_ >> (8 * i));
    ++blocks_;
    return prf_(std::string_view(counter, sizeof counter));
  }

  Uint128 next_number() noexcept {
    const Fingerprint block = next();
    return static_cast<Uint128>(block.high) << 64 | block.low;
  }

 private:
  SipHash128<2, 4> prf_;
  std::uint64_t blocks_ = 0;
};

}  // namespace

ExpandedKey expand_key(const KeyedHash::Key& key) noexcept {
  KeyStream stream(key);
  ExpandedKey expanded;
  for (std::size_t i = 0; i < expanded.nh.size(); i += 2) {
    const Fingerprint block = stream.next();
    expanded.nh[i] = block.low;
    expanded.nh[i + 1] = block.high;
  }
  for (Uint128& offset : expanded.offsets)
    offset = stream.next_number();
  for (Uint128& multiplier : expanded.multipliers)
    multiplier = stream.next_number() >> 2;
  expanded.key = key;
  return expanded;
}

}  // namespace trawl
