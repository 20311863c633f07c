#include "crawler/warc/warcinfo.h"

#include "crawler/warc/gzip_member.h"
#include "crawler/warc/record_text.h"
#include "crawler/warc/sha1.h"

namespace trawl {

std::string warcinfo_member(const WarcFilesOptions& options, const std::string& file,
                            std::chrono::system_clock::time_point time) {
  std::string block;
  const auto add = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) append_field(block, name, value);
  };
  add("software", "trawl/" TRAWL_VERSION);
  add("format", "WARC File Format 1.1");
  add("conformsTo",
      "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/");
  add("operator", options.operator_name);
  add("description", options.description);
  add("isPartOf", options.crawl);
  add("crawler", options.member);
  add("hostname", options.hostname);
  add("robots", options.robots);
  add("http-header-user-agent", options.user_agent);
  for (const std::string& line : options.config)
    add("config", line);

  std::string fields;
  append_field(fields, "WARC-Type", "warcinfo");
  append_field(fields, "WARC-Record-ID", RecordIdGenerator().next());
  append_field(fields, "WARC-Date", warc_date(time));
  append_field(fields, "WARC-Filename", file);
  append_field(fields, "Content-Type", "application/warc-fields");
  append_field(fields, "WARC-Block-Digest", sha1_digest(block));
  std::string text;
  append_record(text, fields, block);
  std::string member;
  GzipCompressor(1).append_member(text, member);
  return member;
}

}  // namespace trawl
