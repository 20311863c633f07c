// Offers: mostly known, all known, all new, and a peer's mix.
#include <algorithm>
#include <memory>
#include <vector>

#include "trawl/canonicalizer.h"
#include "trawl/growing_bloom_filter.h"
#include "trawl/url.h"

#include "bench/frontier_bench.h"

namespace trawl::bench {

namespace {

// Only parsing, canonical keys, fingerprints and the filter: the minimum for an offer of known
// URLs.
class FilterAlone {
 public:
  explicit FilterAlone(const EmbeddedOptions& options)
      : filter_(value_or_exit(
            GrowingBloomFilter::create({.capacity = options.seen.expected_urls,
                                        .false_positive_rate = options.seen.false_positive_rate,
                                        .hash = options.testing.hash}))) {}

  std::size_t offer(std::span<const UrlRequest> requests) {
    fingerprints_.clear();
    for (const UrlRequest& request : requests) {
      if (!Url::parse_into(request.url, nullptr, url_)) continue;
      fingerprints_.push_back(filter_.hash()(canonical_.key_view(url_, scratch_)));
    }
    if (fingerprints_.size() > capacity_) {
      capacity_ = fingerprints_.size();
      admitted_ = std::make_unique<bool[]>(capacity_);
    }
    return filter_.insert_batch(fingerprints_, {admitted_.get(), fingerprints_.size()});
  }

