#include "crawler/resp/dispatcher.h"

#include <utility>

#include "base/safe_text.h"
#include "crawler/resp/command_arguments.h"

namespace trawl::resp {

Dispatcher::Dispatcher(FilterStore& store, ServerControl& server, const CommandDefaults& defaults,
                       std::set<std::string, std::less<>> disabled)
    : store_(store),
      server_(server),
      defaults_(defaults),
      disabled_(std::move(disabled)),
      may_add_in_batches_(!disabled_.contains("BF.ADD")),
      may_find_in_batches_(!disabled_.contains("BF.EXISTS")) {}

void Dispatcher::execute(Client& client, const Request& request) {
  if (request.size() == 0) return;
  ++commands_;
  ++client.turn_commands;
  if (request.size() == 3 && client.authenticated) {
    if (may_add_in_batches_ && is_word(request[0], "BF.ADD")) {
      if (batch(client, request, BatchKind::kAdd)) return;
    } else if (may_find_in_batches_ && is_word(request[0], "BF.EXISTS")) {
      if (batch(client, request, BatchKind::kFind)) return;
    }
  }
  flush();
  ReplyWriter reply(client.out, client.version);
  const Command* const command = find_command(request[0]);
  if (!client.authenticated && (command == nullptr || (command->flags & Command::kOpen) == 0)) {
    reply.error("NOAUTH Authentication required.");
  } else if (command == nullptr) {
    reply.error(unknown_command(request));
  } else if (disabled_.contains(command->name)) {
    reply.error(fmt::format("ERR the command {} is switched off on this server (--disable)",
                            command->name));
  } else {
    run(client, request, *command);
  }
}

void Dispatcher::run(Client& client, const Request& request, const Command& command) {
  client.last_command = command.name;
  ReplyWriter reply(client.out, client.version);
  const auto words = static_cast<int>(request.size());
  const bool fits = command.arity >= 0 ? words == command.arity : words >= -command.arity;
  if (!fits) return reply.error(wrong_arity(command.name));
  if ((command.flags & Command::kWrite) != 0)
    if (const auto refused = server_.refusal()) return reply.error(*refused);
  CommandCall call{request, client, reply, store_, server_, defaults_};
  command.run(call);
}

bool Dispatcher::batch(Client& client, const Request& request, BatchKind kind) {
  const bool goes_on = keys_waiting_ > 0 && keys_waiting_ < kMostKeys && kind_ == kind &&
                       client_ == &client && filter_->name() == request[1];
  if (!goes_on) {
    flush();
    ServedFilter* const filter = store_.find(request[1]);
    if (filter == nullptr || filter->is_cuckoo()) return false;
    if (kind == BatchKind::kAdd && (filter->is_mapped() || server_.refusal())) return false;
    client_ = &client;
    filter_ = filter;
    kind_ = kind;
    client.last_command = kind == BatchKind::kAdd ? "BF.ADD" : "BF.EXISTS";
  }
  keys_[keys_waiting_++] = filter_->hash()(request[2]);
  return true;
}

void Dispatcher::flush() {
  if (keys_waiting_ == 0) return;
  ReplyWriter reply(client_->out, client_->version);
  if (kind_ == BatchKind::kAdd) {
    flush_adds(reply);
  } else {
    filter_->contains({keys_.data(), keys_waiting_}, {answers_.data(), keys_waiting_});
    reply.booleans({answers_.data(), keys_waiting_});
  }
  keys_waiting_ = 0;
  client_ = nullptr;
  filter_ = nullptr;
}

void Dispatcher::flush_adds(ReplyWriter& reply) {
  for (std::size_t next = 0; next < keys_waiting_;) {
    const std::size_t some = keys_waiting_ - next;
    const AddProgress progress =
        store_.add(*filter_, {keys_.data() + next, some}, {answers_.data(), some});
    reply.booleans({answers_.data(), progress.done});
    next += progress.done;
    if (progress.stop == Stop::kNone) continue;
    ++next;
    reply.error(progress.stop == Stop::kFull ? "ERR non scaling filter is full" : kNoMemoryError);
  }
}

std::string Dispatcher::unknown_command(const Request& request) const {
  constexpr std::size_t kShown = 128;
  std::string arguments;
  for (std::size_t i = 1; i < request.size() && arguments.size() < kShown; ++i)
    arguments += fmt::format("'{}' ", escape_unsafe(request[i].substr(0, kShown)));
  return fmt::format("ERR unknown command '{}', with args beginning with: {}",
                     escape_unsafe(request[0].substr(0, kShown)), arguments);
}

}  // namespace trawl::resp
