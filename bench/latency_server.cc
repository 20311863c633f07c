// latency_server: web servers at many loopback addresses, which answer after a given time and use
// hardly any CPU. Every host has the same tree of tiny pages.
//
//   latency_server [--port N] [--hosts N] [--pages N] [--links N] [--latency MS] [--padding BYTES]
//                  [--known KNOWN] [--text BYTES] [--web KNOWN] [--mark PAGES]
//
// Host i is 127.(1 + i / 62500).(i / 250 % 250).(i % 250 + 1). Page n links to pages links * n + 1
// to links * n + links, if they exist; "/" is page 0. With --known each page also links to KNOWN
// random pages with smaller numbers than its own children; with --web too, and the hosts share one
// tree, page n at host n % hosts only. --text adds paragraphs without links, --padding letters.
// Prints "ready" when it listens; on SIGTERM one line of JSON, in which `marks` are the seconds
// from the first request to each PAGES pages.
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mix.h"

namespace {

using Clock = std::chrono::steady_clock;

struct Settings {
  std::uint64_t port = 8000;
  std::uint64_t hosts = 1;
  std::uint64_t pages = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t links = 10;
  std::uint64_t latency = 0;  // ms
  std::uint64_t padding = 0;
  std::uint64_t text = 0;
  std::uint64_t known = 0;  // links to known pages
  std::uint64_t web = 0;    // likewise; 0: each host has a tree of its own
  std::uint64_t mark = 0;   // pages
};

[[noreturn]] void give_up(const std::string& what) {
  std::fprintf(stderr, "latency_server: %s: %s\n", what.c_str(), std::strerror(errno));
  std::exit(1);
}

volatile std::sig_atomic_t stopping = 0;

std::uint32_t address_of(std::uint64_t host) {
  return (127u << 24) | static_cast<std::uint32_t>(1 + host / 62'500) << 16 |
         static_cast<std::uint32_t>(host / 250 % 250) << 8 |
         static_cast<std::uint32_t>(host % 250 + 1);
}

std::string name_of(std::uint64_t host) {
  const in_addr address{.s_addr = htonl(address_of(host))};
  char text[INET_ADDRSTRLEN];
  return ::inet_ntop(AF_INET, &address, text, sizeof text);
}

class Server {
 public:
  explicit Server(const Settings& settings) : settings_(settings) {
    if (epoll_ < 0) give_up("epoll");
    if (settings.web > 0) {
      listen_at(INADDR_ANY);  // there may be more hosts than descriptors
    } else {
      for (std::uint64_t host = 0; host < settings.hosts; ++host)
        listen_at(address_of(host));
    }
  }

  void run() {
    std::vector<epoll_event> events(512);
    while (stopping == 0) {
      const int n = wait(events);
      for (int i = 0; i < n; ++i) {
        const int fd = events[static_cast<std::size_t>(i)].data.fd;
        if (connection(fd).listens) {
          accept_all(fd);
        } else {
          read(fd);
        }
      }
      answer_due();
    }
  }

  std::uint64_t requests() const { return requests_; }
  std::uint64_t connections() const { return accepted_; }
  std::uint64_t most_open() const { return most_open_; }
  // A list in JSON.
  std::string marks() const {
    std::string list;
    for (const Clock::duration mark : marks_) {
      if (!list.empty()) list += ", ";
      list += std::to_string(std::chrono::duration<double>(mark).count());
    }
    return "[" + list + "]";
  }
  // From an answer to the next request on its connection, in the mean.
  double turnaround_ms() const {
    return turns_ == 0 ? 0
                       : std::chrono::duration<double, std::milli>(turning_).count() /
                             static_cast<double>(turns_);
  }

 private:
  struct Connection {
    bool listens = false;
    std::uint64_t number = 0;  // of the connection, since descriptors are reused
    std::string received;
    Clock::time_point answered{};
  };
  struct Waiting {
    Clock::time_point due;
    int fd;
    std::uint64_t number;
    std::string answer;
  };

  Connection& connection(int fd) {
    const auto index = static_cast<std::size_t>(fd);
    if (index >= connections_.size()) connections_.resize(index + 1);
    return connections_[index];
  }

  void watch(int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) give_up("epoll_ctl");
  }

  void listen_at(std::uint32_t address) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int on = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(static_cast<std::uint16_t>(settings_.port));
    name.sin_addr.s_addr = htonl(address);
    if (::bind(fd, reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0 ||
        ::listen(fd, 1024) != 0) {
      give_up("cannot listen");
    }
    connection(fd).listens = true;
    watch(fd);
  }

  static bool is_loopback(int fd) {
    sockaddr_in name{};
    socklen_t size = sizeof name;
    return ::getsockname(fd, reinterpret_cast<sockaddr*>(&name), &size) == 0 &&
           ntohl(name.sin_addr.s_addr) >> 24 == 127;
  }

  void accept_all(int listener) {
    for (;;) {
      const int fd = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd < 0) return;
      if (!is_loopback(fd)) {
        ::close(fd);
        continue;
      }
      const int on = 1;
      ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      const int buffer = 1 << 20;
      ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
      Connection& made = connection(fd);
      made.number = ++accepted_;
      made.received.clear();
      made.answered = {};
      watch(fd);
      most_open_ = std::max(most_open_, ++open_);
    }
  }

