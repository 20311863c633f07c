#include "frontier/shared/shared_session.h"

#include <algorithm>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "trawl/fingerprint.h"

#include "base/file_io.h"
#include "base/safe_text.h"

namespace trawl {

namespace {

constexpr std::string_view kTitle = "trawl-shared-frontier ";
constexpr std::string_view kVersion = "1";
constexpr std::size_t kMaxBytes = 4096;

std::string session_path(const std::filesystem::path& directory) {
  return (directory / "shared-frontier").string();
}

bool is_id(std::string_view text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

std::string new_session() {
  std::string text;
  for (const std::uint8_t byte : KeyedHash::random().key())
    text += fmt::format("{:02x}", byte);
  return text;
}

Result<std::optional<SharedSession>> SharedSession::read(const std::filesystem::path& directory) {
  const std::string path = session_path(directory);
  std::error_code failed;
  if (!std::filesystem::exists(path, failed) && !failed) return std::nullopt;
  const auto text = read_file(path, kMaxBytes);
  if (!text) return tl::unexpected(text.error());
  std::string_view rest = *text;
  const auto line = [&]() -> std::optional<std::string_view> {
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view found = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    return found;
  };
  const auto value = [&](std::string_view name) -> std::string {
    const auto found = line();
    return found && found->starts_with(name) ? std::string(found->substr(name.size()))
                                             : std::string();
  };
  const std::string version = value(kTitle);
  if (!version.empty() && version != kVersion) {
    return error(ErrorCode::kUnsupportedVersion,
                 fmt::format("{} has the version {}, this Trawl knows {}; use the Trawl that wrote "
                             "it, or another directory",
                             path, escape_unsafe(version), kVersion));
  }
  SharedSession session{.crawl = value("crawl "),
                        .member = value("member "),
                        .id = value("id "),
                        .session = value("session ")};
  if (version.empty() || session.crawl.empty() || session.member.empty() || !is_id(session.id) ||
      !is_id(session.session) || !rest.empty()) {
    return error(
        ErrorCode::kCorrupt,
        fmt::format("{} is damaged; if the crawl is still in Redis, delete this file: the crawler "
                    "then joins it again, and waits for cluster.takeover_after",
                    path));
  }
  return session;
}

Result<void> SharedSession::write(const std::filesystem::path& directory) const {
  return replace_file(session_path(directory),
                      fmt::format("{}{}\ncrawl {}\nmember {}\nid {}\nsession {}\n", kTitle,
                                  kVersion, crawl, member, id, session));
}

Result<void> SharedSession::remove(const std::filesystem::path& directory) {
  const std::string path = session_path(directory);
  std::error_code failed;
  const bool removed = std::filesystem::remove(path, failed);
  if (failed) return tl::unexpected(system_error(failed.value(), "cannot remove " + path));
  return removed ? sync_directory(directory.string()) : Result<void>{};
}

}  // namespace trawl
