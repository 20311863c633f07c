// The pointers of two-byte sequences, as computed by the decoders of the Encoding Standard. The
// lead byte must be valid; an invalid trail byte gives kNoPointer.
#pragma once

#include <cassert>
#include <cstddef>

namespace trawl {

inline constexpr std::size_t kNoPointer = static_cast<std::size_t>(-1);

inline constexpr std::size_t kBig5Pointers = 126 * 157;
inline constexpr std::size_t kEucKrPointers = 126 * 190;
inline constexpr std::size_t kGb18030Pointers = 126 * 190;
inline constexpr std::size_t kJis0208Pointers = 60 * 188;
inline constexpr std::size_t kJis0212Pointers = 94 * 94;

// Lead bytes: 81..FE, except for Shift_JIS and EUC-JP.
constexpr bool is_lead(unsigned byte) {
  return byte >= 0x81 && byte <= 0xFE;
}
constexpr bool is_shift_jis_lead(unsigned byte) {
  return (byte >= 0x81 && byte <= 0x9F) || (byte >= 0xE0 && byte <= 0xFC);
}
constexpr bool is_euc(unsigned byte) {
  return byte >= 0xA1 && byte <= 0xFE;
}

constexpr std::size_t big5_pointer(unsigned lead, unsigned trail) {
  assert(is_lead(lead));
  if (trail >= 0x40 && trail <= 0x7E) return (lead - 0x81) * 157 + (trail - 0x40);
  if (trail >= 0xA1 && trail <= 0xFE) return (lead - 0x81) * 157 + (trail - 0x62);
  return kNoPointer;
}

constexpr std::size_t euc_kr_pointer(unsigned lead, unsigned trail) {
  assert(is_lead(lead));
  if (trail < 0x41 || trail > 0xFE) return kNoPointer;
  return (lead - 0x81) * 190 + (trail - 0x41);
}

constexpr std::size_t gb18030_pointer(unsigned lead, unsigned trail) {
  assert(is_lead(lead));
  if (trail < 0x40 || trail == 0x7F || trail > 0xFE) return kNoPointer;
  return (lead - 0x81) * 190 + (trail - (trail < 0x7F ? 0x40 : 0x41));
}

constexpr std::size_t shift_jis_pointer(unsigned lead, unsigned trail) {
  assert(is_shift_jis_lead(lead));
  if (trail < 0x40 || trail == 0x7F || trail > 0xFC) return kNoPointer;
  return (lead - (lead < 0xA0 ? 0x81 : 0xC1)) * 188 + (trail - (trail < 0x7F ? 0x40 : 0x41));
}

constexpr std::size_t euc_jp_pointer(unsigned lead, unsigned trail) {
  assert(is_euc(lead));
  return is_euc(trail) ? (lead - 0xA1) * 94 + (trail - 0xA1) : kNoPointer;
}

// From this pointer on, Shift_JIS has user-defined characters, which map to U+E000 and the
// following.
inline constexpr std::size_t kFirstUserDefinedPointer = 8836;
inline constexpr std::size_t kLastUserDefinedPointer = 10715;

}  // namespace trawl
