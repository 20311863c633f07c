// SampleWeb: computes what is at each URL of the sample site from the seed; stores nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crawler/sample_site/sample_site.h"

namespace trawl {

enum class SampleKind : std::uint8_t {
  kPage,     // one of the N HTML pages
  kMissing,  // 404
  kGone,     // 410
  kBroken,   // 500
  kText,     // text/plain full of text that looks like links
  kPdf,      // application/pdf
  kImage,    // image/gif
  kHop,      // one step of a chain of redirects
  kLoop,     // one half of two URLs that redirect to each other
  kLure,     // a redirect to a disallowed URL
  kAway,     // a redirect to the outside host
  kPrivate,  // disallowed by robots.txt, on hosts that have one
  kRobots,   // robots.txt
  kSitemap,  // sitemap.xml
  kOutside,  // anything on the outside host
};

// A resource of the site. `number`: a page's index, or the index of the page that links to the
// resource; for kRobots and kSitemap, the host's index.
struct SampleResource {
  SampleKind kind = SampleKind::kPage;
  std::uint64_t number = 0;
  std::uint32_t step = 0;  // for kHop and kLoop
  friend bool operator==(const SampleResource&, const SampleResource&) = default;
};

struct SampleReply {
  int status = 200;
  std::string content_type{};
  std::string location{};  // for redirects
  std::string body{};
  bool compress = false;  // if the client accepts it
  bool slow = false;
};

// Pages 0 .. hosts-1 are the hosts' roots; the others form a tree below them with eight children
// per page, so every page can be reached. Page i is on host i mod hosts. Immutable, thread-safe.
class SampleWeb {
 public:
  // `options` must be valid, and options.port not 0.
  explicit SampleWeb(const SampleSiteOptions& options);

  std::uint32_t hosts() const { return hosts_; }
  std::uint64_t pages() const { return pages_; }
  std::size_t page_bytes() const { return page_bytes_; }
  static std::string address(std::uint32_t host);
  static std::string outside_address() { return "127.0.0.250"; }
  std::string origin(const std::string& address) const;

  std::uint32_t host_of(const SampleResource& resource) const;
  std::string origin_of(const SampleResource& resource) const;
  // The canonical path and query.
  std::string path_of(const SampleResource& resource) const;
  std::string url_of(const SampleResource& resource) const;

  // The pages below `page` in the tree.
  std::vector<std::uint64_t> children(std::uint64_t page) const;
  std::uint64_t parent(std::uint64_t page) const;
  // What `page` links to in addition to pages; no other page links to these.
  std::vector<SampleResource> extras(std::uint64_t page) const;
  // The target of a kHop, kLoop, kLure or kAway.
  SampleResource redirect_target(const SampleResource& resource) const;

  SampleReply reply(std::uint32_t host, std::string_view target) const;

  std::vector<std::string> seeds() const;
  std::vector<std::string> reachable_urls() const;

  // A number that depends only on the seed and the arguments.
  std::uint64_t random(std::uint64_t number, std::uint64_t purpose) const;

 private:
  bool has_robots(std::uint32_t host) const { return host % 4 != 1; }
  bool disallowed(const SampleResource& resource) const;
  static constexpr std::uint64_t kFeatures = 32;

  // Which extras a page has: features alternate from page to page.
  unsigned feature(std::uint64_t page) const {
    return static_cast<unsigned>((page + seed_) % kFeatures);
  }
  std::uint32_t chain_length(std::uint64_t page) const;

  std::optional<SampleResource> find(std::uint32_t host, const std::string& path) const;
  SampleReply redirect(const SampleResource& resource) const;
  SampleReply serve(const SampleResource& resource) const;
  std::string robots(std::uint32_t host) const;
  std::string sitemap(std::uint32_t host) const;

  std::uint64_t pages_;
  std::uint32_t hosts_;
  std::uint64_t seed_;
  std::uint16_t port_;
  std::size_t page_bytes_;
};

}  // namespace trawl
