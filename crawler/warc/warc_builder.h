// WarcBuilder: turns an exchange of HTTP messages into WARC 1.1 records, compressed and ready to be
// appended to a file; docs/warc.md describes them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "trawl/url.h"

namespace trawl {

struct WarcOutlink {
  std::string_view url;
  std::string_view kind;  // "a", "img", ...
};

// A request and its response. The views are valid during the call that gets them. What a server
// sent may be any bytes.
struct WarcExchange {
  std::string_view url;            // as fetched
  std::string_view ip;             // of the server, without brackets; empty: unknown
  std::string_view request_head;   // as sent; empty: no request record
  std::string_view response_head;  // as received, with or without its empty last line
  std::string_view payload;        // the body without chunking, still with its Content-Encoding
  std::string_view truncated;      // "length", "time", "disconnect", ...; empty: whole
  int status = 0;
  std::string_view protocol;  // "http/1.1", "h2"; empty: unknown
  std::chrono::system_clock::time_point date;
  // For the metadata record.
  std::string_view via;    // the page the link was on; empty: a seed
  std::uint32_t hops = 0;  // links followed since the seed
  std::chrono::milliseconds elapsed{0};
  std::span<const WarcOutlink> outlinks;
};

// What was got without a message of HTTP. The views are valid during the call that gets them.
struct WarcResource {
  std::string_view url;  // "dns:example.com"
  std::string_view ip;   // of the server; empty: unknown
  std::string_view content_type;
  std::string_view block;
  std::chrono::system_clock::time_point date;
};

// The earlier capture that a revisit record stands for.
struct RevisitOf {
  std::string url;
  std::string date;                  // its WARC-Date; empty: unknown
  std::string digest;                // of its payload; empty: unknown
  bool server_not_modified = false;  // a 304; false: the payload was the same
};

// What WarcBuilder::replace_by_revisit() makes a revisit of.
struct ReplaceableResponse {
  std::string url, id, http_fields, digest, head;
  explicit operator bool() const noexcept { return !id.empty(); }
  std::size_t memory() const noexcept {
    return url.capacity() + id.capacity() + http_fields.capacity() + digest.capacity() +
           head.capacity();
  }
};

// The records of one exchange: response or revisit first, then request, then metadata; a gzip
// member each.
struct WarcRecords {
  std::string bytes;
  std::uint64_t main_offset = 0;  // of the response or revisit in `bytes`
  std::uint64_t main_length = 0;  // of its gzip member
  std::string date;               // its WARC-Date, for later revisits
  // Its line in the index without length, offset and file name; empty: not indexed.
  std::string cdxj;
  std::uint64_t page_bytes = 0;          // of the payload that `bytes` holds, before compression
  ReplaceableResponse replaceable = {};  // see WarcBuilderOptions
};

struct WarcBuilderOptions {
  int level = 1;                    // of compression: 0 (none) to 12 (smallest)
  bool metadata = true;             // a metadata record for each exchange
  std::size_t max_outlinks = 1000;  // listed in it
  std::size_t max_outlink_bytes = 128 * 1024;
  // Whether replace_by_revisit() is to work on whole responses with a payload.
  bool replaceable = false;
};

// Reuses its compressor, digest context and random numbers: each thread has its own builder.
class WarcBuilder {
 public:
  explicit WarcBuilder(WarcBuilderOptions options = {});
  ~WarcBuilder();
  WarcBuilder(WarcBuilder&&) noexcept;
  WarcBuilder& operator=(WarcBuilder&&) noexcept;

  // `digest`: sha1_digest(exchange.payload); empty: computed here. With `revisit_of` the first
  // record is a revisit with the head of the response only; exchange.payload is still that of the
  // response.
  WarcRecords build(const WarcExchange& exchange, const std::string& digest = {},
                    const RevisitOf* revisit_of = nullptr);
  // A resource record alone.
  WarcRecords build(const WarcResource& resource);
  // Makes a revisit of the response in `records`, which is `replaceable`; the rest stays.
  void replace_by_revisit(WarcRecords& records, const RevisitOf& revisit_of);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The text of a WARC-Date: "2026-11-21T20:31:09.123456Z".
std::string warc_date(std::chrono::system_clock::time_point time);

}  // namespace trawl
