#include "bindings/c/frontier_handle.h"

#include <algorithm>
#include <limits>

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "trawl/frontier_options.h"

namespace trawl::c {

namespace {

// relaxed: only a child's only thread, inside fork(), writes it.
std::atomic<std::uint32_t> forks{0};

[[maybe_unused]] const int registered =
    ::pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });

// A struct of an array, whose elements may be shorter or longer than ours.
const trawl_request* element(const trawl_request* first, std::size_t stride, std::size_t index) {
  return reinterpret_cast<const trawl_request*>(reinterpret_cast<const char*>(first) +
                                                stride * index);
}

tl::expected<UrlRequest, Failure> request_of(const trawl_request& given) {
  UrlRequest request;
  const auto set = [](std::string_view& to, trawl_str from, const char* name) -> Checked {
    const auto text = view_of(from, name);
    if (!text) return tl::unexpected(text.error());
    to = *text;
    return {};
  };
  std::string_view hold_reason;
  if (auto done = set(request.url, given.url, "request.url"); !done)
    return tl::unexpected(done.error());
  if (auto done = set(request.key, given.key, "request.key"); !done)
    return tl::unexpected(done.error());
  if (auto done = set(request.queue, given.queue, "request.queue"); !done)
    return tl::unexpected(done.error());
  if (auto done = set(request.parent, given.parent, "request.parent"); !done)
    return tl::unexpected(done.error());
  if (auto done = set(request.note, given.note, "request.note"); !done)
    return tl::unexpected(done.error());
  if (auto done = set(hold_reason, given.hold_reason, "request.hold_reason"); !done)
    return tl::unexpected(done.error());
  if ((given.flags &
       ~std::uint32_t{TRAWL_AGAIN | TRAWL_HOLD | TRAWL_HOLD_ALWAYS | TRAWL_SEEN_ONLY}) != 0)
    return invalid("request.flags has an unknown flag");
  request.priority = given.priority;
  request.depth = given.depth;
  request.redirects = given.redirects;
  request.again = (given.flags & TRAWL_AGAIN) != 0;
  request.seen_only = (given.flags & TRAWL_SEEN_ONLY) != 0;
  if (given.not_before_ms != 0) request.not_before = wall_time(given.not_before_ms);
  if ((given.flags & TRAWL_HOLD) != 0) {
    if (hold_reason.empty()) return invalid("request.hold_reason is empty, but TRAWL_HOLD is set");
    request.hold = HoldReason{.reason = hold_reason,
                              .rules = given.hold_rules,
                              .always = (given.flags & TRAWL_HOLD_ALWAYS) != 0};
  }
  return request;
}

}  // namespace

std::uint32_t fork_generation() noexcept {
  return forks.load(std::memory_order_relaxed);
}

WakeFd::WakeFd() noexcept : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

WakeFd::~WakeFd() {
  if (fd_ >= 0) ::close(fd_);
}

void WakeFd::signal() const noexcept {
  const std::uint64_t one = 1;
  // Fails only when it is readable anyway.
  [[maybe_unused]] const ssize_t written = ::write(fd_, &one, sizeof one);
}

tl::expected<Frontier*, Failure> frontier_of(trawl_frontier* handle) {
  if (handle == nullptr) return invalid("frontier is NULL");
  if (handle->generation != fork_generation()) {
    return failure(TRAWL_FORKED,
                   "the frontier was opened before fork(): only the parent may use it; open "
                   "another directory in the child, or open it after fork()");
  }
  return handle->frontier.get();
}

Result<Progress> progress_of(trawl_frontier& handle) {
  // Compared first: what became durable in between is not in the progress.
  // acquire: pairs with the release below, so that the progress has these offers.
  const bool all_durable = handle.durable_offers.load(std::memory_order_acquire) ==
                           handle.offers.load(std::memory_order_relaxed);
  auto progress = handle.frontier->progress();
  if (!progress || !progress->at_end() || all_durable) return progress;
  const std::uint64_t offers = handle.offers.load(std::memory_order_relaxed);
  if (const auto flushed = handle.frontier->flush(); !flushed)
    return tl::unexpected(flushed.error());
  std::uint64_t known = handle.durable_offers.load(std::memory_order_relaxed);
  // release: pairs with the acquire above.
  while (known < offers && !handle.durable_offers.compare_exchange_weak(
                               known, offers, std::memory_order_release, std::memory_order_relaxed))
    continue;
  return handle.frontier->progress();
}

