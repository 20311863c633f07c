// URLs for the frontier's benchmarks: made from a number, in a few nanoseconds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "trawl/frontier.h"

#include "base/mix.h"

namespace trawl::bench {

// URL number n: 56 to 83 bytes, 70 in the mean, such as
// https://www.host012345.example.net/products/item-0012345678-9f3a66c2.html
class UrlMaker {
 public:
  static constexpr std::size_t kMaxBytes = 96;

  // At most 10^6 hosts.
  explicit UrlMaker(std::uint32_t hosts) : hosts_(hosts) {}

  // Writes URL `number`, below 10^10, to `out`, which has kMaxBytes; returns its length.
  std::size_t write(std::uint64_t number, char* out) const noexcept {
    const std::uint64_t mixed = mix64(number + 1);
    char* at = append(out, "https://www.host");
    at = digits(at, scale_to(mixed, hosts_), 3);
    at = append(at, ".example.net");
    at = append(at, kSections[mixed % kSections.size()]);
    at = digits(at, number, 5);
    *at++ = '-';
    for (int shift = 0; shift < 32; shift += 4)
      *at++ = "0123456789abcdef"[(mixed >> (8 + shift)) & 15];
    at = append(at, ".html");
    return static_cast<std::size_t>(at - out);
  }

 private:
  static constexpr std::array<std::string_view, 8> kSections = {
      "/item-",
      "/products/item-",
      "/news/2026/11/21/item-",
      "/en/article/item-",
      "/blog/archives/item-",
      "/index.php?id=",
      "/catalogue/shoes/item-",
      "/wiki/Category:A-",
  };

  static char* append(char* out, std::string_view text) noexcept {
    std::memcpy(out, text.data(), text.size());
    return out + text.size();
  }

  // Writes `pairs` pairs of decimal digits.
  static char* digits(char* out, std::uint64_t number, int pairs) noexcept {
    for (int i = pairs - 1; i >= 0; --i) {
      const auto pair = static_cast<unsigned>(number % 100);
      number /= 100;
      out[2 * i] = static_cast<char>('0' + pair / 10);
      out[2 * i + 1] = static_cast<char>('0' + pair % 10);
    }
    return out + 2 * pairs;
  }

  std::uint32_t hosts_;
};

// The URLs of one call. Reuses its memory, so that the URLs are in the cache like those that a
// parser has just found.
class UrlBatch {
 public:
  UrlBatch(const UrlMaker& maker, std::size_t capacity)
      : maker_(maker), bytes_(capacity * UrlMaker::kMaxBytes) {
    requests_.reserve(capacity);
  }

  void clear() noexcept { requests_.clear(); }
  // Must not exceed the capacity.
  void add(std::uint64_t number) noexcept {
    char* const out = bytes_.data() + requests_.size() * UrlMaker::kMaxBytes;
    requests_.push_back({.url = {out, maker_.write(number, out)}});
  }
  std::span<const UrlRequest> get() const noexcept { return requests_; }

 private:
  const UrlMaker maker_;
  std::vector<char> bytes_;
  std::vector<UrlRequest> requests_;
};

// Small, fast, seeded random numbers.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() noexcept { return mix64(state_ += 0x9e3779b97f4a7c15); }
  std::uint64_t below(std::uint64_t limit) noexcept { return scale_to(next(), limit); }

 private:
  std::uint64_t state_;
};

}  // namespace trawl::bench
