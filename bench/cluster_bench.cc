// What a page of a crawl of many crawlers costs Redis: its processor time, and its memory.
//
//   cluster_bench [--pages N] [--hosts N] [--repetitions N]
//
// Starts redis-servers of its own, one at a time, and uses the shared frontier's own store. A page
// is its end, 4 new links of its host, 1 link taken from the inbox, and 1 sent to another bucket.
// Processor time is that of Redis' main thread by INFO, so the client does not count, nor where it
// runs. The peer is what scrapy-redis does for the same page (one pop, 6 new URLs, in keys without
// buckets, a round trip each), in the same run. Repetitions take turns.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <netinet/in.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/frontier_urls.h"
#include "frontier/shared/bucket_store.h"
#include "frontier/shared/message_ids.h"
#include "frontier/shared/url_messages.h"
#include "frontier/store/store_records.h"

namespace {

using namespace trawl;
using bench::Random;

struct Settings {
  std::uint64_t pages = 200'000;
  std::uint64_t hosts = 20'000;
  int repetitions = 5;
};

constexpr BucketId kBuckets = 256;
constexpr std::size_t kUrlsPerHost = 15;
constexpr const char* kToken = "bench";

[[noreturn]] void fail(std::string_view why) {
  fmt::print(stderr, "cluster_bench: {}\n", why);
  std::exit(1);
}

// A redis-server with no data.
class Server {
 public:
  Server() {
    directory_ = std::filesystem::temp_directory_path() / fmt::format("cluster_bench.{}", getpid());
    std::filesystem::create_directories(directory_);
    const std::string port = std::to_string(free_port());
    std::vector<std::string> words = {"redis-server",      "--port",    port, "--bind",
                                      "127.0.0.1",         "--save",    "",   "--dir",
                                      directory_.string(), "--logfile", "log"};
    std::vector<char*> arguments;
    for (std::string& word : words)
      arguments.push_back(word.data());
    arguments.push_back(nullptr);
    if (::posix_spawnp(&process_, "redis-server", nullptr, nullptr, arguments.data(), environ) != 0)
      fail("redis-server cannot be started; see scripts/deps.sh");
    const RedisOptions options{.addresses = {{.host = "127.0.0.1", .port = port_}}};
    for (int i = 0; client_ == nullptr; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      if (auto client = RedisClient::connect(options)) client_ = std::move(*client);
      if (i == 500) fail("redis-server does not answer");
    }
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  RedisClient& client() { return *client_; }
  double cpu_seconds() {
    const std::string info = ask("cpu");
    return number(info, "used_cpu_sys_main_thread:") + number(info, "used_cpu_user_main_thread:");
  }
  double memory() { return number(ask("memory"), "used_memory:"); }
  std::string version() {
    const std::string info = ask("server");
    const std::size_t at = info.find("redis_version:") + 14;
    return info.substr(at, info.find('\r', at) - at);
  }

 private:
  std::uint16_t free_port() {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    ::bind(socket, reinterpret_cast<sockaddr*>(&address), size);
    ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
    ::close(socket);
    return port_ = ntohs(address.sin_port);
  }
  std::string ask(std::string_view section) {
    const std::vector<RedisAddress> nodes = client_->slots().nodes();
    auto replies = client_->ask_nodes(nodes, {"INFO", section});
    if (!replies[0].reply) fail(replies[0].reply.error().message);
    return replies[0].reply->text;
  }
  static double number(const std::string& info, std::string_view name) {
    const std::size_t at = info.find(name);
    if (at == std::string::npos) fail(fmt::format("INFO has no {}", name));
    return std::strtod(info.c_str() + at + name.size(), nullptr);
  }

  std::filesystem::path directory_;
  std::uint16_t port_ = 0;
  pid_t process_ = 0;
  std::unique_ptr<RedisClient> client_;
};

std::string url_of(std::uint64_t host, std::uint64_t number) {
  return fmt::format("https://www.host{:06}.example.net/news/item-{:010}.html", host, number);
}
std::string record_of(std::uint64_t host, std::uint64_t number) {
  return encode_record({.url = url_of(host, number),
                        .parent = fmt::format("https://www.host{:06}.example.net/", host),
                        .depth = 3});
}

// Crawlers that own all buckets, as far as Redis sees.
class Crawl {
 public:
  Crawl(Server& server, std::uint64_t hosts)
      : store_(server.client(), BucketKeys("crawl"), true), buckets_(kBuckets) {
    store_.set_patience(std::chrono::seconds(60));
    for (std::uint64_t host = 0; host < hosts; ++host)
      buckets_[host % kBuckets].hosts.push_back({.number = host});
    std::vector<BucketStore::Claim> claims;
    for (BucketId b = 0; b < kBuckets; ++b)
      claims.push_back({.bucket = b, .token = kToken});
    for (const auto& claimed : store_.claim(claims))
      check(claimed.result);
  }