SystemTime wall_time(std::int64_t unix_ms) noexcept {
  using std::chrono::milliseconds;
  const auto last = std::chrono::duration_cast<milliseconds>(SystemTime::duration::max()).count();
  return SystemTime(milliseconds(std::clamp<std::int64_t>(unix_ms, -last, last)));
}

std::int64_t unix_ms(SystemTime time) noexcept {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

std::chrono::milliseconds wait_ms(std::int64_t ms) noexcept {
  return std::chrono::milliseconds(std::clamp<std::int64_t>(ms, 0, kMaxDelay.count()));
}

std::chrono::microseconds wait_us(std::int64_t us) noexcept {
  return std::chrono::microseconds(
      std::clamp<std::int64_t>(us, 0, std::chrono::microseconds(kMaxDelay).count()));
}

std::int64_t ms_until(SteadyTime when) noexcept {
  const auto left = when - std::chrono::steady_clock::now();
  return std::max<std::int64_t>(0, std::chrono::ceil<std::chrono::milliseconds>(left).count());
}

tl::expected<std::vector<UrlRequest>, Failure> requests_of(const trawl_request* requests,
                                                           std::size_t count) {
  std::vector<UrlRequest> out;
  if (count == 0) return out;
  if (auto given = require_requests(requests, count, "requests"); !given)
    return tl::unexpected(given.error());
  if (auto given = require_struct(requests, "the first request"); !given)
    return tl::unexpected(given.error());
  const std::size_t stride = requests->struct_size;
  out.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const trawl_request* const given = element(requests, stride, i);
    if (given->struct_size != stride)
      return invalid("the requests of one call must have the same struct_size");
    auto request = [&]() -> tl::expected<UrlRequest, Failure> {
      if (stride == sizeof(trawl_request)) return request_of(*given);
      const auto whole = read_struct(given, trawl_request_init, "a request");
      if (!whole) return tl::unexpected(whole.error());
      return request_of(*whole);
    }();
    if (!request) return tl::unexpected(std::move(request.error()));
    out.push_back(*request);
  }
  return out;
}

std::uint8_t answer_of(Admission admission) noexcept {
  switch (admission) {
    case Admission::kNew:
      return TRAWL_NEW;
    case Admission::kSeen:
      return TRAWL_SEEN;
    case Admission::kInvalid:
      return TRAWL_INVALID;
    case Admission::kTooLong:
      return TRAWL_TOO_LONG;
    case Admission::kHeld:
      return TRAWL_HELD;
    case Admission::kNoteTooLong:
      return TRAWL_NOTE_TOO_LONG;
    case Admission::kForwarded:
      return TRAWL_FORWARDED;
  }
  return TRAWL_INVALID;
}

void write_answers(const std::vector<Admission>& admissions, std::uint8_t* answers) noexcept {
  if (answers == nullptr) return;
  std::transform(admissions.begin(), admissions.end(), answers, answer_of);
}

tl::expected<Outcome, Failure> outcome_of(const trawl_outcome* outcome) {
  if (outcome == nullptr) return Outcome{};
  const auto given = read_struct(outcome, trawl_outcome_init, "outcome");
  if (!given) return tl::unexpected(given.error());
  if (given->status < 0 || given->status > 999)
    return invalid("outcome->status must be an HTTP status, or 0 if there was no response");
  const auto text = view_of(given->error, "outcome->error");
  if (!text) return tl::unexpected(text.error());
  const auto reason = view_of(given->reason, "outcome->reason");
  if (!reason) return tl::unexpected(reason.error());
  const auto address = view_of(given->address, "outcome->address");
  if (!address) return tl::unexpected(address.error());
  const auto note = view_of(given->note, "outcome->note");
  if (!note) return tl::unexpected(note.error());
  Outcome out;
  out.status = given->status;
  out.error = std::string(*text);
  out.reason = std::string(*reason);
  out.requested = given->not_requested == 0;
  out.seed = given->seed != 0;
  out.keep_failed = given->keep_failed != 0;
  out.end_later = given->end_later != 0;
  out.started_after = wait_us(given->started_after_us);
  if (given->response_time_ms > 0) out.response_time = wait_ms(given->response_time_ms);
  out.address = std::string(*address);
  if (given->recrawl_at_ms != 0) out.recrawl_at = wall_time(given->recrawl_at_ms);
  if (given->has_note != 0) out.note = std::string(*note);
  out.known_links = given->known_links;
  return out;
}

}  // namespace trawl::c
