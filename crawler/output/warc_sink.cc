#include "crawler/output/warc_sink.h"

#include <utility>

#include "base/one_thread.h"
#include "crawler/config/crawl_paths.h"
#include "crawler/config/shown_config.h"
#include "crawler/warc/warc_files.h"
#include "crawler/warc/warc_names.h"

namespace trawl {

namespace {

class WarcEncoder final : public ExchangeEncoder {
 public:
  explicit WarcEncoder(bool metadata) : builder_({.metadata = metadata, .replaceable = true}) {}

  void encode(const WarcExchange& exchange, const std::string& digest, const RevisitOf* revisit,
              PageOutput& page, std::string&) override {
    page.warc = builder_.build(exchange, digest, revisit);
  }
  void encode(const WarcResource& resource, PageOutput& page, std::string&) override {
    page.warc = builder_.build(resource);
  }

 private:
  WarcBuilder builder_;
};

// Records of a group that failed stay: each is complete, and the page is fetched again.
class WarcSink final : public OutputSink {
 public:
  WarcSink(std::unique_ptr<WarcFiles> files, const CrawlConfig::Output& config)
      : files_(std::move(files)),
        metadata_(config.warc_metadata),
        files_age_(config.warc_time.count() > 0) {}

  SinkInputs inputs() const noexcept override { return {.exchanges = true, .outlinks = metadata_}; }
  std::unique_ptr<ExchangeEncoder> exchange_encoder() const override {
    return std::make_unique<WarcEncoder>(metadata_);
  }
  bool keeps(const PageOutput& page, std::string_view) const noexcept override {
    return page.warc.has_value();
  }

  Result<void> add(PageOutput& page, std::string_view) override {
    if (!page.warc) return {};
    if (page.written.earlier_body && page.warc->replaceable)
      builder_.replace_by_revisit(*page.warc, *page.written.earlier_body);
    auto place = files_->append(*page.warc);
    if (!place) return tl::unexpected(place.error());
    page.written.place = std::move(*place);
    page.warc.reset();
    return {};
  }
  Result<void> flush(bool sync) override {
    return files_->flush(sync).and_then([&] { return files_->close_if_old(); });
  }
  Result<void> do_periodic_work() override { return files_->close_if_old(); }
  // A file to which nothing is written is closed all the same when it is old enough.
  std::chrono::milliseconds tick_interval() const noexcept override {
    return files_age_ ? std::chrono::seconds(1) : OutputSink::tick_interval();
  }
  Result<void> close() override { return files_->close(); }

 private:
  std::unique_ptr<WarcFiles> files_;
  WarcBuilder builder_;  // of revisits
  const bool metadata_;
  const bool files_age_;
};

WarcFilesOptions options_of(const CrawlConfig& config) {
  WarcFilesOptions options;
  options.prefix = warc_prefix(config);
  options.max_size = config.output.warc_size;
  options.max_age = config.output.warc_time;
  options.cdxj = config.output.cdxj;
  options.operator_name = config.output.warc_operator;
  options.description = config.output.warc_description;
  if (config.cluster.enabled()) {
    options.crawl = config.cluster.name;
    options.member = cluster_member(config.cluster, config.crawl.state_dir);
  }
  options.user_agent = config.crawl.user_agent;
  options.config = shown_config(config);
  options.robots = config.politeness.respect_robots ? "obey" : "ignore";
  return options;
}

Result<std::unique_ptr<OutputSink>> open(const SinkOpening& opening) {
  auto files = WarcFiles::open(opening.directory, options_of(opening.config));
  if (!files) return tl::unexpected(files.error());
  for (const WarcRepairReport& repair : (*files)->repairs())
    opening.repairs->push_back(repair.message);
  return std::make_unique<WarcSink>(std::move(*files), opening.config.output);
}

}  // namespace

SinkKind warc_sink() {
  return {
      .stage = SinkKind::Stage::kRecords,
      .is_wanted = [](const CrawlConfig& config) { return config.output.warc; },
      .open = open,
      .owns = [](std::string_view name,
                 const CrawlConfig& config) { return is_warc_name(name, warc_prefix(config)); }};
}

}  // namespace trawl
