// trawl filter build
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "trawl/sizing.h"

#include "crawler/cli/any_filter.h"
#include "crawler/cli/exit_codes.h"
#include "crawler/cli/filter_commands.h"
#include "crawler/cli/filter_report.h"
#include "crawler/cli/filter_sink.h"
#include "crawler/cli/filter_values.h"
#include "crawler/cli/interrupt_cleanup.h"
#include "crawler/cli/line_reader.h"
#include "crawler/cli/say.h"
#include "filter/exact/exact_keys_builder.h"

namespace trawl::cli {

namespace {

constexpr std::uint64_t kGrowingCapacity = 1'000'000;

// "45 s", "12 min", "3.5 h"
std::string readable_time(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", seconds);
  if (seconds < 90 * 60) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

// Prints progress: on a terminal one line, rewritten every second; with --progress a new line every
// second; else a line every half minute.
class BuildProgress {
 public:
  BuildProgress(const FilterBuildArguments& arguments, std::uint64_t capacity)
      : terminal_(::isatty(STDERR_FILENO) != 0),
        shown_(!arguments.quiet),
        interval_(terminal_ || arguments.progress ? 1 : 30),
        capacity_(capacity) {}

  void update(std::uint64_t lines, const FilterSink& sink) {
    const auto now = Clock::now();
    if (lines <= kFirstLines) {
      began_ = now;
      began_lines_ = lines;
    }
    if (!is_due(now)) return;
    const double seconds = seconds_between(last_lines_at_, now);
    const std::string speed =
        readable_count(static_cast<double>(lines - last_lines_) / seconds) + "/s";
    std::string when = speed;
    if (lines >= 2 * kFirstLines && lines < capacity_) {
      // The mean includes the time of sweeps.
      const double mean = seconds_between(began_, now) / static_cast<double>(lines - began_lines_);
      const double left = mean * static_cast<double>(capacity_ - lines) + sink.seconds_to_finish();
      when = fmt::format("about {} left for {} keys, {}", readable_time(left),
                         readable_count(static_cast<double>(capacity_)), speed);
    }
    last_lines_ = lines;
    last_lines_at_ = now;
    print(now, fmt::format("{} lines, {}, {}", readable_count(static_cast<double>(lines)), when,
                           sink.progress()));
  }

  // The sweep and the writing of the file, which take long.
  void sweeping(double share) {
    if (const auto now = Clock::now(); is_due(now))
      print(now, fmt::format("adding the keys set aside to the filter, {:.0f} %", 100 * share));
  }
  void writing(const std::string& path, double share) {
    const auto now = Clock::now();
    if (!writing_since_) writing_since_ = now;
    if (!is_due(now)) return;
    const double left = seconds_between(*writing_since_, now) * (1 - share) / std::max(share, 1e-3);
    print(now, fmt::format("writing {}, {:.0f} %, about {} left", path, 100 * share,
                           readable_time(left)));
  }

  // Ends the live line, so that later output starts on a new line.
  void end() {
    if (line_open_) std::fputs("\r\x1b[K", stderr);
    line_open_ = false;
  }

 private:
  using Clock = std::chrono::steady_clock;

  static double seconds_between(Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
  }
  bool is_due(Clock::time_point now) const { return shown_ && now - last_ >= interval_; }
  void print(Clock::time_point now, const std::string& line) {
    last_ = now;
    // Errors are ignored: a closed terminal must not end the work.
    std::fputs((terminal_ ? "\r" + line + "\x1b[K" : line + "\n").c_str(), stderr);
    line_open_ = terminal_;
  }

  const bool terminal_;
  const bool shown_;
  const std::chrono::seconds interval_;
  const std::uint64_t capacity_;
  // The first lines also touch the filter's memory for the first time, so the mean starts after
  // them.
  static constexpr std::uint64_t kFirstLines = 32 * LineReader::kMaxLines;
  Clock::time_point began_ = Clock::now();  // when the counting for the mean began
  std::uint64_t began_lines_ = 0;
  Clock::time_point last_ = began_;
  Clock::time_point last_lines_at_ = began_;
  std::optional<Clock::time_point> writing_since_;
  std::uint64_t last_lines_ = 0;
  bool line_open_ = false;
};

// Option values that exclude each other or that no filter can have are wrong usage; other errors
// are failures.
int report_plan(const Error& error) {
  return error.code == ErrorCode::kInvalidArgument ? usage_error(error.message) : report(error);
}

Result<void> plan_like(const FilterBuildArguments& arguments, FilterPlan& plan) {
  const std::array<std::pair<const char*, bool>, 7> taken{{
      {"--capacity", arguments.capacity.has_value()},
      {"--fpr", arguments.rate.has_value()},
      {"--kind", arguments.kind.has_value()},
      {"--key", arguments.hash_key.has_value()},
      {"--bits", arguments.size.bits.has_value()},
      {"--bits-per-key", arguments.size.bits_per_key.has_value()},
      {"--hashes", arguments.size.hashes.has_value()},
  }};
  for (const auto& [option, given] : taken) {
    if (!given) continue;
    return error(ErrorCode::kInvalidArgument,
                 fmt::format("{} cannot be combined with --like, which takes the value from {}",
                             option, arguments.like));
  }
  const auto index = read_filter_index(arguments.like);
  if (!index) return tl::unexpected(index.error());
  plan.kind = index->header.kind;
  plan.options = {.capacity = index->header.capacity,
                  .false_positive_rate = index->header.target_rate,
                  .hash = KeyedHash::from_key(index->header.hash_key)};
  if (plan.kind == FilterKind::kClassic) {
    // A filter that was built for a size cannot be planned from its rate alone.
    const SnapshotSection& section = index->header.sections.front();
    const std::uint64_t bits = section.words * 64;
    const auto by_rate = filter_size(plan.kind, plan.options);
    if (!by_rate || by_rate->bits != bits || by_rate->hashes != section.hashes) {
      plan.options.bits = bits;
      plan.options.hashes = section.hashes;
    }
  }
  return {};
}

// Of capacity, rate and size, any two determine the third.
Result<void> plan_classic_size(const FilterBuildArguments& arguments, FilterPlan& plan) {
  const FilterSizeOptions& size = arguments.size;
  const bool sized = size.bits || size.bits_per_key;
  if (!sized && !size.hashes) return {};
  if (plan.kind != FilterKind::kClassic) {
    return error(ErrorCode::kInvalidArgument,
                 fmt::format("--bits, --bits-per-key and --hashes need a classic filter, and this "
                             "is a {} one: add --kind classic, or give --fpr instead",
                             name_of(plan.kind)));
  }
  if (size.bits && size.bits_per_key) {
    return error(ErrorCode::kInvalidArgument,
                 "--bits and --bits-per-key both set the filter's size: give one of them");
  }
  if (sized && arguments.capacity && arguments.rate) {
    return error(
        ErrorCode::kInvalidArgument,
        fmt::format("--capacity and {} determine the rate: leave out --fpr, or one of the two",
                    size.bits ? "--bits" : "--bits-per-key"));
  }
  plan.options.bits = size.bits.value_or(0);
  plan.options.bits_per_key = size.bits_per_key.value_or(0);
  plan.options.hashes = size.hashes.value_or(0);
  return {};
}

Result<FilterPlan> plan_of(const FilterBuildArguments& arguments) {
  FilterPlan plan;
  plan.path = arguments.output;
  plan.max_memory = arguments.max_memory.value_or(0);
  plan.max_spool = arguments.max_spool.value_or(0);
  if (!arguments.like.empty()) {
    if (const auto like = plan_like(arguments, plan); !like) return tl::unexpected(like.error());
  } else {
    plan.kind =
        arguments.kind.value_or(arguments.capacity ? FilterKind::kBlocked : FilterKind::kGrowing);
    if (const auto sized = plan_classic_size(arguments, plan); !sized)
      return tl::unexpected(sized.error());
    if (!arguments.capacity && !arguments.size.bits && plan.kind != FilterKind::kGrowing) {
      return error(ErrorCode::kInvalidArgument,
                   fmt::format("--kind {} needs --capacity, the number of keys to plan for; only a "
                               "growing filter does without",
                               name_of(plan.kind)));
    }
    plan.options.false_positive_rate = arguments.rate.value_or(kDefaultFilterRate);
    plan.options.capacity = arguments.capacity.value_or(kGrowingCapacity);
    if (!arguments.capacity && plan.options.bits != 0) {
      plan.options.capacity = classic_bloom_capacity(plan.options.bits, plan.options.hashes,
                                                     plan.options.false_positive_rate);
    }
    if (arguments.hash_key) plan.options.hash = KeyedHash::from_key(*arguments.hash_key);
  }
  if (arguments.max_memory && plan.kind == FilterKind::kGrowing) {
    return error(ErrorCode::kInvalidArgument,
                 "--max-memory cannot be combined with a growing filter, whose size depends on the "
                 "number of keys: give --capacity for a blocked filter");
  }
  return plan;
}

Result<void> check_not_an_input(const FilterBuildArguments& arguments) {
  for (const auto& input : arguments.inputs) {
    std::error_code ignored;
    if (std::filesystem::equivalent(input, arguments.output, ignored)) {
      return error(ErrorCode::kInvalidArgument,
                   fmt::format("{} is both input and output: give another --output", input));
    }
  }
  return {};
}

// Removes unfinished files if the user interrupts the command.
std::unique_ptr<InterruptCleanup> guard_unless(bool guarded) {
  if (guarded) return nullptr;
  auto guard = std::make_unique<InterruptCleanup>();
  guard->arm();
  return guard;
}

// Returns the number of lines.
Result<std::uint64_t> add_lines(LineReader& lines, FilterSink& sink, ExactKeysBuilder* exact,
                                BuildProgress& progress) {
  const KeyedHash hash = sink.hash();
  std::array<Fingerprint, LineReader::kMaxLines> keys;
  std::uint64_t count = 0;
  while (true) {
    const auto some = lines.next();
    if (!some) return tl::unexpected(some.error());
    if (some->empty()) return count;
    for (std::size_t i = 0; i < some->size(); ++i)
      keys[i] = hash((*some)[i]);
    if (auto added = sink.add({keys.data(), some->size()}); !added)
      return tl::unexpected(added.error());
    if (exact != nullptr) {
      if (auto added = exact->add({keys.data(), some->size()}); !added)
        return tl::unexpected(added.error());
    }
    count += some->size();
    progress.update(count, sink);
  }
}

// The keys file is complete before the filter's file is replaced, and is renamed right after it.
Result<BuiltFilter> finish(FilterSink& sink, std::optional<ExactKeysBuilder>& exact) {
  if (exact) {
    const auto guard = guard_unless(sink.cleans_up_on_interrupt());
    if (const auto sorted = exact->finish(); !sorted) return tl::unexpected(sorted.error());
  }
  auto built = sink.finish();
  if (!built || !exact) return built;
  const auto guard = guard_unless(sink.cleans_up_on_interrupt());
  if (const auto published = exact->publish(); !published) return tl::unexpected(published.error());
  built->fresh = exact->keys();
  return built;
}

std::uint64_t file_bytes(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return error ? 0 : size;
}

}  // namespace

int run_filter_build(const FilterBuildArguments& arguments) {
  auto plan = plan_of(arguments);
  if (!plan) return report_plan(plan.error());
  const auto ready =
      LineReader::check_inputs(arguments.inputs)
          .and_then([&] { return check_filter_output(arguments.output, arguments.force); })
          .and_then([&] {
            return arguments.exact ? check_exact_output(arguments.output, arguments.force)
                                   : Result<void>{};
          })
          .and_then([&] { return check_not_an_input(arguments); });
  if (!ready) return report(ready.error());
  // A growing filter has no planned number of keys.
  BuildProgress progress(arguments,
                         plan->kind == FilterKind::kGrowing ? 0 : plan->options.capacity);
  plan->on_sweep = [&](double share) { progress.sweeping(share); };
  plan->on_writing = [&](double share) { progress.writing(arguments.output, share); };
  const auto sink = FilterSink::create(*plan);
  if (!sink) return report_plan(sink.error());

  std::optional<ExactKeysBuilder> exact;
  if (arguments.exact)
    exact.emplace(ExactKeysBuilder::Options{arguments.output, (*sink)->hash().key()});
  LineReader reader(arguments.inputs);
  const auto lines = add_lines(reader, **sink, exact ? &*exact : nullptr, progress);
  const auto built = lines.and_then([&](std::uint64_t) { return finish(**sink, exact); });
  progress.end();
  if (!built) return report(built.error());
  if (!exact) {
    if (const auto removed = remove_stale_keys(arguments.output, arguments.quiet); !removed)
      return report(removed.error());
  }
  if (!arguments.quiet) {
    const std::string already =
        built->fresh ? fmt::format(", {} of them already present", *lines - *built->fresh) : "";
    say(stderr, "{}: {} lines{}; {}\n", arguments.output, *lines, already,
        filter_summary(built->stats, file_bytes(arguments.output)));
  }
  if (const auto warning = (*sink)->warning(); !warning.empty())
    say(stderr, "trawl: warning: {}\n", warning);
  warn_if_overfull(arguments.output, built->stats);
  return kDone;
}

}  // namespace trawl::cli
