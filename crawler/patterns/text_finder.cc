#include "crawler/patterns/text_finder.h"

#include <algorithm>

#include "url/percent_encoding.h"

namespace trawl {

namespace {

std::string_view last_bytes(std::string_view text) {
  return text.substr(text.size() - std::min(text.size(), TextFinder::kLongest));
}

// Marks the texts found in one call, without clearing the marks of the previous call.
class Marks {
 public:
  void begin(std::size_t texts) {
    if (marks_.size() < texts) marks_.resize(texts, 0);
    if (++call_ != 0) return;
    std::ranges::fill(marks_, 0);
    call_ = 1;
  }
  // Returns true the first time.
  bool mark(int text) {
    std::uint32_t& mark = marks_[static_cast<std::size_t>(text)];
    const bool first = mark != call_;
    mark = call_;
    return first;
  }

 private:
  std::vector<std::uint32_t> marks_;
  std::uint32_t call_ = 0;
};

}  // namespace

TextFinder::TextFinder(const std::vector<std::string>& texts) : texts_(texts.size()) {
  number_bytes(texts);
  next_.assign(classes_, kNone);
  first_output_.assign(1, kNone);
  for (std::size_t i = 0; i < texts.size(); ++i)
    add(last_bytes(texts[i]), static_cast<int>(i));
  connect();
}

void TextFinder::number_bytes(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    for (const char c : last_bytes(text)) {
      auto& number = class_of_[static_cast<unsigned char>(ascii_lower(c))];
      if (number == 0) number = static_cast<std::uint8_t>(classes_++);
    }
  }
  for (int upper = 'A'; upper <= 'Z'; ++upper)
    class_of_[static_cast<std::size_t>(upper)] =
        class_of_[static_cast<unsigned char>(ascii_lower(static_cast<char>(upper)))];
}

void TextFinder::add(std::string_view text, int number) {
  if (text.empty()) return;
  std::size_t state = 0;
  for (const char c : text) {
    const std::size_t edge = state * classes_ + class_of_[static_cast<unsigned char>(c)];
    if (next_[edge] == kNone) {
      next_[edge] = static_cast<std::uint32_t>(first_output_.size());
      next_.resize(next_.size() + classes_, kNone);
      first_output_.push_back(kNone);
    }
    state = next_[edge];
  }
  outputs_.push_back({.text = number, .next = first_output_[state]});
  first_output_[state] = static_cast<std::uint32_t>(outputs_.size() - 1);
}

void TextFinder::connect() {
  const std::size_t states = first_output_.size();
  std::vector<std::uint32_t> shorter(states, 0);  // the longest proper suffix that is a state
  output_state_.assign(states, kNone);
  shorter_output_state_.assign(states, kNone);
  // Breadth first: the states that a state depends on come before it.
  std::vector<std::uint32_t> queue{0};
  for (std::size_t done = 0; done < queue.size(); ++done) {
    const std::uint32_t state = queue[done];
    if (state != 0) shorter_output_state_[state] = output_state_[shorter[state]];
    output_state_[state] = first_output_[state] != kNone ? state : shorter_output_state_[state];
    for (std::size_t c = 0; c < classes_; ++c) {
      std::uint32_t& next = next_[state * classes_ + c];
      const std::uint32_t otherwise = state == 0 ? 0 : next_[shorter[state] * classes_ + c];
      if (next == kNone) {
        next = otherwise;
      } else {
        shorter[next] = otherwise;
        queue.push_back(next);
      }
    }
  }
}

void TextFinder::find(std::string_view in, std::vector<int>& found) const {
  thread_local Marks marks;
  marks.begin(texts_);
  found.clear();
  std::size_t state = 0;
  for (const char c : in) {
    state = next_[state * classes_ + class_of_[static_cast<unsigned char>(c)]];
    for (std::uint32_t at = output_state_[state]; at != kNone; at = shorter_output_state_[at]) {
      for (std::uint32_t i = first_output_[at]; i != kNone; i = outputs_[i].next)
        if (marks.mark(outputs_[i].text)) found.push_back(outputs_[i].text);
    }
  }
}

}  // namespace trawl
