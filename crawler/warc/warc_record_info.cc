#include "crawler/warc/warc_record_info.h"

#include <charconv>
#include <cstddef>
#include <string_view>

#include "crawler/warc/cdxj_line.h"
#include "crawler/warc/http_head.h"

namespace trawl {

namespace {

constexpr std::string_view kEnd = "\r\n\r\n";

// The value of the named field in the lines of `head`; empty if there is none.
std::string field(std::string_view head, std::string_view name) {
  const std::string start = "\r\n" + std::string(name) + ": ";
  const std::size_t at = head.find(start);
  if (at == std::string_view::npos) return {};
  const std::string_view value = head.substr(at + start.size());
  return std::string(value.substr(0, value.find("\r\n")));
}

}  // namespace

std::optional<WarcRecordInfo> read_record_info(const GzipMember& member) {
  const std::string_view start = member.start;
  const std::size_t end = start.find(kEnd);
  if (!start.starts_with("WARC/1.1\r\n") || end == std::string_view::npos || member.end != kEnd)
    return {};
  const std::string_view head = start.substr(0, end + 2);
  const std::string length_text = field(head, "Content-Length");
  std::uint64_t length = 0;
  const auto [stop, error] =
      std::from_chars(length_text.data(), length_text.data() + length_text.size(), length);
  const std::size_t block = end + kEnd.size();
  if (error != std::errc() || stop != length_text.data() + length_text.size() ||
      member.size - block < kEnd.size() || length != member.size - block - kEnd.size())
    return {};
  return WarcRecordInfo{.type = field(head, "WARC-Type"),
                        .url = field(head, "WARC-Target-URI"),
                        .date = field(head, "WARC-Date"),
                        .digest = field(head, "WARC-Payload-Digest"),
                        .content_type = field(head, "Content-Type"),
                        .block = block};
}

std::string cdxj_start_of(const WarcRecordInfo& facts, const GzipMember& member) {
  if (facts.type == "resource") {
    return cdxj_start({.url = facts.url,
                       .date = facts.date,
                       .mime = facts.content_type,
                       .status = {},
                       .digest = facts.digest});
  }
  const bool revisit = facts.type == "revisit";
  if (!revisit && facts.type != "response") return {};
  const HttpHeadInfo http = read_http_head(std::string_view(member.start).substr(facts.block));
  return cdxj_start({.url = facts.url,
                     .date = facts.date,
                     .mime = revisit ? "warc/revisit" : http.mime,
                     .status = http.status,
                     .digest = facts.digest});
}

}  // namespace trawl
