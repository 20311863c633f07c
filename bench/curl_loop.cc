// curl_loop: the cost of fetching a list of URLs with bare libcurl. Prints one line of JSON.
// Discards the bodies.
//
//   curl_loop URLS [--connections N] [--threads N]
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <curl/curl.h>
#include <sys/epoll.h>
#include <unistd.h>

namespace {

struct Totals {
  std::atomic<std::uint64_t> good{0};
  std::atomic<std::uint64_t> failed{0};
  std::atomic<std::uint64_t> bytes{0};
};

void require(bool fine, const char* what) {
  if (fine) return;
  std::fprintf(stderr, "curl_loop: %s\n", what);
  std::exit(1);
}

std::size_t throw_away(char*, std::size_t size, std::size_t n, void*) {
  return size * n;
}

// The transfers of one thread, driven by epoll as in a crawler.
class Loop {
 public:
  Loop(const std::vector<std::string>& urls, std::size_t first, std::size_t step,
       std::size_t connections, Totals& totals)
      : urls_(urls), next_(first), step_(step), totals_(totals), multi_(curl_multi_init()) {
    require(epoll_ >= 0 && multi_ != nullptr, "no epoll or no libcurl");
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(connections));
    curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &Loop::on_socket);
    curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
    curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &Loop::on_timer);
    curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
    for (std::size_t i = 0; i < connections; ++i)
      begin(curl_easy_init());
  }
  ~Loop() {
    curl_multi_cleanup(multi_);
    ::close(epoll_);
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void run() {
    std::vector<epoll_event> events(256);
    while (active_ > 0) {
      const int n = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), wait());
      int running = 0;
      if (n <= 0) curl_multi_socket_action(multi_, CURL_SOCKET_TIMEOUT, 0, &running);
      for (int i = 0; i < n; ++i) {
        const auto& event = events[static_cast<std::size_t>(i)];
        const int ready = ((event.events & EPOLLIN) != 0 ? CURL_CSELECT_IN : 0) |
                          ((event.events & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0) |
                          ((event.events & (EPOLLERR | EPOLLHUP)) != 0 ? CURL_CSELECT_ERR : 0);
        curl_multi_socket_action(multi_, event.data.fd, ready, &running);
      }
      finish();
    }
  }

 private:
  using Clock = std::chrono::steady_clock;

  static int on_socket(CURL*, curl_socket_t socket, int what, void* self, void* known) {
    auto& loop = *static_cast<Loop*>(self);
    if (what == CURL_POLL_REMOVE) return ::epoll_ctl(loop.epoll_, EPOLL_CTL_DEL, socket, nullptr);
    epoll_event event{};
    event.events =
        ((what & CURL_POLL_IN) != 0 ? EPOLLIN : 0u) | ((what & CURL_POLL_OUT) != 0 ? EPOLLOUT : 0u);
    event.data.fd = socket;
    ::epoll_ctl(loop.epoll_, known != nullptr ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, socket, &event);
    curl_multi_assign(loop.multi_, socket, self);
    return 0;
  }

  static int on_timer(CURLM*, long milliseconds, void* self) {
    static_cast<Loop*>(self)->due_ = milliseconds < 0
                                         ? Clock::time_point::max()
                                         : Clock::now() + std::chrono::milliseconds(milliseconds);
    return 0;
  }

  int wait() const {
    if (due_ == Clock::time_point::max()) return 1000;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(due_ - Clock::now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1000));
  }

  // Starts the next URL on a free handle.
  void begin(CURL* easy) {
    require(easy != nullptr, "no memory");
    if (next_ >= urls_.size()) return curl_easy_cleanup(easy);
    curl_easy_setopt(easy, CURLOPT_URL, urls_[next_].c_str());
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &throw_away);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT, 60L);
    next_ += step_;
    ++active_;
    curl_multi_add_handle(multi_, easy);
  }

  void finish() {
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      CURL* easy = message->easy_handle;
      curl_off_t bytes = 0;
      curl_easy_getinfo(easy, CURLINFO_SIZE_DOWNLOAD_T, &bytes);
      totals_.bytes += static_cast<std::uint64_t>(bytes);
      ++(message->data.result == CURLE_OK ? totals_.good : totals_.failed);
      curl_multi_remove_handle(multi_, easy);
      --active_;
      begin(easy);
    }
  }

  const std::vector<std::string>& urls_;
  std::size_t next_;
  const std::size_t step_;
  Totals& totals_;
  int epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  CURLM* multi_;
  Clock::time_point due_ = Clock::time_point::max();
  std::size_t active_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  std::size_t connections = 8, threads = 1;
  for (int i = 2; i + 1 < argc; i += 2) {
    const auto value = static_cast<std::size_t>(std::max(1, std::atoi(argv[i + 1])));
    (argv[i] == std::string_view("--threads") ? threads : connections) = value;
  }
  require(argc >= 2 && argc % 2 == 0, "usage: curl_loop URLS [--connections N] [--threads N]");
  std::vector<std::string> urls;
  std::ifstream file(argv[1]);
  for (std::string line; std::getline(file, line);)
    if (!line.empty()) urls.push_back(line);
  require(!urls.empty(), "the file has no URLs");
  curl_global_init(CURL_GLOBAL_ALL);
  Totals totals;
  const auto begun = std::chrono::steady_clock::now();
  std::vector<std::thread> others;
  for (std::size_t i = 0; i < threads; ++i) {
    others.emplace_back([&, i] {
      Loop(urls, i, threads, std::max<std::size_t>(1, connections / threads), totals).run();
    });
  }
  for (std::thread& other : others)
    other.join();
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begun;
  std::printf("{\"good\": %llu, \"failed\": %llu, \"bytes\": %llu, \"seconds\": %.3f}\n",
              static_cast<unsigned long long>(totals.good.load()),
              static_cast<unsigned long long>(totals.failed.load()),
              static_cast<unsigned long long>(totals.bytes.load()), wall.count());
  return 0;
}