  // Waits until the next answer is due, with microsecond resolution.
  int wait(std::vector<epoll_event>& events) {
    timespec time{1, 0};
    if (!waiting_.empty()) {
      const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(
          std::max(Clock::duration(0), waiting_.front().due - Clock::now()));
      time = {left.count() / 1'000'000'000, left.count() % 1'000'000'000};
    }
    return ::epoll_pwait2(epoll_, events.data(), static_cast<int>(events.size()), &time, nullptr);
  }

  void read(int fd) {
    Connection& from = connection(fd);
    char buffer[8192];
    const ssize_t n = ::recv(fd, buffer, sizeof buffer, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n > 0) from.received.append(buffer, static_cast<std::size_t>(n));
    if (n <= 0 || from.received.size() > 64 * 1024) {
      from.number = 0;
      ::close(fd);
      --open_;
      return;
    }
    for (std::size_t end; (end = from.received.find("\r\n\r\n")) != std::string::npos;) {
      take(fd, from.number, std::string_view(from.received).substr(0, end));
      from.received.erase(0, end + 4);
    }
  }

  void take(int fd, std::uint64_t number, std::string_view head) {
    if (++requests_ == 1) begun_ = Clock::now();
    if (const auto answered = connection(fd).answered; answered != Clock::time_point()) {
      turning_ += Clock::now() - answered;
      ++turns_;
    }
    const std::size_t begin = head.find(' ') + 1;
    std::string answer =
        answer_to(host_of(head), head.substr(begin, head.find(' ', begin) - begin));
    waiting_.push_back({Clock::now() + std::chrono::milliseconds(settings_.latency), fd, number,
                        std::move(answer)});
  }

  void answer_due() {
    const auto now = Clock::now();
    for (; !waiting_.empty() && waiting_.front().due <= now; waiting_.pop_front()) {
      const Waiting& next = waiting_.front();
      if (connection(next.fd).number != next.number) continue;  // it was closed
      // Small enough for the socket's buffer.
      const ssize_t sent = ::send(next.fd, next.answer.data(), next.answer.size(), MSG_NOSIGNAL);
      if (sent >= 0 && static_cast<std::size_t>(sent) < next.answer.size())
        give_up("the socket's buffer is too small for an answer");
      connection(next.fd).answered = now;
    }
  }

  // As a manual has it: a tag for each line.
  static std::string text_of(std::uint64_t bytes) {
    std::string text;
    for (std::uint64_t line = 0; text.size() < bytes; ++line) {
      text += "<p class=\"line\">Line <b>" + std::to_string(line) +
              "</b> of a text that <code>all pages</code> have, in plain words &amp; with as many "
              "tags as manuals have.</p>\n";
    }
    return text;
  }

  static std::string message(const char* status, const std::string& body) {
    return "HTTP/1.1 " + std::string(status) +
           "\r\nContent-Type: text/html\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
  }

