#include "crawler/config/cluster_config.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "base/text_file.h"

namespace trawl {

namespace {

constexpr std::size_t kMaxPasswordFileBytes = 1u << 20;

std::string machine_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  return name.data();
}

}  // namespace

Result<RedisPlace> redis_place(const ClusterConfig& cluster) {
  RedisPlace all{.nodes = {}, .tls = RedisPlace::Tls::kOpen, .crawl = cluster.name};
  for (const std::string& text : cluster.redis) {
    auto place = parse_redis_place(text);
    if (!place) return tl::unexpected(place.error());
    if (place->tls != RedisPlace::Tls::kOpen) {
      if (all.tls != RedisPlace::Tls::kOpen && all.tls != place->tls) {
        return error(ErrorCode::kInvalidArgument,
                     "some nodes have redis:// and others rediss://: TLS is for all or for none");
      }
      all.tls = place->tls;
    }
    for (RedisNode& node : place->nodes)
      if (std::ranges::find(all.nodes, node) == all.nodes.end())
        all.nodes.push_back(std::move(node));
  }
  if (cluster.tls && all.tls == RedisPlace::Tls::kNo) {
    return error(ErrorCode::kInvalidArgument,
                 "cluster.tls = true contradicts redis://: write rediss://, or the nodes without "
                 "a scheme");
  }
  if (all.tls == RedisPlace::Tls::kOpen)
    all.tls = cluster.tls ? RedisPlace::Tls::kYes : RedisPlace::Tls::kNo;
  return all;
}

std::string cluster_member(const ClusterConfig& cluster, const std::filesystem::path& state_dir) {
  if (!cluster.member.empty()) return cluster.member;
  std::error_code failed;
  const auto absolute = std::filesystem::absolute(state_dir, failed);
  std::string place = (failed ? state_dir : absolute).lexically_normal().string();
  if (place.size() > 1 && place.ends_with('/')) place.pop_back();
  return fmt::format("{}:{}", machine_name(), place);
}

Result<std::string> read_redis_password(const std::filesystem::path& file) {
  if (file.empty()) return std::string();
  auto text = read_text_file(file, kMaxPasswordFileBytes);
  if (!text) {
    return error(ErrorCode::kIo,
                 fmt::format("the file of Redis' password, {}, {}", file.string(), text.error()));
  }
  if (text->ends_with('\n')) text->pop_back();
  if (text->ends_with('\r')) text->pop_back();
  const bool has_control = std::ranges::any_of(
      *text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == '\x7f'; });
  if (text->empty() || has_control) {
    return error(ErrorCode::kInvalidArgument,
                 fmt::format("the file of Redis' password, {}, {}: it must have the password in "
                             "one line, and nothing else",
                             file.string(),
                             text->empty() ? "is empty" : "has control characters or other lines"));
  }
  return *std::move(text);
}

}  // namespace trawl
