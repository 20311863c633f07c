#include "tests/cluster/redis_servers.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <sstream>
#include <stdexcept>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frontier/redis/redis_connection.h"

namespace trawl::test {
namespace {

void wait_until(const std::string& what, const std::function<bool()>& is) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!is()) {
    if (std::chrono::steady_clock::now() > until) throw std::runtime_error("waited for " + what);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

// Not fork(): a child of a process with threads may find the lock of the sanitizer's allocator
// taken without end, and copying its page tables takes half a second.
pid_t spawn(const Words& command, int out) {
  std::vector<char*> words;
  for (const std::string& word : command)
    words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, out, STDERR_FILENO);
  pid_t child = 0;
  const int failed = ::posix_spawnp(&child, words[0], &files, nullptr, words.data(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  return failed == 0 ? child : -1;
}

bool is_free(unsigned port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool free = ::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  ::close(socket);
  return free;
}

// The cluster's own port is 10,000 higher. Below the ports that the system gives to clients.
std::uint16_t free_port() {
  std::random_device random;
  for (;;) {
    const unsigned port = std::uniform_int_distribution<unsigned>(11000, 21999)(random);
    if (is_free(port) && is_free(port + 10000)) return static_cast<std::uint16_t>(port);
  }
}

}  // namespace

std::string output_of(const Words& command) {
  std::array<int, 2> ends;
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  const pid_t child = spawn(command, ends[1]);
  ::close(ends[1]);
  std::string output;
  std::array<char, 4096> bytes;
  for (ssize_t n; (n = ::read(ends[0], bytes.data(), bytes.size())) > 0;)
    output.append(bytes.data(), static_cast<std::size_t>(n));
  ::close(ends[0]);
  if (child > 0) ::waitpid(child, nullptr, 0);
  while (!output.empty() && output.back() == '\n')
    output.pop_back();
  return output;
}

bool has_redis() {
  return output_of({"redis-server", "--version"}).starts_with("Redis server") &&
         output_of({"redis-cli", "--version"}).starts_with("redis-cli");
}

RedisServer::RedisServer(Words options) : options_(std::move(options)), port_(free_port()) {
  start();
}

RedisServer::~RedisServer() {
  stop();
}

void RedisServer::start() {
  Words command = {"setpriv",  // a test that is killed leaves no server behind
                   "--pdeathsig",
                   "KILL",
                   "redis-server",
                   "--port",
                   port(),
                   "--bind",
                   "127.0.0.1",
                   "--save",
                   "",
                   "--dir",
                   directory_.path().string(),
                   "--logfile",
                   "log",
                   "--repl-diskless-sync-delay",
                   "0"};
  command.insert(command.end(), options_.begin(), options_.end());
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  const pid_t started = spawn(command, nowhere);
  ::close(nowhere);
  if (started <= 0) throw std::runtime_error("redis-server cannot be started");
  process_ = started;
  wait_until("redis-server", [&] { return answers(); });
}

bool RedisServer::answers() const {
  const auto opened = RedisConnection::open(address(), {}, nullptr);
  return opened || opened.error().code == ErrorCode::kPermission;
}

std::string RedisServer::cli(const Words& words) const {
  Words command = {"timeout", "60", "redis-cli", "-p", port()};
  command.insert(command.end(), words.begin(), words.end());
  return output_of(command);
}

void RedisServer::stop() {
  if (process_ == 0) return;
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
  process_ = 0;
}
void RedisServer::freeze() {
  ::kill(process_, SIGSTOP);
}
void RedisServer::thaw() {
  ::kill(process_, SIGCONT);
}

RedisClusterServers::RedisClusterServers() {
  Words create = {"timeout", "60", "redis-cli", "--cluster", "create"};
  for (int i = 0; i < 6; ++i) {
    servers_.push_back(
        std::make_unique<RedisServer>(Words{"--cluster-enabled", "yes", "--cluster-node-timeout",
                                            "1500", "--cluster-require-full-coverage", "no"}));
    create.push_back(servers_.back()->address().text());
  }
  create.insert(create.end(), {"--cluster-replicas", "1", "--cluster-yes"});
  const std::string output = output_of(create);
  if (output.find("All 16384 slots covered") == std::string::npos)
    throw std::runtime_error("no cluster: " + output);
  for (const auto& one : servers_) {
    wait_until("the cluster", [&] {
      return one->cli({"cluster", "info"}).find("cluster_state:ok") != std::string::npos &&
             (one->cli({"info", "replication"}).find("master_link_status:up") !=
                  std::string::npos ||
              one->cli({"info", "replication"}).find("state=online") != std::string::npos);
    });
  }
}

std::vector<RedisAddress> RedisClusterServers::addresses() const {
  std::vector<RedisAddress> addresses;
  for (const auto& one : servers_)
    addresses.push_back(one->address());
  return addresses;
}

RedisServer& RedisClusterServers::server(std::uint16_t port) {
  for (const auto& one : servers_)
    if (one->address().port == port) return *one;
  throw std::runtime_error("no such server");
}

RedisServer& RedisClusterServers::any_live() {
  for (const auto& one : servers_)
    if (one->answers()) return *one;
  throw std::runtime_error("no server lives");
}

RedisServer& RedisClusterServers::master_of(const std::string& key) {
  // A client that is sent elsewhere says where.
  for (const auto& one : servers_) {
    if (!one->answers()) continue;
    if (one->cli({"role"}).rfind("master", 0) != 0) continue;
    const std::string type = one->cli({"type", key});
    if (type.rfind("MOVED", 0) != 0 && type.find("(error)") == std::string::npos) return *one;
  }
  throw std::runtime_error("no master of " + key);
}

RedisServer& RedisClusterServers::replica_of(const RedisServer& master) {
  for (const auto& one : servers_) {
    if (!one->answers()) continue;
    std::istringstream role(one->cli({"role"}));
    std::string kind, host, port;
    role >> kind >> host >> port;
    if (kind == "slave" && port == master.port()) return *one;
  }
  throw std::runtime_error("no replica of " + master.port());
}

void RedisClusterServers::wait_for_master(const RedisServer& server) {
  wait_until("a failover", [&] { return server.cli({"role"}).rfind("master", 0) == 0; });
}

std::string RedisClusterServers::id_of(const RedisServer& server) {
  return server.cli({"cluster", "myid"});
}

}  // namespace trawl::test
