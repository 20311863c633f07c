#include "crawler/http/http_client.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <curl/curl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "crawler/http/transfer.h"
#include "filter/file_io.h"

namespace trawl {

namespace {

using Clock = std::chrono::steady_clock;

struct CurlMultiDelete {
  void operator()(CURLM* multi) const noexcept { curl_multi_cleanup(multi); }
};

// libcurl wants to be initialised once, before there are threads that use it.
void init_curl_once() {
  static const CURLcode once = curl_global_init(CURL_GLOBAL_DEFAULT);
  static_cast<void>(once);
}

class EpollHttpClient final : public HttpClient {
 public:
  EpollHttpClient(const HttpOptions& options, FileDescriptor epoll, FileDescriptor wakeup)
      : options_(options), epoll_(std::move(epoll)), wakeup_(std::move(wakeup)) {
    init_curl_once();
    multi_.reset(curl_multi_init());
    CURLM* multi = multi_.get();
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, &EpollHttpClient::on_socket);
    curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, this);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, &EpollHttpClient::on_timer);
    curl_multi_setopt(multi, CURLMOPT_TIMERDATA, this);
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, static_cast<long>(options_.connections));
  }

  ~EpollHttpClient() override {
    for (auto& [easy, transfer] : transfers_)
      curl_multi_remove_handle(multi_.get(), easy);
  }

  void start(const HttpRequest& request, Done done) override {
    auto transfer =
        std::make_unique<Transfer>(fresh_handle(), options_, request, std::move(done), sending_);
    CURL* easy = transfer->easy();
    transfers_.emplace(easy, std::move(transfer));
    curl_multi_add_handle(multi_.get(), easy);
  }

  void run(std::chrono::milliseconds max_wait) override {
    epoll_event events[64];
    const auto wait = unfinished_ ? std::chrono::milliseconds(0) : max_wait;
    const int n = ::epoll_wait(epoll_.get(), events, std::size(events), wait_ms(wait));
    for (int i = 0; i < n; ++i) {
      const int fd = events[i].data.fd;
      if (fd == wakeup_.get()) {
        std::uint64_t count;
        [[maybe_unused]] const ssize_t read = ::read(fd, &count, sizeof count);
        continue;
      }
      // libcurl may have dropped a later descriptor of this batch while it handled an earlier one.
      if (!sockets_.contains(fd)) continue;
      int mask = 0;
      if ((events[i].events & EPOLLIN) != 0) mask |= CURL_CSELECT_IN;
      if ((events[i].events & EPOLLOUT) != 0) mask |= CURL_CSELECT_OUT;
      if ((events[i].events & (EPOLLERR | EPOLLHUP)) != 0) mask |= CURL_CSELECT_ERR;
      act(fd, mask);
    }
    if (timer_ && *timer_ <= Clock::now()) {
      timer_.reset();
      act(CURL_SOCKET_TIMEOUT, 0);
    }
    finish_transfers();
  }

  void wake() override {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wakeup_.get(), &one, sizeof one);
  }

  std::size_t active() const override { return transfers_.size(); }

 private:
  void act(curl_socket_t socket, int events) {
    int running = 0;
    curl_multi_socket_action(multi_.get(), socket, events, &running);
    // Taken after the requests went out, however long that took: what is kept apart by a delay
    // from here on is not too close.
    const auto now = Clock::now();
    for (Transfer* transfer : sending_)
      transfer->set_sent(now);
    sending_.clear();
  }

  CurlEasy fresh_handle() {
    if (idle_handles_.empty()) return CurlEasy(curl_easy_init());
    CurlEasy easy = std::move(idle_handles_.back());
    idle_handles_.pop_back();
    curl_easy_reset(easy.get());
    return easy;
  }

  int wait_ms(std::chrono::milliseconds max_wait) const {
    auto wait = max_wait;
    if (timer_) {
      wait = std::min(wait, std::chrono::ceil<std::chrono::milliseconds>(*timer_ - Clock::now()));
    }
    return static_cast<int>(std::clamp<std::int64_t>(wait.count(), 0, 60'000));
  }

  // What is done with a response may take long: after a while the network has its turn again, lest
  // other transfers time out unserved; unfinished_ tells that there are more.
  void finish_transfers() {
    constexpr std::chrono::milliseconds kLongest{5};
    const auto begin = Clock::now();
    int left = 0;
    unfinished_ = false;
    while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const auto node = transfers_.extract(message->easy_handle);
      const CURLcode code = message->data.result;
      curl_multi_remove_handle(multi_.get(), node.key());  // invalidates the message
      Transfer& transfer = *node.mapped();
      HttpResponse response = transfer.finish(code);
      const Done done = transfer.take_done();
      idle_handles_.push_back(transfer.take_easy());
      done(std::move(response));
      unfinished_ = left > 0;
      if (Clock::now() - begin > kLongest) return;
    }
  }

  static int on_timer(CURLM*, long timeout_ms, void* self) {
    auto& timer = static_cast<EpollHttpClient*>(self)->timer_;
    if (timeout_ms < 0) {
      timer.reset();
    } else {
      timer = Clock::now() + std::chrono::milliseconds(timeout_ms);
    }
    return 0;
  }

  static int on_socket(CURL*, curl_socket_t fd, int what, void* self, void*) {
    static_cast<EpollHttpClient*>(self)->watch(fd, what);
    return 0;
  }

  void watch(int fd, int what) {
    if (what == CURL_POLL_REMOVE) {
      ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
      sockets_.erase(fd);
      return;
    }
    epoll_event event{};
    event.data.fd = fd;
    if ((what & CURL_POLL_IN) != 0) event.events |= EPOLLIN;
    if ((what & CURL_POLL_OUT) != 0) event.events |= EPOLLOUT;
    const bool known = !sockets_.insert(fd).second;
    ::epoll_ctl(epoll_.get(), known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event);
  }

  const HttpOptions options_;
  FileDescriptor epoll_;
  FileDescriptor wakeup_;
  std::unordered_set<int> sockets_;
  std::optional<Clock::time_point> timer_;
  std::vector<CurlEasy> idle_handles_;
  std::vector<Transfer*> sending_;  // in the current act()
  bool unfinished_ = false;         // finished transfers wait to be handled
  std::unique_ptr<CURLM, CurlMultiDelete> multi_;
  std::unordered_map<CURL*, std::unique_ptr<Transfer>> transfers_;
};

}  // namespace

Result<std::unique_ptr<HttpClient>> HttpClient::create(const HttpOptions& options) {
  FileDescriptor epoll(::epoll_create1(EPOLL_CLOEXEC));
  FileDescriptor wakeup(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = wakeup.get();
  if (epoll.get() < 0 || wakeup.get() < 0 ||
      ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, wakeup.get(), &event) != 0) {
    return tl::unexpected(system_error(errno, "cannot set up the event loop of a fetcher thread"));
  }
  return std::make_unique<EpollHttpClient>(options, std::move(epoll), std::move(wakeup));
}

}  // namespace trawl
