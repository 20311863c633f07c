#include "frontier/redis/reply_reader.h"

#include <cstddef>
#include <new>
#include <utility>

#include <fmt/format.h>
#include <hiredis/read.h>

namespace trawl {
namespace {

// Where the parser's next object goes: an element of its array, or a reply of its own.
RedisReply* place(const redisReadTask* task, RedisReply::Kind kind) {
  RedisReply* reply = nullptr;
  if (task->parent == nullptr) {
    reply = new (std::nothrow) RedisReply();
  } else {
    reply = &static_cast<RedisReply*>(task->parent->obj)->elements[static_cast<size_t>(task->idx)];
  }
  if (reply != nullptr) reply->kind = kind;
  return reply;
}

void* create_string(const redisReadTask* task, char* text, std::size_t size) {
  const auto kind = task->type == REDIS_REPLY_ERROR    ? RedisReply::Kind::kError
                    : task->type == REDIS_REPLY_STATUS ? RedisReply::Kind::kStatus
                                                       : RedisReply::Kind::kString;
  RedisReply* reply = place(task, kind);
  if (reply != nullptr) reply->text.assign(text, size);
  return reply;
}
void* create_array(const redisReadTask* task, int size) {
  RedisReply* reply = place(task, RedisReply::Kind::kArray);
  if (reply != nullptr && size > 0) reply->elements.resize(static_cast<std::size_t>(size));
  return reply;
}
void* create_integer(const redisReadTask* task, long long value) {
  RedisReply* reply = place(task, RedisReply::Kind::kInteger);
  if (reply != nullptr) reply->integer = value;
  return reply;
}
void* create_nil(const redisReadTask* task) {
  return place(task, RedisReply::Kind::kNil);
}
void free_object(void* reply) {
  delete static_cast<RedisReply*>(reply);
}

redisReplyObjectFunctions functions = {create_string, create_array, create_integer, create_nil,
                                       free_object};

}  // namespace

ReplyReader::ReplyReader() : reader_(redisReaderCreateWithFunctions(&functions)) {
  if (reader_ == nullptr) throw std::bad_alloc();
}

void ReplyReader::Free::operator()(redisReader* reader) const noexcept {
  redisReaderFree(reader);
}

void ReplyReader::feed(std::string_view bytes) {
  redisReaderFeed(reader_.get(), bytes.data(), bytes.size());
}

Result<std::optional<RedisReply>> ReplyReader::next() {
  void* found = nullptr;
  if (redisReaderGetReply(reader_.get(), &found) != REDIS_OK) {
    return error(ErrorCode::kCorrupt,
                 fmt::format("this is not a reply of Redis: {}", reader_->errstr));
  }
  if (found == nullptr) return std::optional<RedisReply>();
  const std::unique_ptr<RedisReply> reply(static_cast<RedisReply*>(found));
  return std::optional<RedisReply>(std::move(*reply));
}

}  // namespace trawl