  // Queues `count` URLs for each host, without their fingerprints; with the hosts' records if asked
  // for.
  void fill(std::size_t count, bool with_records) {
    for (std::size_t n = 0; n * 8 < buckets_[0].hosts.size() + 8; ++n) {
      std::vector<RedisCommand> commands;
      for (BucketId b = 0; b < kBuckets; ++b) {
        BucketBatch batch;
        for (std::size_t h = n * 8; h < std::min(n * 8 + 8, buckets_[b].hosts.size()); ++h) {
          for (std::size_t i = 0; i < count; ++i)
            add(b, h, batch);
          if (with_records) set_host(b, h, batch);
        }
        batch.admitted.clear();
        commands.push_back(encode(b, batch));
      }
      apply(commands);
    }
  }
  // Fingerprints alone, 40 a batch.
  void admit(std::uint64_t urls) {
    for (std::uint64_t done = 0; done < urls; done += kBuckets * 40) {
      std::vector<RedisCommand> commands;
      for (BucketId b = 0; b < kBuckets; ++b) {
        BucketBatch batch;
        for (int i = 0; i < 40; ++i)
          batch.admitted.push_back(random_.next());
        commands.push_back(encode(b, batch));
      }
      apply(commands);
    }
  }
  // Pages, `per_batch` of each bucket in a batch.
  void crawl(std::uint64_t pages, std::size_t per_batch) {
    send(per_batch);
    for (std::uint64_t done = 0; done < pages; done += kBuckets * per_batch) {
      std::vector<BucketId> all;
      for (BucketId b = 0; b < kBuckets; ++b)
        all.push_back(b);
      const auto inboxes = store_.read_inboxes(all, per_batch);
      std::vector<RedisCommand> commands;
      for (BucketId b = 0; b < kBuckets; ++b) {
        if (!inboxes[b] || inboxes[b]->size() < per_batch) fail("messages are missing");
        commands.push_back(encode(b, pages_of(b, *inboxes[b])));
      }
      apply(commands);
      send(per_batch);
    }
  }

 private:
  struct Host {
    std::uint64_t number = 0;
    std::deque<std::uint64_t> queued = {};
  };
  struct Bucket {
    std::vector<Host> hosts;
    std::uint64_t version = 0, sequence = 1, open = 0, fingerprints = 0;
    std::size_t next_host = 0;
  };

