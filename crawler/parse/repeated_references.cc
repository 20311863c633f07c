#include "crawler/parse/repeated_references.h"

#include <algorithm>
#include <cstring>

#include "base/mix.h"

namespace trawl {

namespace {

constexpr bool is_space(char c) noexcept {
  return static_cast<unsigned char>(c) <= ' ';
}

// The part that names the resource. White space is removed at the end of a reference, but belongs
// to the URL in front of a fragment.
std::string_view without_fragment(std::string_view value) noexcept {
  const std::string_view before = value.substr(0, value.find('#'));
  return before.size() == value.size() || before.empty() || !is_space(before.back()) ? before
                                                                                     : value;
}

// Up to 8 bytes.
std::uint64_t load(std::string_view bytes) noexcept {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof value));
  return value;
}

// Of the size, the first 8 bytes and the last 16. References that differ elsewhere share a place,
// so that fewer repeats are found.
std::uint64_t hash(std::string_view value) noexcept {
  const std::size_t size = value.size();
  if (size <= 8) return load(value) ^ size;
  const std::string_view last = value.substr(size - 8);
  const std::string_view before = value.substr(size - std::min<std::size_t>(size, 16));
  return mix64(load(value) ^ size) ^ load(last) ^ (load(before) * 0x9e3779b97f4a7c15);
}

// Of a reference that leads to `target`.
std::uint64_t hash(const Reference& reference, std::string_view target) noexcept {
  const std::uint64_t attributes = static_cast<std::uint64_t>(reference.kind) << 48 |
                                   static_cast<std::uint64_t>(reference.element) << 40 |
                                   static_cast<std::uint64_t>(reference.attribute) << 32 |
                                   (reference.rel.size() & 0xffff);
  return mix64(hash(target) ^ attributes * 0x9e3779b97f4a7c15);
}

}  // namespace

void RepeatedReferences::begin(std::span<const Reference> references) noexcept {
  references_ = references;
  places_.fill({});
}

std::optional<std::uint32_t> RepeatedReferences::find(std::size_t i) noexcept {
  const Reference& reference = references_[i];
  const std::string_view target = without_fragment(reference.value);
  const std::uint64_t hashed = hash(reference, target);
  asked_ = {.hash = static_cast<std::uint32_t>(hashed),
            .reference = static_cast<std::uint32_t>(i),
            .size = static_cast<std::uint32_t>(target.size())};
  place_ = &places_[scale_to(hashed, kPlaces)];
  if (!leads_to(*place_, reference, target)) return std::nullopt;
  return place_->link;
}

bool RepeatedReferences::leads_to(const Place& place, const Reference& reference,
                                  std::string_view target) const {
  if (place.hash != asked_.hash || place.size != asked_.size || place.reference == kNone)
    return false;
  const Reference& other = references_[place.reference];
  return other.value.substr(0, place.size) == target && other.kind == reference.kind &&
         other.element == reference.element && other.attribute == reference.attribute &&
         other.rel == reference.rel;
}

void RepeatedReferences::note(std::uint32_t link) noexcept {
  *place_ = asked_;
  place_->link = link;
}

}  // namespace trawl
