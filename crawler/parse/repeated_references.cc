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

std::uint64_t hash(const Reference& reference) noexcept {
  const std::uint64_t attributes = static_cast<std::uint64_t>(reference.kind) << 48 |
                                   static_cast<std::uint64_t>(reference.element) << 40 |
                                   static_cast<std::uint64_t>(reference.attribute) << 32 |
                                   (reference.rel.size() & 0xffff);
  return mix64(hash(reference.value) ^ mix64(attributes));
}

}  // namespace

void RepeatedReferences::begin() noexcept {
  if (++page_ != 0) return;
  places_ = {};
  page_ = 1;
}

std::optional<std::uint32_t> RepeatedReferences::find(const Reference& reference) {
  asked_ = reference;
  asked_.value = without_fragment(reference.value);
  place_ = &places_[scale_to(hash(asked_), kPlaces)];
  if (place_->page != page_ || place_->reference != asked_) return std::nullopt;
  return place_->link;
}

void RepeatedReferences::note(std::uint32_t link) noexcept {
  *place_ = {.reference = asked_, .page = page_, .link = link};
}

}  // namespace trawl
