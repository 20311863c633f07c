#include "frontier/shared/shared_budget.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "frontier/shared/redis_values.h"

namespace trawl {
namespace {

// Lua counts in doubles: exact up to here.
constexpr std::uint64_t kMost = std::uint64_t{1} << 53;

// KEYS bud. ARGV name, its field for the session, number of the request, amount given back (0: a
// portion is taken), limit, need, least, most. The session's field has its last request and the
// answer: the same request again is answered so, and written again in part, so that WAIT waits.
const RedisScript& budget_script() {
  static const RedisScript script{R"lua(
local m = redis.call('HMGET', KEYS[1], ARGV[1], ARGV[2])
local taken = tonumber(m[1] or '0')
local last, amount = string.match(m[2] or '0 0', '^(%d+) (%d+)$')
if not taken then return {'DAMAGED', ARGV[1]} end
if not last then return {'DAMAGED', ARGV[2]} end
amount = tonumber(amount)
if tonumber(last) ~= tonumber(ARGV[3]) then
  local back, limit, need = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
  amount = 0
  if back > 0 then
    taken = math.max(0, taken - back)
  elseif limit > taken then
    local left = limit - taken
    amount = math.min(math.max(math.floor(left / 100), tonumber(ARGV[7])), tonumber(ARGV[8]))
    amount = math.min(math.max(amount, need), left)
    taken = taken + amount
  end
end
redis.call('HDEL', KEYS[1], '')
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f', taken),
           ARGV[2], string.format('%s %.0f', ARGV[3], amount))
return {'OK', string.format('%.0f', amount)}
)lua"};
  return script;
}

}  // namespace

RedisCommand SharedBudget::command(std::uint64_t back, std::uint64_t limit, std::uint64_t need) {
  RedisCommand command(budget_script(), std::span(&key_, 1));
  command.arg(options_.name).arg(options_.name + ":" + options_.session).arg(++number_);
  command.arg(back).arg(std::min(limit, kMost)).arg(std::min(need, kMost));
  return command.arg(options_.least).arg(options_.most);
}

// Sends what was not answered, as it was.
Result<void> SharedBudget::settle() {
  if (!pending_) return {};
  RedisAnswer answer = client_->run_one(*pending_, {.wait = true, .patience = options_.patience});
  if (answer.reply && !answer.reply->is_error() && !answer.replicated) answer.reply.reset();
  auto reply = checked_reply(*client_, *pending_, std::move(answer));
  if (!reply) return tl::unexpected(reply.error());
  const auto& words = reply->elements;
  const std::string_view word = words.size() == 2 ? std::string_view(words[0].text) : "";
  if (word == "DAMAGED")
    return damaged_value(key_, fmt::format("its field {} is not what Trawl wrote", words[1].text));
  const auto amount = word == "OK" ? number_in(words[1].text) : std::nullopt;
  if (!amount) return damaged_value(key_, "a script answers with something else");
  in_hand_ += *amount;
  pending_.reset();
  return {};
}

Result<std::uint64_t> SharedBudget::take(std::uint64_t limit, std::uint64_t need) {
  if (auto settled = settle(); !settled) return tl::unexpected(settled.error());
  if (in_hand_ < need || in_hand_ == 0) {
    pending_ = command(0, limit, std::max<std::uint64_t>(need - std::min(need, in_hand_), 1));
    if (auto settled = settle(); !settled) return tl::unexpected(settled.error());
  }
  return std::exchange(in_hand_, 0);
}

Result<void> SharedBudget::give_back(std::uint64_t amount) {
  if (auto settled = settle(); !settled) return settled;
  // A portion whose answer came late was never handed out.
  amount += std::exchange(in_hand_, 0);
  if (amount == 0) return {};
  pending_ = command(amount, 0, 0);
  return settle();
}

Result<std::uint64_t> SharedBudget::taken() {
  RedisCommand command("HGET", key_);
  command.arg(key_).arg(options_.name);
  auto reply =
      checked_reply(*client_, command, client_->run_one(command, {.patience = options_.patience}));
  if (!reply) return tl::unexpected(reply.error());
  if (reply->is_nil()) return 0;
  const auto number = number_in(reply->text);
  if (!number)
    return damaged_value(key_, fmt::format("its field {} is not a number", options_.name));
  return *number;
}

}  // namespace trawl