  static std::string_view host_of(std::string_view head) {
    const std::size_t field = head.find("\r\nHost: ");
    if (field == std::string_view::npos) return {};
    head.remove_prefix(field + 8);
    return head.substr(0, head.find('\r'));
  }

  void count_page() {
    if (++pages_ % std::max<std::uint64_t>(settings_.mark, 1) == 0 && settings_.mark > 0)
      marks_.push_back(Clock::now() - begun_);
  }

  void add_link(std::string& body, std::uint64_t page) const {
    const std::string number = std::to_string(page);
    body += "<a href=\"";
    if (settings_.web > 0)
      body += "http://" + name_of(page % settings_.hosts) + ":" + std::to_string(settings_.port);
    body += "/page-" + number + "-of-a-tree-without-end.html\">" + number + "</a>\n";
  }

  // All pages differ, also between hosts.
  std::string answer_to(std::string_view host, std::string_view path) {
    std::uint64_t page = 0;
    if (path != "/") {
      if (!path.starts_with("/page-")) return message("404 Not Found", "none");
      page = std::strtoull(std::string(path.substr(6)).c_str(), nullptr, 10);
    }
    if (page >= settings_.pages) return message("404 Not Found", "none");
    if (settings_.web > 0 && host.substr(0, host.find(':')) != name_of(page % settings_.hosts))
      return message("404 Not Found", "none");
    count_page();
    std::string body = "<!DOCTYPE html><title>Page " + std::to_string(page) + " of ";
    body.append(host).append("</title>\n");
    const std::uint64_t first = page * settings_.links + 1;
    for (std::uint64_t n = first; n < first + settings_.links && n < settings_.pages; ++n)
      add_link(body, n);
    const std::uint64_t known = settings_.web + settings_.known;
    for (std::uint64_t i = 0; i < known; ++i)
      add_link(body, trawl::scale_to(trawl::mix64(page * known + i + 1),
                                     std::min(first, settings_.pages)));
    body.append(settings_.padding, 'x').append(text_);
    return message("200 OK", body);
  }

  const Settings settings_;
  const std::string text_ = text_of(settings_.text);
  int epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  std::vector<Connection> connections_;
  std::deque<Waiting> waiting_;  // in order, since all wait equally long
  std::uint64_t requests_ = 0;
  Clock::time_point begun_;
  std::uint64_t pages_ = 0;
  std::vector<Clock::duration> marks_;
  std::uint64_t accepted_ = 0;
  std::uint64_t open_ = 0;
  std::uint64_t most_open_ = 0;
  std::uint64_t turns_ = 0;
  Clock::duration turning_{};
};

Settings read_settings(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    const std::uint64_t value = std::strtoull(argv[i + 1], nullptr, 10);
    if (name == "--port") settings.port = value;
    if (name == "--hosts") settings.hosts = value;
    if (name == "--pages") settings.pages = value;
    if (name == "--links") settings.links = value;
    if (name == "--latency") settings.latency = value;
    if (name == "--padding") settings.padding = value;
    if (name == "--text") settings.text = value;
    if (name == "--known") settings.known = value;
    if (name == "--web") settings.web = value;
    if (name == "--mark") settings.mark = value;
  }
  return settings;
}

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

}  // namespace

int main(int argc, char** argv) {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  struct sigaction stop {};
  stop.sa_handler = [](int) { stopping = 1; };
  ::sigaction(SIGTERM, &stop, nullptr);
  ::sigaction(SIGINT, &stop, nullptr);
  Server server(read_settings(argc, argv));
  std::puts("ready");
  std::fflush(stdout);
  server.run();
  std::printf(
      "{\"requests\": %llu, \"connections\": %llu, \"most_open\": %llu, "
      "\"turnaround_ms\": %.3f, \"cpu\": %.3f, \"marks\": %s}\n",
      static_cast<unsigned long long>(server.requests()),
      static_cast<unsigned long long>(server.connections()),
      static_cast<unsigned long long>(server.most_open()), server.turnaround_ms(), cpu_seconds(),
      server.marks().c_str());
  return 0;
}
