// The keyed hash of the fingerprints: algorithm 2 in files (1 was SipHash-1-3 with 128 bits).
//
// --- The threat ---
//
// A site chooses the URLs on its pages. If it knew the hash, it could choose them to share
// fingerprints, to crowd one block of a filter or to fill chosen bits, and so make the crawler
// drop other sites' URLs ([1], shown on Scrapy). It does not know the key, which is 16 bytes from
// the operating system; it sees no fingerprint, at most which of its URLs are fetched. So two
// things are needed, for every set of URLs fixed without the key: few collisions, and blocks and
// bits that are spread as by chance.
//
// --- The construction ---
//
// All numbers are little-endian; words have 64 bits.
//
// 1. Key words. SipHash-2-4 with 128 bits of output [2], keyed with the 16 bytes, of the 8-byte
//    counters 0, 1, … 68 gives 138 words, low half of each output first: k[0..129], two offsets
//    and two multipliers of 128 bits, the multipliers shifted right by 2.
// 2. Words of the input. Of n >= 16 bytes: the last 16 as two words, then 16 by 16 from the start
//    while less than n - 16 is behind; the last 16 may overlap those before. Of fewer: one pair,
//    of the first and last 8 bytes (n >= 8), the first and last 4 (n >= 4), or of b[0] + 2^8
//    b[n/2] + 2^16 b[n-1] and 0; of 0 and 0 if n = 0. For a given n this loses nothing.
// 3. NH [3], two chains. A = sum of (m[i] + k[i]) (m[i+1] + k[i+1]) over even i, factors modulo
//    2^64, sums modulo 2^128; B likewise with k[i+2], k[i+3].
// 4. More than 1,024 bytes: A and B of each block of 1,024 bytes (the last may be shorter), joined
//    for each chain by a polynomial modulo 2^127 - 1 with r, the chain's multiplier: from s = 1
//    on, s = (s r + low half) r + high half.
// 5. A += offset[0] + n, B += offset[1].
// 6. Finish. Four of SipHash's rounds on the state (A low, A high, B low, B high). Then high = v0
//    ^ v1, low = v2 ^ v3.
//
// The time is linear in n: two multiplications for 16 bytes.
//
// --- The bound ---
//
// Let the key words be uniform. (That they may be taken so is SipHash-2-4 being a pseudo-random
// function; it is asked 69 fixed questions.) For two different inputs, with b blocks at most, (A,
// B) is the same with probability at most (2^-63 + 6 b / 2^126)^2: 2^-126 for URLs of up to 1,024
// bytes, the same to 17 digits at 2,083 bytes (3 blocks), and below 2^-125 for any length that 64
// bits can count.
//
// - Same length. Some pair of words differs. One chain's sums differ by a given number with
//   probability at most 2^-64; both chains', with key words shifted by one pair, at most 2^-128
//   ([3], section 4: NH and its Toeplitz construction).
// - Other length, as many pairs. If all words are the same, A differs by the difference of the
//   lengths. Else as above, for that difference.
// - More pairs. The last pair's key words are used by nothing else in its chain, and by nothing
//   before in the other. (x + k)(y + k') is a given number for fewer than 2^65 of the 2^128 values
//   of (k, k'), so at most 2^-63 a chain, 2^-126 both.
// - Polynomials. Two that differ have a degree of at most 2b; their difference is one of the three
//   residues that equal sums allow for at most 6b of the 2^126 multipliers. They differ unless all
//   blocks' sums are the same; the leading 1 parts different numbers of blocks. Both chains'
//   multipliers are independent.
//
// This much needs no assumption about step 6. Step 6 is the other half of "a pseudo-random
// function of a universal hash" [4]: while no two (A, B) are the same, its values cannot be told
// from numbers drawn at random, in any part or combination of their bits. For N inputs of an
// attacker who evaluates SipHash's rounds T times himself:
//
//     advantage <= N^2 / 2^126 + N T / 2^256 + T / 2^128 + that against SipHash-2-4
//
// The first term is two equal (A, B) or two equal fingerprints among N, and a permutation's half
// being taken for a function [6]. The second is meeting one of the states: the offsets make each
// uniform and secret, as in the construction of Even and Mansour [5]. The third is going back from
// a fingerprint by guessing its missing half; it falls away for an attacker who sees none. With
// 10^10 URLs the first term is about 10^-18.
//
// Proven is that (A, B) collides no more often than said. By design, four of SipHash's rounds are
// as good as a random permutation to someone who knows neither their input nor, in our case, their
// output. Four is what SipHash-1-3 has between its last word and its value. The finish of
// SipHash-2-4, four rounds as well, has been told from a random function [7], but by choosing the
// difference of two states, and any one difference of (A, B) has a probability of at most 2^-125.
// Who reads the key is not held off at all: state directories are secret.
//
// --- Sources ---
//
// 1. Gerbet, Kumar, Lauradoux: The power of evil choices in Bloom filters, DSN 2015.
// 2. Aumasson, Bernstein: SipHash: a fast short-input PRF, INDOCRYPT 2012.
// 3. Black, Halevi, Krawczyk, Krovetz, Rogaway: UMAC: fast and secure message authentication,
//    CRYPTO 1999. With 64-bit words, and polynomials modulo 2^127 - 1 over it: Krovetz, Message
//    authentication on 64-bit architectures, SAC 2006, and Krovetz, Dai: VMAC, 2007.
// 4. Wegman, Carter: New hash functions and their use in authentication and set equality, JCSS
//    1981; with proof: Boneh, Shoup: A graduate course in applied cryptography, chapter 7.
// 5. Even, Mansour: A construction of a cipher from a single pseudorandom permutation, J.
//    Cryptology 1997; with SipHash-like rounds: Mouha et al., Chaskey, SAC 2014.
// 6. Hall, Wagner, Kelsey, Schneier: Building PRFs from PRPs, CRYPTO 1998; Gilboa, Gueron: The
//    advantage of truncated permutations, 2016.
// 7. Dobraunig, Mendel, Schläffer: Differential cryptanalysis of SipHash, SAC 2014.
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