  void check(const BucketStore::Written& written) {
    if (written.code != BucketStore::Written::Code::kDone || written.missing != 0)
      fail(written.error ? written.error->message : "a batch was not applied");
  }
  void apply(const std::vector<RedisCommand>& commands) {
    for (const auto& written : store_.apply(commands))
      check(written);
  }
  static HostId id_of(BucketId b, std::uint64_t host) {
    return static_cast<HostId>(b) << 56 | (mix64(host) >> 8);
  }
  BucketBatch::Queue& queue(BucketId b, std::size_t h, BucketBatch& batch) {
    const HostId id = id_of(b, buckets_[b].hosts[h].number);
    for (BucketBatch::Queue& one : batch.queues)
      if (one.host == id) return one;
    return batch.queues.emplace_back(BucketBatch::Queue{.host = id});
  }
  // A new URL.
  void add(BucketId b, std::size_t h, BucketBatch& batch) {
    Bucket& bucket = buckets_[b];
    Host& host = bucket.hosts[h];
    queue(b, h, batch)
        .added.push_back(encode_queued(bucket.sequence, record_of(host.number, bucket.sequence)));
    host.queued.push_back(bucket.sequence++);
    batch.admitted.push_back(random_.next());
    ++bucket.open;
  }
  void set_host(BucketId b, std::size_t h, BucketBatch& batch) {
    const std::uint64_t number = buckets_[b].hosts[h].number;
    batch.hosts.emplace_back(
        id_of(b, number),
        BucketHost{.record = {.name = fmt::format("www.host{:06}.example.net", number)},
                   .priorities = {0}});
  }
  BucketBatch pages_of(BucketId b, const std::vector<InboxMessage>& messages) {
    BucketBatch batch;
    Bucket& bucket = buckets_[b];
    for (const InboxMessage& message : messages) {
      const std::size_t h = bucket.next_host++ % bucket.hosts.size();
      Host& host = bucket.hosts[h];
      queue(b, h, batch).ended.push_back(host.queued.front());
      host.queued.pop_front();
      --bucket.open;
      for (int i = 0; i < 4; ++i)
        add(b, h, batch);
      if (!decode_requests(message.body)) fail("a message is damaged");
      batch.taken.push_back(message.id);
      add(b, random_.below(bucket.hosts.size()), batch);
    }
    return batch;
  }
  RedisCommand encode(BucketId b, BucketBatch batch) {
    Bucket& bucket = buckets_[b];
    bucket.fingerprints += batch.admitted.size();
    Counters counters;
    counters.admitted = bucket.sequence;
    batch.meta = {.counters = encode_counters(counters),
                  .next_sequence = bucket.sequence,
                  .open = bucket.open,
                  .segment = bucket.fingerprints * 8 / (1 << 20)};
    return store_.encode(b, kToken, ++bucket.version, batch);
  }
  // A link for each page, a message each.
  void send(std::size_t per_bucket) {
    std::vector<BucketStore::Push> pushes;
    for (BucketId b = 0; b < kBuckets; ++b)
      for (std::size_t i = 0; i < per_bucket; ++i) {
        const std::string url = url_of(random_.below(20'000), ++links_);
        const UrlRequest link{
            .url = url, .depth = 3, .parent = "https://www.host000007.example.net/"};
        pushes.push_back(
            {.bucket = b,
             .messages = {{.id = ids_.next(), .body = encode_requests(std::span(&link, 1))}}});
      }
    for (const auto& written : store_.push(pushes))
      check(written);
  }

  BucketStore store_;
  std::vector<Bucket> buckets_;
  MessageIds ids_;
  Random random_{1};
  std::uint64_t links_ = 0;
};

// One pop and six new URLs: SADD of a SHA-1, ZADD of a pickled request of 282 bytes.
void crawl_as_scrapy_redis(Server& server, std::uint64_t pages) {
  Random random(1);
  const auto run = [&](RedisCommand& command) {
    const RedisAnswer answer = server.client().run_one(command, {});
    if (!answer.reply || answer.reply->is_error()) fail("a command of the peer failed");
  };
  for (std::uint64_t page = 0; page < pages; ++page) {
    for (int i = 0; i < 6; ++i) {
      const std::string sha1 = fmt::format("{:016x}{:016x}{:08x}", random.next(), random.next(), i);
      RedisCommand seen("SADD", "spider:dupefilter");
      run(seen.arg("spider:dupefilter").arg(sha1));
      RedisCommand queued("ZADD", "spider:requests");
      run(queued.arg("spider:requests").arg(0).arg(sha1 + std::string(242, 'p')));
    }
    RedisCommand head("ZRANGE", "spider:requests");
    run(head.arg("spider:requests").arg(0).arg(0));
    RedisCommand removed("ZREMRANGEBYRANK", "spider:requests");
    run(removed.arg("spider:requests").arg(0).arg(0));
  }
}

// The median, and the smallest and largest.
class Figure {
 public:
  void add(double value) { values_.push_back(value); }
  std::string text() {
    std::ranges::sort(values_);
    return fmt::format("{:6.1f}  ({:.1f} to {:.1f})", median(), values_.front(), values_.back());
  }
  double median() {
    std::ranges::sort(values_);
    return values_[values_.size() / 2];
  }

 private:
  std::vector<double> values_;
};

void measure_pages(const Settings& settings) {
  const std::vector<std::size_t> per_batch = {1, 4, 16};
  std::vector<Figure> ours(per_batch.size());
  Figure peer;
  for (int r = 0; r < settings.repetitions; ++r) {
    for (std::size_t i = 0; i < per_batch.size(); ++i) {
      Server server;
      Crawl crawl(server, settings.hosts);
      crawl.fill(kUrlsPerHost, false);
      const double before = server.cpu_seconds();
      crawl.crawl(settings.pages, per_batch[i]);
      const auto rounds =
          (settings.pages + kBuckets * per_batch[i] - 1) / (kBuckets * per_batch[i]);
      const double pages = static_cast<double>(rounds * kBuckets * per_batch[i]);
      ours[i].add((server.cpu_seconds() - before) / pages * 1e6);
    }
    Server server;
    const std::uint64_t pages = settings.pages / 50;
    const double before = server.cpu_seconds();
    crawl_as_scrapy_redis(server, pages);
    peer.add((server.cpu_seconds() - before) / static_cast<double>(pages) * 1e6);
  }
  fmt::print("Redis' CPU a page, in microseconds: median (smallest to largest)\n");
  for (std::size_t i = 0; i < per_batch.size(); ++i)
    fmt::print("  {:2} pages a batch              {}\n", per_batch[i], ours[i].text());
  fmt::print("  scrapy-redis, as it works      {}\n", peer.text());
  fmt::print("  ratio to it: {:.1f}, {:.1f}, {:.1f}\n", peer.median() / ours[0].median(),
             peer.median() / ours[1].median(), peer.median() / ours[2].median());
}

void measure_memory(const Settings& settings) {
  const auto bytes_of = [](double units, std::uint64_t hosts,
                           const std::function<void(Crawl&)>& work) {
    Server server;
    Crawl crawl(server, hosts);
    crawl.admit(1);  // the scripts are known
    const double before = server.memory();
    work(crawl);
    return (server.memory() - before) / units;
  };
  const auto urls = static_cast<double>(settings.hosts * kUrlsPerHost);
  fmt::print("Redis' memory, in bytes\n");
  fmt::print("  a queued URL, {} a host        {:6.1f}\n", kUrlsPerHost,
             bytes_of(urls, settings.hosts, [](Crawl& c) { c.fill(kUrlsPerHost, false); }));
  fmt::print("  with its share of the host     {:6.1f}\n",
             bytes_of(urls, settings.hosts, [](Crawl& c) { c.fill(kUrlsPerHost, true); }));
  const double seen = 256.0 * 40 * 400;
  fmt::print("  a seen URL, of {:.1f} million    {:6.1f}\n", seen / 1e6,
             bytes_of(seen, 256, [&](Crawl& c) { c.admit(static_cast<std::uint64_t>(seen)); }));
  fmt::print("  (a URL has {} bytes, its record {})\n", url_of(1, 1).size(),
             record_of(1, 1).size());
}

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    const auto value = static_cast<std::uint64_t>(std::atof(argv[i + 1]));
    if (name == "--pages") settings.pages = value;
    if (name == "--hosts") settings.hosts = std::max<std::uint64_t>(value, kBuckets);
    if (name == "--repetitions")
      settings.repetitions = static_cast<int>(std::max<std::uint64_t>(value, 1));
  }
  return settings;
}

}  // namespace

int main(int argc, char** argv) {
  const Settings settings = parse(argc, argv);
  {
    Server server;
    fmt::print("redis-server {}, {} pages, {} buckets, {} hosts, {} repetitions\n",
               server.version(), settings.pages, kBuckets, settings.hosts, settings.repetitions);
  }
  measure_pages(settings);
  measure_memory(settings);
}
