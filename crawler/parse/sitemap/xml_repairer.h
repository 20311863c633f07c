// XmlRepairer: repairs the XML that sites serve, so that a parser accepts it. libxml2's recovery
// mode alone loses URLs: it reads "/?x=1&y=2" as "/?x=1=2", and decodes decoded text again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "crawler/parse/sitemap/open_elements.h"

namespace trawl {

// Rewrites a stream of UTF-8 so that only elements, attributes, text and character references
// remain:
//  - '&' that does not begin a reference becomes "&amp;", '<' that does not begin a tag "&lt;";
//  - references with HTML's names become the character; other entities become the text
//    "&amp;name;", so that no entity is ever expanded;
//  - CDATA becomes text; comments, processing instructions, the XML declaration, the DOCTYPE with
//    all its declarations, white space and text before the first tag, and control characters are
//    removed;
//  - a tag that a '<' interrupts is closed before the '<', and a tag that is too long is cut;
//  - an end tag also closes open elements within its own element, and is removed if its element is
//    not open.
// Line ends become "\n" and their number stays, so that line numbers are those of the source. The
// output does not depend on how the input is split.
class XmlRepairer {
 public:
  static constexpr std::size_t kMaxName = 256;            // bytes
  static constexpr std::size_t kMaxTag = 64u << 10;       // bytes
  static constexpr std::size_t kMaxAttributes = 64;       // per tag
  static constexpr std::size_t kMaxDoctype = 256u << 10;  // bytes

  // Appends the repaired `text` to `out`: at most 7 times its length and 32 bytes.
  void repair(std::string_view text, std::string& out);
  // Ends the document: appends the text held back.
  void finish(std::string& out);

  // True if the document declares entities, or has an unterminated DOCTYPE.
  bool declares_entities() const noexcept { return declares_entities_; }
  // True if tags were cut or closed early, or a construct is unterminated.
  bool repaired_tags() const noexcept { return repaired_tags_; }
  std::size_t repaired_line() const noexcept { return repaired_line_; }

 private:
  enum class State : std::uint8_t {
    kText,
    kMarkup,      // after '<'
    kBang,        // after "<!"
    kTag,         // in a tag
    kQuoted,      // in an attribute's value
    kSkippedTag,  // in a part of a tag that is removed
    kEndTag,      // after "</"
    kReference,   // after '&'
    kComment,
    kInstruction,
    kCdata,
    kDoctype,
    kDeclaration,  // any other "<!"
  };

  // Each handles `c`; returns false if `c` must be handled again in the new state.
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
  void note_repaired();
  std::size_t copy_plain(std::string_view text, std::string& out);

  State state_ = State::kText;
  State reference_back_ = State::kText;
  OpenElements open_;
  std::string name_;  // name of the start tag, perhaps incomplete
  bool in_name_ = false;
  std::string held_;          // a reference's name, or the text after "<!"
  std::uint64_t window_ = 0;  // the last eight bytes, to detect terminators
  std::size_t length_ = 0;    // length of the tag or DOCTYPE so far
  std::size_t attributes_ = 0;
  std::size_t line_ = 1;
  std::size_t repaired_line_ = 0;
  char quote_ = 0;        // the open quote of a value or in a DOCTYPE
  char last_in_tag_ = 0;  // the last byte other than white space
  bool subset_ = false;   // within the [] of a DOCTYPE
  bool doctype_comment_ = false;
  bool after_return_ = false;
  bool seen_tag_ = false;
  bool declares_entities_ = false;
  bool repaired_tags_ = false;
};

}  // namespace trawl
