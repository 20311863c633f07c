// The keyed hash of the fingerprints: SipHash-1-3 with 128 bits of output [2].
//
// --- The threat ---
//
// A site chooses the URLs on its pages. If it knew the hash, it could choose URLs that share
// fingerprints, that crowd one block of a filter or that fill chosen bits, and so make the crawler
// drop other sites' URLs ([1], shown on Scrapy). The site does not know the key, which is 16 bytes
// from the operating system. It sees no fingerprint, at most which of its URLs are fetched. Two
// properties are needed, for every set of URLs that is fixed without the key: few collisions, and
// blocks and bits that are spread as by chance. A pseudo-random function has both: N inputs collide
// with probability N^2 / 2^129, and no combination of the output's bits differs from random ones.
//
// --- Why SipHash-1-3 ---
//
// SipHash was made for this threat, and its authors publish its vectors and its analysis. With one
// round a word and three at the end it is what Rust, Ruby and CPython hash untrusted keys with. The
// published attacks on it ([3]) choose differences of internal states or use outputs that they see;
// a site does neither. No hash helps against a reader of the key: state directories are secret.
//
// Faster keyed hashes were measured, and one was used: bench/RESULTS.md. They save 1 % of the
// instructions of a crawl, and are not worth a proof of one's own.
//
// --- Sources ---
//
// 1. Gerbet, Kumar, Lauradoux: The power of evil choices in Bloom filters, DSN 2015.
// 2. Aumasson, Bernstein: SipHash: a fast short-input PRF, INDOCRYPT 2012; the 128-bit variant is
//    in the authors' reference implementation.
// 3. Dobraunig, Mendel, Schläffer: Differential cryptanalysis of SipHash, SAC 2014.
#include <cstdlib>

#include <sys/random.h>

#include "trawl/fingerprint.h"

#include "base/little_endian.h"
#include "base/mix.h"
#include "filter/hash/siphash.h"

namespace trawl {

KeyedHash KeyedHash::random() {
  Key key;
  // getrandom never returns fewer bytes than asked for up to 256. It fails only on kernels without
  // it, where a predictable key would be worse than none.
  if (::getrandom(key.data(), key.size(), 0) != static_cast<ssize_t>(key.size())) std::abort();
  return from_key(key);
}

KeyedHash KeyedHash::from_seed(std::uint64_t seed) noexcept {
  return {mix64(seed), mix64(seed + 0x9e3779b97f4a7c15)};
}

KeyedHash KeyedHash::from_key(const Key& key) noexcept {
  return {load_le64(key.data()), load_le64(key.data() + 8)};
}

KeyedHash::Key KeyedHash::key() const noexcept {
  Key key;
  for (std::size_t i = 0; i < key.size(); ++i)
    key[i] = static_cast<std::uint8_t>((i < 8 ? k0_ : k1_) >> (8 * (i % 8)));
  return key;
}

Fingerprint KeyedHash::operator()(std::string_view bytes) const noexcept {
  return SipHash128<1, 3>(k0_, k1_)(bytes);
}

}  // namespace trawl
