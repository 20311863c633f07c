// CrawlReport: what a crawl did, for `trawl report`.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include <nlohmann/json.hpp>

#include "trawl/result.h"

#include "crawler/config/crawl_config.h"
#include "crawler/status/control_client.h"

namespace trawl::cli {

// An object with the answers of the API by their names: "status", "history", "hosts" (those with
// the most fetches), "slowest_hosts", "largest_hosts", "failing_hosts", "waiting_hosts" (the
// longest queues), "errors" and "saved_at". The numbers of pages are those of the tally, which add
// up to the lines of pages.jsonl.
class CrawlReport {
 public:
  // `hosts`: the most hosts in each list. Errors: those of asking the crawl.
  static Result<CrawlReport> of_running(const ControlClient& crawl, std::size_t hosts);
  // Of a stopped crawl; changes nothing. Errors: kNotFound without a crawl, kInUse, kCorrupt, kIo.
  static Result<CrawlReport> of_stopped(const CrawlConfig& config, std::size_t hosts);

  const nlohmann::ordered_json& json() const { return json_; }
  std::string json_text() const;

 private:
  nlohmann::ordered_json json_;
};

}  // namespace trawl::cli
