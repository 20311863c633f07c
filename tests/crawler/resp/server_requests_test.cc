// A whole server, and requests that were changed at random: it must go on answering.
#include <cstdint>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file_io.h"
#include "crawler/resp/server.h"
#include "tests/support/temporary_directory.h"

namespace trawl::resp {
namespace {

std::string encode(const std::vector<std::string>& words) {
  std::string out = fmt::format("*{}\r\n", words.size());
  for (const auto& word : words)
    out += fmt::format("${}\r\n{}\r\n", word.size(), word);
  return out;
}

class RunningServer {
 public:
  explicit RunningServer(ServerOptions options) : stop_(::eventfd(0, EFD_CLOEXEC)) {
    auto server = Server::start(std::move(options));
    if (!server) throw std::runtime_error(server.error().message);
    server_ = std::move(*server);
    port_ = server_->port();
    thread_ = std::thread([this] { ended_ = server_->run(stop_.get()); });
  }
  ~RunningServer() {
    if (thread_.joinable()) static_cast<void>(end());
  }
  Result<void> end() {
    const std::uint64_t one = 1;
    EXPECT_EQ(::write(stop_.get(), &one, sizeof one), 8);
    thread_.join();
    return ended_;
  }

  FileDescriptor connect() const {
    FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port_);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      throw std::runtime_error("cannot connect");
    return socket;
  }

 private:
  FileDescriptor stop_;
  std::unique_ptr<Server> server_;
  std::uint16_t port_ = 0;
  Result<void> ended_;
  std::thread thread_;
};

// Sends all, then the end, and reads until the server closes the connection.
std::string exchange(const FileDescriptor& socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) break;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  ::shutdown(socket.get(), SHUT_WR);
  std::string replies;
  char some[4096];
  for (ssize_t n = 0; (n = ::recv(socket.get(), some, sizeof some, 0)) > 0;)
    replies.append(some, static_cast<std::size_t>(n));
  return replies;
}

std::vector<std::string> some_requests() {
  return {encode({"BF.RESERVE", "f", "0.01", "100"}),
          encode({"BF.RESERVE", "n", "0.01", "5", "NONSCALING"}),
          encode({"BF.ADD", "f", "a"}),
          encode({"BF.ADD", "n", "b"}),
          encode({"BF.MADD", "f", "a", "b", "c", "d"}),
          encode({"BF.INSERT", "g", "CAPACITY", "10", "ERROR", "0.1", "ITEMS", "x", "y"}),
          encode({"BF.EXISTS", "f", "a"}),
          encode({"BF.MEXISTS", "f", "a", "zz"}),
          encode({"BF.INFO", "f"}),
          encode({"CF.ADD", "c", "x"}),
          encode({"CF.INSERTNX", "c", "ITEMS", "x", "y"}),
          encode({"CF.DEL", "c", "x"}),
          encode({"CF.COUNT", "c", "x"}),
          encode({"CF.INFO", "c"}),
          encode({"SCAN", "0", "MATCH", "*", "COUNT", "5"}),
          encode({"HELLO", "3"}),
          encode({"CLIENT", "LIST"}),
          encode({"COMMAND"}),
          encode({"INFO"}),
          encode({"DEL", "g"}),
          encode({"SAVE"}),
          "PING\r\n",
          "ECHO \"a\\x41 b\"\r\n"};
}

std::string change(std::string bytes, std::mt19937_64& random) {
  constexpr std::string_view kOften = "*$\r\n0123456789-\"' +:\xff";
  for (std::uint64_t changes = random() % 4; changes > 0 && !bytes.empty(); --changes) {
    const std::size_t at = random() % bytes.size();
    const char c = kOften[random() % kOften.size()];
    switch (random() % 4) {
      case 0:
        bytes[at] = c;
        break;
      case 1:
        bytes.insert(at, 1, c);
        break;
      case 2:
        bytes.erase(at, 1 + random() % 8);
        break;
      default:
        bytes.insert(at, bytes.substr(random() % bytes.size(), random() % 64));
        break;
    }
  }
  return bytes;
}

TEST(ServerRequests, ChangedRequestsNeverEndTheServer) {
  test::TemporaryDirectory directory;
  ServerOptions options;
  options.store.directory = directory.path() / "filters";
  options.store.max_memory = 4 << 20;
  options.interval = std::chrono::milliseconds(5);
  RunningServer server(options);
  const auto requests = some_requests();
  std::mt19937_64 random(11);
  for (int i = 0; i < 600; ++i) {
    std::string stream;
    for (std::uint64_t n = 1 + random() % 20; n > 0; --n)
      stream += requests[random() % requests.size()];
    exchange(server.connect(), change(stream, random));
    ASSERT_EQ(exchange(server.connect(), "PING\r\n"), "+PONG\r\n") << "after stream " << i;
  }
  EXPECT_TRUE(server.end());
}

TEST(ServerRequests, AThousandKeysOfManyClientsAreThereAfterwards) {
  test::TemporaryDirectory directory;
  ServerOptions options;
  options.store.directory = directory.path() / "filters";
  options.sync_before_reply = true;
  {
    RunningServer server(options);
    std::vector<std::thread> clients;
    for (int c = 0; c < 4; ++c) {
      clients.emplace_back([&server, c] {
        std::string stream;
        for (int i = 0; i < 250; ++i)
          stream += encode({"BF.ADD", "f", fmt::format("{}:{}", c, i)});
        EXPECT_EQ(exchange(server.connect(), stream).size(), 250u * 4);
      });
    }
    for (auto& client : clients)
      client.join();
    EXPECT_TRUE(server.end());
  }
  RunningServer server(options);
  std::vector<std::string> words{"BF.MEXISTS", "f"};
  for (int c = 0; c < 4; ++c)
    for (int i = 0; i < 250; ++i)
      words.push_back(fmt::format("{}:{}", c, i));
  std::string expected = "*1000\r\n";
  for (int i = 0; i < 1000; ++i)
    expected += ":1\r\n";
  EXPECT_EQ(exchange(server.connect(), encode(words)), expected);
}

}  // namespace
}  // namespace trawl::resp
