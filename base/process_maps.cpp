#include "base/process_maps.h"

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "base/whole_file.h"

namespace simrun {

namespace {

// Takes a number and the character behind it off `text`.
template <typename Number>
bool take_number(std::string_view* text, int base, char behind, Number* value) {
  const char* const end = text->data() + text->size();
  const auto [at, error] = std::from_chars(text->data(), end, *value, base);
  if (error != std::errc{} || at == end || *at != behind) return false;
  text->remove_prefix(static_cast<size_t>(at + 1 - text->data()));
  return true;
}

// "rwxp "
bool take_permissions(std::string_view* text, MapsEntry* entry) {
  if (text->size() < 5 || (*text)[4] != ' ') return false;
  entry->readable = (*text)[0] == 'r', entry->writable = (*text)[1] == 'w';
  entry->executable = (*text)[2] == 'x', entry->shared = (*text)[3] == 's';
  text->remove_prefix(5);
  return true;
}

// Without the newline.
bool parse_line(std::string_view line, MapsEntry* entry) {
  if (!take_number(&line, 16, '-', &entry->start) || !take_number(&line, 16, ' ', &entry->end) || !take_permissions(&line, entry) ||
      !take_number(&line, 16, ' ', &entry->offset) || !take_number(&line, 16, ':', &entry->major) ||
      !take_number(&line, 16, ' ', &entry->minor) || !take_number(&line, 10, ' ', &entry->inode))
    return false;
  entry->path = line.substr(std::min(line.find_first_not_of(' '), line.size()));
  return true;
}

}  // namespace

bool parse_process_maps(std::string_view text, std::vector<MapsEntry>* entries) {
  entries->clear();
  while (!text.empty()) {
    const size_t length = text.find('\n');
    if (length == text.npos || !parse_line(text.substr(0, length), &entries->emplace_back())) {
      entries->clear();
      return false;
    }
    text.remove_prefix(length + 1);
  }
  return true;
}

int read_maps_file(const char* path, std::vector<MapsEntry>* entries) {
  entries->clear();
  std::string text;
  if (const int error = read_whole(path, &text); error != 0) return error;
  if (text.empty()) return ESRCH;
  return parse_process_maps(text, entries) ? 0 : EBADMSG;
}

}  // namespace simrun
