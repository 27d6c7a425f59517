// Structured logs on stderr: one JSON object or one plain line per record. The only door to spdlog.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

namespace memqos::log {

enum class Level { debug, info, warning, error };
enum class Format { text, json };

// One key and value of a record; values are printed escaped, so outside text is safe here.
struct Field {
  std::string_view key;
  std::string value;
  template <typename T>
  Field(std::string_view k, const T& v) : key(k), value(fmt::format("{}", v)) {}
};

// Where records go: stderr unless a test takes them. Call before other threads start.
void configure(Level least, Format format);
void capture(std::function<void(std::string_view line)> sink);  // nullptr: back to stderr

void write(Level level, std::string_view message, std::initializer_list<Field> fields = {});
inline void debug(std::string_view message, std::initializer_list<Field> fields = {}) {
  write(Level::debug, message, fields);
}
inline void info(std::string_view message, std::initializer_list<Field> fields = {}) {
  write(Level::info, message, fields);
}
inline void warning(std::string_view message, std::initializer_list<Field> fields = {}) {
  write(Level::warning, message, fields);
}
inline void error(std::string_view message, std::initializer_list<Field> fields = {}) {
  write(Level::error, message, fields);
}

// `text` inside a JSON string, without the quotes: control characters, quotes, backslashes and bytes that are not
// UTF-8 (replaced by U+FFFD) cannot leave it.
std::string escapeJson(std::string_view text);

}  // namespace memqos::log
