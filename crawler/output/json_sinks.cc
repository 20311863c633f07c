#include "crawler/output/json_sinks.h"

#include "crawler/output/line_sink.h"
#include "crawler/output/page_line.h"

namespace trawl {

namespace {

class PagesSink final : public LineSink {
 public:
  static constexpr std::string_view kFile = "pages.jsonl";
  static bool is_wanted(const CrawlConfig& config) { return config.output.pages; }
  using LineSink::LineSink;

  bool keeps(const PageOutput& page, std::string_view) const noexcept override {
    return page.listed;
  }
  Result<void> add(PageOutput& page, std::string_view part) override {
    auto added = LineSink::add(page, part);
    // Before the page's charge is given back.
    if (page.page.text) std::string().swap(*page.page.text);
    return added;
  }

 protected:
  void encode_page(const PageOutput& page, std::string& lines) const override {
    append_page_line(lines, page);
  }
};

class LinksSink final : public LineSink {
 public:
  static constexpr std::string_view kFile = "links.jsonl";
  static bool is_wanted(const CrawlConfig& config) { return config.output.links; }
  using LineSink::LineSink;

  SinkInputs inputs() const noexcept override { return {.links = true}; }
  void encode_link(std::string_view from, const LinkRecord& link,
                   std::string& part) const override {
    append_link_line(part, from, link);
  }
};

class SkippedSink final : public LineSink {
 public:
  static constexpr std::string_view kFile = "skipped.jsonl";
  static bool is_wanted(const CrawlConfig& config) { return config.output.skipped; }
  using LineSink::LineSink;

  SinkInputs inputs() const noexcept override { return {.skipped = true}; }
  void encode_skipped(std::string_view from, const SkippedRecord& skipped,
                      std::string& part) const override {
    append_skipped_line(part, from, skipped);
  }
};

}  // namespace

SinkKind pages_sink() {
  return line_sink_kind<PagesSink>();
}
SinkKind links_sink() {
  return line_sink_kind<LinksSink>();
}
SinkKind skipped_sink() {
  return line_sink_kind<SkippedSink>();
}

}  // namespace trawl
