#include "tests/frontier/frontier_model_run.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/wall_time.h"

namespace trawl::test {

namespace {

constexpr std::size_t kLogged = 2000;

}  // namespace

FrontierModelRun::FrontierModelRun(std::uint64_t seed, const Implementation& implementation)
    : seed_(seed), implementation_(implementation), random_(seed), model_(options_) {
  choose_options();
}

void FrontierModelRun::choose_options() {
  host_count_ = 1 + below(kHosts.size());
  pages_ = 5 + below(60);
  options_.directory = directory_.path() / "state";
  options_.testing.hash = KeyedHash::from_seed(seed_);
  options_.testing.deterministic_seed = seed_;
  options_.testing.before_commit = [this] { return hold_.before_commit(); };
  options_.store.max_memory = kMinFrontierMemory;
  clocks_.use_in(options_);
  options_.seen.expected_urls = 1'000;
  options_.seen.false_positive_rate = 1e-12;
  if (once_in(3)) {
    // As bad as a filter can be: most of what it says is wrong, and the ledger must set it right.
    options_.seen.mode = FilterMode::kExact;
    options_.seen.expected_urls = 16;
    options_.seen.false_positive_rate = 0.3;
    options_.seen.max_memory = 4096;
  }
  options_.seen.ledger = once_in(3);
  options_.politeness.delay = Milliseconds(std::array{0, 100, 1'000}[below(3)]);
  options_.politeness.domain_delay = Milliseconds(once_in(3) ? 300 : 0);
  options_.politeness.leases_per_host = static_cast<std::uint32_t>(1 + below(3));
  options_.retry.retries = static_cast<std::uint32_t>(below(4));
  options_.retry.retry_delay = Milliseconds(2'000);
  options_.retry.max_retry_delay = Milliseconds(10'000);
  options_.retry.host_backoff = Milliseconds(500);
  options_.retry.max_host_backoff = Milliseconds(6'000);
  options_.retry.host_failures = static_cast<std::uint32_t>(below(5));
  options_.limits.lease_timeout = Milliseconds(once_in(3) ? 0 : 30'000);
  options_.store.shards = static_cast<std::uint32_t>(1 + below(3));
  options_.limits.max_open_leases = once_in(4) ? 4 : 1'000;
  options_.checkpoints.keep = static_cast<std::uint32_t>(1 + below(2));
  options_.limits.max_url_length = 200;
  // Other hosts sleep.
  if (once_in(2)) options_.testing.most_hosts_awake = 1 + below(3);
  if (once_in(2)) options_.testing.least_run_in_file = once_in(2) ? 1 : 300;
  options_.store.max_set_aside = once_in(4) ? below(12) : 1'000;
  if (!implementation_.is_durable) {
    options_.store.shards = 1;
    options_.store.max_set_aside = ~std::uint64_t{0};
  }
  power_loss_ = once_in(3);
  options_.store.durability = power_loss_ ? Durability::kSync : Durability::kAsync;
  faults_ = std::make_unique<FileFaults>(
      directory_.path(), power_loss_ ? FileFaults::Track::kPowerLoss : FileFaults::Track::kCrashes);
}

void FrontierModelRun::note(std::string what) {
  log_.push_back(std::move(what));
  if (log_.size() > kLogged) log_.pop_front();
}

std::string FrontierModelRun::log_text() const {
  std::string text = "the last calls:\n";
  for (const auto& line : log_)
    text += "  " + line + "\n";
  return text;
}

void FrontierModelRun::expect_none(const Mismatches& wrong, const std::string& where) {
  for (const auto& line : wrong)
    ADD_FAILURE() << where << ": " << line << "\n" << log_text();
}

void FrontierModelRun::run() {
  if (implementation_.is_durable) {
    run_lives();
  } else if (open()) {
    const std::uint64_t calls = 10 + below(200);
    for (std::uint64_t i = 0; i < calls && !::testing::Test::HasFailure(); ++i)
      step();
  }
  if (::testing::Test::HasFailure()) return;
  drain();
  if (!::testing::Test::HasFailure()) {
    if (const auto urls = listed()) expect_none(model_.check_set_aside(*urls), "set aside");
    note("retry all");
    const auto order = listed().value_or(std::vector<SetAsideUrl>());
    const auto queued = frontier_->retry({});
    EXPECT_EQ(queued.value_or(0), model_.retry({}, order)) << log_text();
    EXPECT_TRUE(model_.set_aside().empty());
    drain();
  }
  if (!::testing::Test::HasFailure()) check_everything();
  frontier_.reset();
}

// One process after the other, most of which die.
void FrontierModelRun::run_lives() {
  const std::uint64_t lives = 1 + below(3);
  for (std::uint64_t life = 0; life < lives && !::testing::Test::HasFailure(); ++life) {
    start_life();
    const std::uint64_t calls = 10 + below(80);
    if (!dead()) arm(calls);
    // After the disk died some calls more: they must fail, or have nothing to write.
    std::uint64_t afterwards = 4;
    for (std::uint64_t i = 0; i < calls && afterwards > 0 && !::testing::Test::HasFailure(); ++i) {
      if (dead()) --afterwards;
      step();
    }
    if (dead()) note("the disk died at: " + faults_->struck_at());
  }
  if (::testing::Test::HasFailure()) return;
  // What follows is on a disk that works.
  if (faults_->heal() || broken_ || once_in(2)) {
    crash_armed_ = false;
    closed_ = false;
    frontier_.reset();
    reopen(false);
  }
}

// Opens the directory again, as often as necessary.
void FrontierModelRun::start_life() {
  closed_ = false;
  if (frontier_ && !broken_ && !dead()) {
    if (once_in(3)) return;
    if (once_in(2)) {
      note("close");
      const auto closed = frontier_->close();
      if (!closed && !faults_->struck())
        ADD_FAILURE() << closed.error().message << "\n" << log_text();
      closed_ = closed.has_value();
    }
  }
  frontier_.reset();
  reopen(true);
}

// Mostly a crash; or checkpoints that fail, which stop nothing.
void FrontierModelRun::arm(std::uint64_t calls) {
  crash_armed_ = false;
  switch (below(6)) {
    case 0:
      return faults_->fail_once(1 + below(8), ENOSPC, ".ckpt");
    case 1:
      return faults_->fail_from(1 + below(8), EIO, ".ckpt");
    case 2:
      return static_cast<void>(faults_->heal());
    default:
      break;
  }
  faults_->crash_at(1 + below(3 * calls), random_());
  crash_armed_ = true;
}

bool FrontierModelRun::dead() const {
  return crash_armed_ && faults_->struck();
}

bool FrontierModelRun::open() {
  note(fmt::format("open with {} shards", options_.store.shards));
  was_struck_ = dead();
  auto opened = implementation_.open(options_, &opened_);
  if (opened) {
    frontier_ = std::move(*opened);
    return true;
  }
  note("  error: " + opened.error().message);
  if (!dead()) {
    ADD_FAILURE() << "cannot open on a disk that works: " << opened.error().message << "\n"
                  << log_text();
  }
  return false;
}

void FrontierModelRun::reopen(bool may_crash) {
  bool opened = false;
  for (int attempt = 0; !opened && attempt < 4 && !::testing::Test::HasFailure(); ++attempt) {
    faults_->heal();
    crash_armed_ = false;
    if (power_loss_) {
      note("power loss");
      faults_->lose_power(random_());
    }
    once_in(2) ? clocks_.restart(Milliseconds(below(5'000)))
               : clocks_.advance(Milliseconds(below(5'000)));
    options_.store.shards = static_cast<std::uint32_t>(1 + below(3));
    if (may_crash && attempt < 3 && once_in(4)) {
      faults_->crash_at(1 + below(60), random_());
      crash_armed_ = true;
    }
    opened = open();
  }
  if (!opened || ::testing::Test::HasFailure()) return;
  broken_ = false;
  find_state();
}

// Which of the states that there may be is there? Nothing else may be.
void FrontierModelRun::find_state() {
  candidates_.insert(candidates_.begin(), model_);
  const auto infos = frontier_->hosts({}, 1'000);
  if (!infos) return void(ADD_FAILURE() << infos.error().message << "\n" << log_text());
  const auto aside = listed();
  if (!aside) return void(ADD_FAILURE() << "set_aside() fails\n" << log_text());
  const FrontierStats stats = frontier_->stats().value();
  for (FrontierModel& candidate : candidates_) {
    candidate.use(options_);
    candidate.restart(opened_.resumed);
  }
  if (candidates_.size() > 1 && unheard_host_) {
    for (const auto& info : *infos) {
      if (info.settings.blocked_until && info.host == *unheard_host_)
        candidates_.back().adopt_block(info.host, to_milliseconds(*info.settings.blocked_until));
    }
  }
  std::string all_wrong;
  bool found = false;
  for (const bool exactly : {true, false}) {
    if (!exactly && closed_) break;
    for (FrontierModel& candidate : candidates_) {
      if (!exactly) candidate.adopt_lesser_counts(stats);
      auto wrong = candidate.check_stats(stats);
      const auto wrong_hosts = candidate.check_hosts(*infos);
      wrong.insert(wrong.end(), wrong_hosts.begin(), wrong_hosts.end());
      const auto wrong_aside = candidate.check_set_aside(*aside);
      wrong.insert(wrong.end(), wrong_aside.begin(), wrong_aside.end());
      if (wrong.empty() && !found) {
        found = true;
        model_ = candidate;
      }
      all_wrong += exactly ? "as it may be:\n" : "as it may be, except for what was seen:\n";
      for (const auto& line : wrong)
        all_wrong += "  " + line + "\n";
    }
    if (found) break;
  }
  candidates_.clear();
  unheard_host_.reset();
  if (!found) ADD_FAILURE() << "after reopening\n" << all_wrong << log_text();
}

// Nothing is lost: all that waits can be leased and completed.
void FrontierModelRun::drain() {
  note("drain");
  for (const std::string& host : model_.host_names()) {
    const HostSettings free = {.limit = HostSettings::kNoLimit,
                               .blocked_until = HostSettings::kNotBlocked};
    for (const auto& done : {frontier_->set_host(host, free)})
      if (!done) ADD_FAILURE() << done.error().message;
    model_.set_host(host, free);
  }
  for (int round = 0; round < 20'000 && !model_.finished(); ++round) {
    lease();
    if (::testing::Test::HasFailure()) return;
    std::vector<std::uint64_t> open;
    for (const auto& [id, lease] : model_.leases()) {
      if (lease.state == ModelLease::kOpen) open.push_back(id);
    }
    for (const std::uint64_t id : open) {
      const auto done = frontier_->complete(id, {.status = 200}, {});
      if (!done) return void(ADD_FAILURE() << done.error().message << "\n" << log_text());
      model_.complete(id, {.status = 200}, {});
    }
    const auto next = model_.next_event();
    if (open.empty()) clocks_.advance(next.value_or(Milliseconds(1)));
  }
  EXPECT_TRUE(model_.finished()) << log_text();
  EXPECT_TRUE(frontier_->progress()->finished) << log_text();
  expect_none(model_.check_stats(frontier_->stats().value()), "stats at the end");
}

// What was admitted is seen; what was not is new.
void FrontierModelRun::check_everything() {
  Offer urls;
  for (std::uint64_t host = 0; host < host_count_; ++host) {
    for (std::uint64_t page = 0; page < pages_; ++page) {
      urls.urls.push_back(fmt::format("http://{}/{}", kHosts[host], page));
      urls.requests.push_back({.url = urls.urls.back()});
    }
  }
  const auto answers = frontier_->offer(urls.requests);
  if (!answers) return void(ADD_FAILURE() << answers.error().message);
  if (*answers != model_.offer(urls.requests))
    ADD_FAILURE() << "another set of URLs is known than was admitted\n" << log_text();
}

}  // namespace trawl::test
