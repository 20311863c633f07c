// trawl frontier load, of a crawl in Redis: URLs are sent to the owners of their buckets.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "trawl/url.h"

#include "crawler/cli/exit_codes.h"
#include "crawler/cli/frontier_commands.h"
#include "crawler/cli/frontier_line_loader.h"
#include "crawler/cli/frontier_redis.h"
#include "crawler/cli/say.h"
#include "frontier/shared/message_ids.h"
#include "frontier/shared/url_messages.h"

namespace trawl::cli {

namespace {

// Puts URLs into the inboxes of their buckets, a message a bucket and call. The owner decides which
// ones are new.
class InboxSender {
 public:
  explicit InboxSender(SharedCrawl& crawl) : crawl_(crawl) {}

  Result<std::vector<Admission>> send(std::span<const UrlRequest> requests) {
    std::vector<Admission> admissions;
    std::map<BucketId, std::vector<UrlRequest>> buckets;
    for (const UrlRequest& request : requests) {
      const auto url = Url::parse(request.url);
      admissions.push_back(url ? Admission::kForwarded : Admission::kInvalid);
      if (!url) continue;
      const Fingerprint key = crawl_.identity().of_url(*url, buffer_);
      buckets[crawl_.identity().bucket_of(key.high)].push_back(request);
    }
    std::vector<BucketStore::Push> pushes;
    for (const auto& [bucket, urls] : buckets)
      pushes.push_back(
          {.bucket = bucket, .messages = {{.id = ids_.next(), .body = encode_requests(urls)}}});
    if (auto sent = outcome_of(crawl_.bucket_store().push(pushes)); !sent)
      return tl::unexpected(sent.error());
    return admissions;
  }

 private:
  SharedCrawl& crawl_;
  MessageIds ids_;
  std::string buffer_;
};

// Options of a new frontier, which this one is not.
std::string inapplicable_option(const FrontierLoadArguments& arguments) {
  if (!arguments.config.empty()) return "--config";
  if (arguments.expected_urls) return "--expected-urls";
  if (arguments.false_positive_rate) return "--false-positive-rate";
  if (arguments.exact) return "--exact";
  return arguments.ledger ? "--ledger" : "";
}

}  // namespace

int run_shared_load(const FrontierLoadArguments& arguments) {
  if (const std::string option = inapplicable_option(arguments); !option.empty()) {
    return usage_error(fmt::format(
        "{} is for a new frontier in a directory; a crawl in Redis is begun by its first crawler, "
        "with the settings of its config",
        option));
  }
  const auto file = FrontierLineLoader::open_input(arguments.input);
  if (!file) return report(file.error());
  const auto crawl = open_shared_crawl({arguments.state_dir}, arguments.redis);
  if (!crawl) return crawl.error();
  InboxSender sender(**crawl);
  FrontierLineLoader loader(
      arguments, FrontierLineLoader::kLongestUrl,
      [&](std::span<const UrlRequest> requests) { return sender.send(requests); });
  const auto loaded = loader.load(*file);
  loader.report_unshown();
  say("{}: {} URLs sent to their owners{}, {} invalid\n", arguments.state_dir, loader.fresh(),
      arguments.seen ? ", to be marked as seen" : "", loader.bad());
  if (loader.passed_over() > 0) {
    say("{} held or failed URLs were not sent; --set-aside {} them too\n", loader.passed_over(),
        arguments.seen ? "marks" : "queues");
  }
  if (!loaded) {
    const int code = report(loaded.error());
    say(stderr, "trawl: the file can be loaded again: URLs that were sent already are seen then\n");
    return code;
  }
  if (loader.bad() == 0 || arguments.skip_bad_lines) return kDone;
  say(stderr,
      "trawl: nothing after the first bad line was sent; correct the file or give "
      "--skip-bad-lines, and load it again: URLs that were sent already are seen then\n");
  return kFailed;
}

}  // namespace trawl::cli