 private:
  GrowingBloomFilter filter_;
  const Canonicalizer canonical_{Profile{}};
  Url url_;
  std::string scratch_;
  std::vector<Fingerprint> fingerprints_;
  std::unique_ptr<bool[]> admitted_;
  std::size_t capacity_ = 0;
};

// CPU per URL of offering `offers` known ones through `offer`, without that of making them.
template <class Offer>
double cpu_of_known(const UrlMaker& maker, std::uint64_t known, std::uint64_t offers,
                    std::size_t batch_size, std::uint64_t seed, double making, Offer offer) {
  UrlBatch batch(maker, batch_size);
  Random random(seed);
  const Usage before = Usage::now();
  for (std::uint64_t done = 0; done < offers; done += batch_size) {
    batch.clear();
    for (std::size_t i = 0; i < batch_size; ++i)
      batch.add(random.below(known));
    offer(batch.get());
  }
  return (Usage::now() - before).cpu / static_cast<double>(offers) - making;
}

void compare_known(FreshFrontier& frontier, FilterAlone& alone, const UrlMaker& maker,
                   std::uint64_t known, std::size_t batch) {
  constexpr int kRounds = 7;
  const std::uint64_t offers = std::min<std::uint64_t>(known, 100'000 + 1000 * batch);
  std::vector<double> ratios, ours, theirs;
  for (int round = 0; round < kRounds; ++round) {
    const double making = cost_of_making_a_url(maker);
    const auto seed = static_cast<std::uint64_t>(round);
    theirs.push_back(cpu_of_known(maker, known, offers, batch, seed, making,
                                  [&](auto requests) { alone.offer(requests); }));
    ours.push_back(cpu_of_known(maker, known, offers, batch, seed, making,
                                [&](auto requests) { value_or_exit(frontier->offer(requests)); }));
    ratios.push_back(ours.back() / theirs.back());
  }
  std::ranges::sort(ratios);
  row(("CPU of a known URL, offers of " + std::to_string(batch)).c_str(),
      "%6.0f ns; alone %.0f ns; ratio %.2f (%.2f to %.2f)%s", 1e9 * *std::ranges::min_element(ours),
      1e9 * *std::ranges::min_element(theirs), ratios[kRounds / 2], ratios.front(), ratios.back(),
      batch == 1000 ? "  must be <= 1.5" : "");
}

}  // namespace

void bench_offers(const Settings& settings) {
  heading("Offers: 90 % known, two threads, durable (async) when the call returns");
  const UrlMaker maker(settings.hosts);
  const double making = cost_of_making_a_url(maker);
  for (const std::size_t batch : {10, 100, 1000}) {
    // Small calls wait for commits and take longer: fewer of them give the same information.
    const std::uint64_t urls = settings.urls * batch / 1000;
    FreshFrontier frontier(default_options(settings));
    const OfferLoad load{.new_urls = urls, .new_share = 10, .batch = batch, .threads = 2};
    const Usage before = Usage::now();
    offer_all(*frontier, maker, load);
    const Usage used = Usage::now() - before;
    const auto offers = static_cast<double>(load.offers());
    row(("URLs/s, offers of " + std::to_string(batch)).c_str(),
        "%10.0f   CPU a URL %.0f ns (making it, %.0f ns, subtracted); admitted %llu of %llu%s",
        offers / used.wall, 1e9 * (used.cpu / offers - making), 1e9 * making,
        static_cast<unsigned long long>(frontier->stats()->admitted),
        static_cast<unsigned long long>(urls), batch == 1000 ? "  must be >= 1,500,000" : "");
  }
}

void bench_duplicates(const Settings& settings) {
  heading("Known URLs: CPU of the process, against parse + key + fingerprint + filter alone");
  const UrlMaker maker(settings.hosts);
  const EmbeddedOptions options = default_options(settings);
  FreshFrontier frontier(options);
  offer_all(*frontier, maker, {.new_urls = settings.urls, .threads = 2});
  FilterAlone alone(options);
  UrlBatch batch(maker, 1000);
  for (std::uint64_t url = 0; url < settings.urls;) {
    batch.clear();
    for (int i = 0; i < 1000 && url < settings.urls; ++i)
      batch.add(url++);
    alone.offer(batch.get());
  }
  wait_until_quiet();
  for (const std::size_t size : {10, 100, 1000})
    compare_known(frontier, alone, maker, settings.urls, size);
}

void bench_new(const Settings& settings) {
  heading("All new, --threads threads, offers of 1,000");
  constexpr std::size_t kKeyBytes = 20, kFingerprintBytes = 16;
  const UrlMaker maker(settings.hosts);
  std::uint64_t url_bytes = 0;
  char url[UrlMaker::kMaxBytes];
  for (std::uint64_t i = 0; i < settings.urls; ++i)
    url_bytes += maker.write(i, url);
  FreshFrontier frontier(default_options(settings));
  const Usage before = Usage::now();
  offer_all(*frontier, maker, {.new_urls = settings.urls, .threads = settings.threads});
  const Usage offered = Usage::now() - before;
  const Usage quiet = wait_until_quiet() - before;
  const auto urls = static_cast<double>(settings.urls);
  row("admitted/s", "%10.0f   must be >= 700,000", urls / offered.wall);
  row("until compaction has caught up, after the last offer", "%8.1f s; admitted/s with that %.0f",
      quiet.wall - offered.wall, urls / quiet.wall);
  row("CPU a URL, compaction included", "%8.0f ns  must be <= 2,400", 1e9 * quiet.cpu / urls);
  const DurationHistogram commits = frontier->stats()->commit_times;
  row("time a URL in commits, one at a time; URLs a commit", "%8.0f ns; %.0f",
      1e9 * commits.sum / urls, urls / static_cast<double>(commits.count()));
  const double payload = static_cast<double>(url_bytes) + urls * (kKeyBytes + kFingerprintBytes);
  row("bytes written a URL (write(2); to the disk)", "%8.0f; %.0f",
      static_cast<double>(quiet.written) / urls, static_cast<double>(quiet.to_disk) / urls);
  row("write amplification, against URL + key + fingerprint", "%8.2f   (%.0f bytes)  must be <= 8",
      static_cast<double>(quiet.written) / payload, payload / urls);
  const DiskUsage disk = disk_usage(frontier.directory());
  row("bytes kept a queued URL (tables; logs; other)", "%8.0f   (%.0f; %.0f; %.0f)",
      static_cast<double>(disk.all()) / urls, static_cast<double>(disk.tables) / urls,
      static_cast<double>(disk.logs) / urls, static_cast<double>(disk.other) / urls);
}

void bench_mix(const Settings& settings) {
  // URLFrontier (github.com/crawler-commons/url-frontier) reports in its commit 7efe898, "Write
  // each PutDiscovered batch as a single RocksDB WriteBatch", 500,000 new URLs in batches of 256 on
  // one stream with 18 s of the server's CPU, including gRPC: 28,000 URLs a CPU second. Its commit
  // 4f2f73a reports the mix with 45 % known URLs, on two streams.
  constexpr double kPeer = 500'000 / 18.0;
  heading("URLs a CPU second of the process, until it is quiet; batches of 256");
  const UrlMaker maker(settings.hosts);
  const double making = cost_of_making_a_url(maker);
  const auto measure = [&](const char* what, const OfferLoad& load) {
    FreshFrontier frontier(default_options(settings));
    const Usage before = Usage::now();
    offer_all(*frontier, maker, load);
    const Usage offered = Usage::now() - before;
    const auto offers = static_cast<double>(load.offers());
    const double cpu = (wait_until_quiet() - before).cpu - offers * making;
    row(what, "%10.0f   %.1f times URLFrontier's 28,000, which include gRPC; %.0f URLs/s",
        offers / cpu, offers / cpu / kPeer, offers / offered.wall);
  };
  const std::uint64_t urls = std::min<std::uint64_t>(settings.urls, 2'000'000);
  measure("45 % known, 2,000,000 URLs, two threads",
          {.new_urls = urls * 55 / 100, .new_share = 55, .batch = 256, .threads = 2});
  measure("all new, 500,000 URLs, one thread", {.new_urls = urls / 4, .batch = 256, .threads = 1});
}

}  // namespace trawl::bench
