// MarkupMender: makes of the XML that sites serve the XML that a parser takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "crawler/parse/sitemap/open_elements.h"

namespace trawl {

// Rewrites a stream of UTF-8 so that only elements, attributes, text and references to characters
// are left of it:
//  - '&' that begins no reference becomes "&amp;", '<' that begins no tag "&lt;";
//  - references with HTML's names become the character; other entities stay text: "&amp;name;".
//    So no entity is ever expanded, whatever the document declares;
//  - CDATA becomes text; comments, processing instructions, the XML declaration, the DOCTYPE with
//  all
//    its declarations, white space and text before the first tag, control characters are left out;
//  - a tag that a '<' interrupts is closed before it, and one that is too long is cut;
//  - an end tag closes the elements within its own that are open, and is left out if its own is
//  not.
// Line ends become "\n" and their number stays, so that line numbers are those of the source. The
// output does not depend on how the input is cut.
class MarkupMender {
 public:
  static constexpr std::size_t kMaxName = 256;            // bytes
  static constexpr std::size_t kMaxTag = 64u << 10;       // bytes
  static constexpr std::size_t kMaxAttributes = 64;       // of one tag
  static constexpr std::size_t kMaxDoctype = 256u << 10;  // bytes

  // Appends the mended `text` to `out`: at most 7 times its length and 32 bytes.
  void mend(std::string_view text, std::string& out);
  // The end of the document: what was held back.
  void finish(std::string& out);

  // It declares entities, or has a DOCTYPE without end.
  bool declares_entities() const noexcept { return declares_entities_; }
  // Tags were cut or closed where they do not end, or something has no end.
  bool mended_tags() const noexcept { return mended_tags_; }
  std::size_t mended_line() const noexcept { return mended_line_; }

 private:
  enum class State : std::uint8_t {
    kText,
    kMarkup,      // behind '<'
    kBang,        // behind "<!"
    kTag,         // in a tag
    kQuoted,      // in an attribute's value
    kSkippedTag,  // in the part of a tag that is left out
    kEndTag,      // behind "</"
    kReference,   // behind '&'
    kComment,
    kInstruction,
    kCdata,
    kDoctype,
    kDeclaration,  // any other "<!"
  };

  // Each handles `c` and returns false if it must be looked at again in the new state.
  bool step(char c, std::string& out);
  bool in_text(char c, std::string& out);
  bool behind_less_than(char c, std::string& out);
  bool behind_bang(char c);
  bool in_tag(char c, std::string& out);
  bool in_quotes(char c, std::string& out);
  bool in_skipped_tag(char c, std::string& out);
  bool in_end_tag(char c, std::string& out);
  bool in_reference(char c, std::string& out);
  void in_cdata(char c, std::string& out);
  void in_doctype(char c);
  bool left_out_ends(char c, std::string_view terminator);

  void end_start_tag(std::string_view with, std::string& out);
  void close_element(std::string& out);
  void begin_reference(State back);
  void end_reference(std::string& out);
  void put_text(char c, std::string& out);
  void note_mended();
  std::size_t copy_plain(std::string_view text, std::string& out);

  State state_ = State::kText;
  State reference_back_ = State::kText;
  OpenElements open_;
  std::string name_;  // of the start tag, as far as it was read
  bool in_name_ = false;
  std::string held_;          // a reference's name, or what follows "<!"
  std::uint64_t window_ = 0;  // the last eight bytes, for terminators
  std::size_t length_ = 0;    // of the tag or DOCTYPE so far
  std::size_t attributes_ = 0;
  std::size_t line_ = 1;
  std::size_t mended_line_ = 0;
  char quote_ = 0;        // of a value, or in a DOCTYPE
  char last_in_tag_ = 0;  // the last byte that is not white space
  bool subset_ = false;   // within the [] of a DOCTYPE
  bool doctype_comment_ = false;
  bool after_return_ = false;
  bool seen_tag_ = false;
  bool declares_entities_ = false;
  bool mended_tags_ = false;
};

}  // namespace trawl
