#include "crawler/warc/warc_builder.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "crawler/warc/cdxj_line.h"
#include "crawler/warc/gzip_member.h"
#include "crawler/warc/http_head.h"
#include "crawler/warc/record_text.h"
#include "crawler/warc/sha1.h"

namespace trawl {

namespace {

constexpr std::string_view kSameDigest =
    "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";
constexpr std::string_view kNotModified =
    "http://netpreserve.org/warc/1.1/revisit/server-not-modified";
// The most letters in hopsFromSeed.
constexpr std::uint32_t kMaxHops = 255;
// Larger buffers are freed after a record.
constexpr std::size_t kMaxKeptText = 1u << 20;

// The common part of all records of an exchange.
struct Common {
  std::string url;
  std::string date;
  std::string main_id;  // of the response or revisit
};

bool has_no_body(int status) {
  return status < 200 || status == 204 || status == 304;
}

}  // namespace

struct WarcBuilder::State {
  explicit State(const WarcBuilderOptions& given) : options(given), gzip(given.level) {}

  WarcBuilderOptions options;
  GzipCompressor gzip;
  Sha1 sha1;
  RecordIdGenerator ids;
  std::string text;  // of the record being made

  void add_main(const WarcExchange& exchange, const Common& common, const std::string& digest,
                const RevisitOf* revisit_of, WarcRecords& records);
  void append_main(const ReplaceableResponse& main, const RevisitOf* of, std::string_view truncated,
                   std::string_view payload, WarcRecords& records);
  void add_request(const WarcExchange& exchange, const Common& common, WarcRecords& records);
  void add_metadata(const WarcExchange& exchange, const Common& common, WarcRecords& records);
  // `fields` are the record's fields without its length and block digest.
  void append_member(std::string& fields, std::string_view block, std::string_view rest,
                     std::string& out);
};

namespace {

void append_revisit_fields(std::string& fields, const RevisitOf& of) {
  append_field(fields, "WARC-Profile", of.server_not_modified ? kNotModified : kSameDigest);
  append_ascii_field(fields, "WARC-Refers-To-Target-URI", record_url(of.url));
  append_ascii_field(fields, "WARC-Refers-To-Date", of.date);
}

void append_http_fields(std::string& fields, const WarcExchange& exchange) {
  append_ascii_field(fields, "WARC-IP-Address", exchange.ip);
  if (!exchange.protocol.starts_with("http/1")) {
    append_ascii_field(fields, "WARC-Protocol", exchange.protocol);
  }
}

// The fields that begin every record.
std::string first_fields(std::string_view type, const std::string& id, const std::string& url,
                         const std::string& date) {
  std::string fields;
  append_field(fields, "WARC-Type", type);
  append_field(fields, "WARC-Record-ID", id);
  append_field(fields, "WARC-Date", date);
  append_field(fields, "WARC-Target-URI", url);
  return fields;
}

std::string metadata_block(const WarcExchange& exchange, const WarcBuilderOptions& options) {
  std::string block;
  append_ascii_field(block, "via", record_url(exchange.via));
  append_ascii_field(block, "hopsFromSeed", std::string(std::min(exchange.hops, kMaxHops), 'L'));
  append_field(block, "fetchTimeMs", std::to_string(exchange.elapsed.count()));
  const std::size_t count = std::min(exchange.outlinks.size(), options.max_outlinks);
  std::size_t listed = 0;
  for (std::size_t limit = block.size() + options.max_outlink_bytes; listed < count; ++listed) {
    const WarcOutlink& link = exchange.outlinks[listed];
    if (block.size() + link.url.size() > limit) break;
    append_field(block, "outlink", record_url(link.url) + " " + std::string(link.kind));
  }
  if (listed < exchange.outlinks.size())
    append_field(block, "outlinksLeftOut", std::to_string(exchange.outlinks.size() - listed));
  return block;
}

}  // namespace

void WarcBuilder::State::append_member(std::string& fields, std::string_view block,
                                       std::string_view rest, std::string& out) {
  append_field(fields, "WARC-Block-Digest", sha1.digest(block, rest));
  text.clear();
  append_record(text, fields, block, rest);
  gzip.append_member(text, out);
  if (text.capacity() > kMaxKeptText) text = {};
}

// The main record: a response, or a revisit if there is `of`.
void WarcBuilder::State::append_main(const ReplaceableResponse& main, const RevisitOf* of,
                                     std::string_view truncated, std::string_view payload,
                                     WarcRecords& records) {
  std::string fields =
      first_fields(of != nullptr ? "revisit" : "response", main.id, main.url, records.date);
  fields += main.http_fields;
  if (of != nullptr) append_revisit_fields(fields, *of);
  append_ascii_field(fields, "WARC-Payload-Digest", main.digest);
  append_ascii_field(fields, "WARC-Truncated",
                     of != nullptr && !of->server_not_modified ? "length" : truncated);
  append_field(fields, "Content-Type", "application/http;msgtype=response");
  if (of != nullptr) payload = {};
  append_member(fields, main.head, payload, records.bytes);
  records.main_length = records.bytes.size();
  records.page_bytes = payload.size();
  const HttpHeadInfo facts = read_http_head(main.head);
  records.cdxj = cdxj_start({.url = main.url,
                             .date = records.date,
                             .mime = of != nullptr ? "warc/revisit" : facts.mime,
                             .status = facts.status,
                             .digest = main.digest});
}

void WarcBuilder::State::add_main(const WarcExchange& exchange, const Common& common,
                                  const std::string& digest, const RevisitOf* revisit_of,
                                  WarcRecords& records) {
  const bool not_modified = revisit_of != nullptr && revisit_of->server_not_modified;
  std::optional<std::uint64_t> payload_size;
  if (!not_modified && !has_no_body(exchange.status)) payload_size = exchange.payload.size();
  ReplaceableResponse main{
      .url = common.url,
      .id = common.main_id,
      .http_fields = {},
      .digest = {},
      .head = archived_response_head(exchange.response_head, exchange.status, payload_size)};
  append_http_fields(main.http_fields, exchange);
  // The payload of a revisit is by definition that of the first capture.
  main.digest = not_modified      ? revisit_of->digest
                : !digest.empty() ? digest
                                  : sha1.digest(exchange.payload);
  append_main(main, revisit_of, exchange.truncated, exchange.payload, records);
  if (options.replaceable && revisit_of == nullptr && exchange.truncated.empty() &&
      records.page_bytes > 0)
    records.replaceable = std::move(main);
}

void WarcBuilder::State::add_request(const WarcExchange& exchange, const Common& common,
                                     WarcRecords& records) {
  std::string fields = first_fields("request", ids.next(), common.url, common.date);
  append_field(fields, "WARC-Concurrent-To", common.main_id);
  append_http_fields(fields, exchange);
  append_field(fields, "Content-Type", "application/http;msgtype=request");
  append_member(fields, archived_request_head(exchange.request_head), {}, records.bytes);
}

void WarcBuilder::State::add_metadata(const WarcExchange& exchange, const Common& common,
                                      WarcRecords& records) {
  std::string fields = first_fields("metadata", ids.next(), common.url, common.date);
  append_field(fields, "WARC-Concurrent-To", common.main_id);
  append_field(fields, "Content-Type", "application/warc-fields");
  append_member(fields, metadata_block(exchange, options), {}, records.bytes);
}

WarcBuilder::WarcBuilder(WarcBuilderOptions options) : state_(std::make_unique<State>(options)) {}
WarcBuilder::~WarcBuilder() = default;
WarcBuilder::WarcBuilder(WarcBuilder&&) noexcept = default;
WarcBuilder& WarcBuilder::operator=(WarcBuilder&&) noexcept = default;

WarcRecords WarcBuilder::build(const WarcExchange& exchange, const std::string& digest,
                               const RevisitOf* revisit_of) {
  WarcRecords records;
  records.date = warc_date(exchange.date);
  const Common common{
      .url = record_url(exchange.url), .date = records.date, .main_id = state_->ids.next()};
  state_->add_main(exchange, common, digest, revisit_of, records);
  if (!exchange.request_head.empty()) state_->add_request(exchange, common, records);
  if (state_->options.metadata) state_->add_metadata(exchange, common, records);
  return records;
}

WarcRecords WarcBuilder::build(const WarcResource& resource) {
  WarcRecords records;
  records.date = warc_date(resource.date);
  const std::string url = record_url(resource.url);
  const std::string digest = state_->sha1.digest(resource.block);
  std::string fields = first_fields("resource", state_->ids.next(), url, records.date);
  append_ascii_field(fields, "WARC-IP-Address", resource.ip);
  append_field(fields, "WARC-Payload-Digest", digest);
  append_field(fields, "Content-Type", resource.content_type);
  state_->append_member(fields, resource.block, {}, records.bytes);
  records.main_length = records.bytes.size();
  records.cdxj = cdxj_start({.url = url,
                             .date = records.date,
                             .mime = resource.content_type,
                             .status = {},
                             .digest = digest});
  return records;
}

void WarcBuilder::replace_by_revisit(WarcRecords& records, const RevisitOf& revisit_of) {
  assert(records.replaceable && "a response that build() made for this");
  const ReplaceableResponse main = std::exchange(records.replaceable, {});
  const std::string others = records.bytes.substr(records.main_length);
  records.bytes.clear();
  state_->append_main(main, &revisit_of, {}, {}, records);
  records.bytes += others;
}

}  // namespace trawl
