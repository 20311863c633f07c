// Counts allocations, for which the whole program has its own operator new.
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "trawl/canonicalizer.h"
#include "trawl/url.h"

namespace {

std::atomic<std::size_t> allocations = 0;

}  // namespace

// Not inlined, as compilers would then see malloc()'s memory go to another operator's delete.
[[gnu::noinline]] void* operator new(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace trawl {
namespace {

// The allocations of parsing each of `references` against `base` and taking its key, into buffers
// that have been used for the same before.
std::size_t allocations_of(const std::vector<std::string>& references, const Url* base) {
  const Canonicalizer canonical;
  Url url;
  std::string key;
  std::size_t before = 0;
  for (int round = 0; round < 3; ++round) {
    if (round == 1) before = allocations;
    for (const std::string& reference : references) {
      if (!Url::parse_into(reference, base, url)) ADD_FAILURE() << reference;
      canonical.key_into(url, key);
    }
  }
  return allocations - before;
}

TEST(UrlAllocations, AreCounted) {
  const std::size_t before = allocations;
  const auto url = Url::parse("https://example.com/longer/than/what/a/string/holds/in/itself");
  ASSERT_TRUE(url);
  EXPECT_GT(allocations, before);
}

TEST(UrlAllocations, AbsoluteLinksIntoABufferCostNone) {
  EXPECT_EQ(allocations_of({"https://www.example.com/a/b/c.html?q=1&r=2#top", "http://example.com",
                            "https://example.com:8443/", "http://example.com?q",
                            "https://h.de/x%20y", "https://example.com/" + std::string(500, 'x')},
                           nullptr),
            0u);
}

TEST(UrlAllocations, RelativeLinksIntoABufferCostNone) {
  const auto base =
      Url::parse("https://user@www.example.com:8443/a/directory/of/some/page.html?q#f");
  ASSERT_TRUE(base);
  EXPECT_EQ(allocations_of({"", "#fragment", "?query=1", "/path/absolute/reference.html",
                            "//other.example/x", "relative/reference.html", "../../up/x?y#z", "..",
                            "./here", "https://absolute.example/a/b/c/d/e/f/g.html"},
                           &*base),
            0u);
}

TEST(UrlAllocations, MovesCostNone) {
  Url a = *Url::parse("https://example.com/longer/than/what/a/string/holds/in/itself");
  Url b = a;
  const std::size_t before = allocations;
  Url c = std::move(a);
  b = std::move(c);
  EXPECT_EQ(allocations, before);
  EXPECT_EQ(b.hostname(), "example.com");
}

}  // namespace
}  // namespace trawl
