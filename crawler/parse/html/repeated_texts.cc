#include "crawler/parse/html/repeated_texts.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "base/mix.h"

namespace trawl {

namespace {

constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 divided by the golden ratio

// Up to 8 bytes.
std::uint64_t load(std::string_view bytes) noexcept {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof value));
  return value;
}

// Of the size, the first 8 bytes and the last 16. Texts that differ elsewhere share a place, so
// that fewer repeats are found.
std::uint64_t sampled_hash(std::string_view text) noexcept {
  const std::size_t size = text.size();
  if (size <= 8) return load(text) ^ size;
  const std::string_view last = text.substr(size - 8);
  const std::string_view before = text.substr(size - std::min<std::size_t>(size, 16));
  return mix64(load(text) ^ size) ^ load(last) ^ (load(before) * kOdd);
}

}  // namespace

void RepeatedTexts::begin() noexcept {
  places_.fill({});
  place_ = nullptr;
}

std::optional<std::uint32_t> RepeatedTexts::find(std::string_view text,
                                                 std::uint64_t kind) noexcept {
  const std::uint64_t hashed = mix64(sampled_hash(text) ^ kind * kOdd);
  asked_ = {.text = text.data(),
            .size = static_cast<std::uint32_t>(text.size()),
            .hash = static_cast<std::uint32_t>(hashed)};
  place_ = &places_[scale_to(hashed, kPlaces)];
  if (place_->hash != asked_.hash || place_->text == nullptr ||
      std::string_view(place_->text, place_->size) != text) {
    return std::nullopt;
  }
  return place_->number;
}

void RepeatedTexts::note(std::uint32_t number) noexcept {
  assert(place_ != nullptr);
  *place_ = asked_;
  place_->number = number;
}

}  // namespace trawl
