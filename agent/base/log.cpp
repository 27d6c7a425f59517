#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <fmt/chrono.h>
#include <chrono>
#include <memory>
#include <utility>

#include "base/utf8.h"

namespace memqos::log {
namespace {

struct State {
  Level least = Level::info;
  Format format = Format::text;
  std::function<void(std::string_view)> sink;
  std::shared_ptr<spdlog::logger> logger;
};

State& state() {
  static State instance = [] {
    State s;
    s.logger = std::make_shared<spdlog::logger>("memqos", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    s.logger->set_pattern("%v");  // the record is complete: spdlog's own JSON patterns do not escape
    s.logger->set_level(spdlog::level::trace);
    s.logger->flush_on(spdlog::level::trace);
    return s;
  }();
  return instance;
}

std::string_view word(Level level) {
  switch (level) {
    case Level::debug:
      return "debug";
    case Level::info:
      return "info";
    case Level::warning:
      return "warning";
    case Level::error:
      return "error";
  }
  return "error";
}

bool plain(std::string_view text) {
  return text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:%+,") ==
         std::string_view::npos;
}

// As escapeJson(); where no quotes stand around it, they and backslashes stay as they are.
std::string escaped(std::string_view text, bool inQuotes) {
  std::string out;
  out.reserve(text.size() + 8);
  while (!text.empty()) {
    const std::size_t length = utf8Sequence(text);
    const char c = text[0];
    if (length == 0) {
      out += "\xEF\xBF\xBD";
    } else if (length > 1) {
      const char32_t point = utf8CodePoint(text.substr(0, length));
      if (actsOnTerminal(point)) {
        out += fmt::format("\\u{:04x}", static_cast<unsigned>(point));
      } else {
        out += text.substr(0, length);
      }
    } else if (inQuotes && (c == '"' || c == '\\')) {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      out += c;
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

std::string render(Level level, std::string_view message, std::initializer_list<Field> fields) {
  const auto now = std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
  const auto seconds = std::chrono::floor<std::chrono::seconds>(now);
  const auto stamp = fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                                 fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)), (now - seconds).count());
  if (state().format == Format::json) {
    std::string line =
        fmt::format(R"({{"time":"{}","level":"{}","message":"{}")", stamp, word(level), escapeJson(message));
    for (const Field& field : fields) {
      if (!field.value.empty()) line += fmt::format(R"(,"{}":"{}")", escapeJson(field.key), escapeJson(field.value));
    }
    return line + "}";
  }
  std::string line = fmt::format("{} {:<7} {}", stamp, word(level), escaped(message, false));
  for (const Field& field : fields) {
    if (field.value.empty()) continue;
    line += plain(field.value) ? fmt::format(" {}={}", field.key, field.value)
                               : fmt::format(" {}=\"{}\"", field.key, escapeJson(field.value));
  }
  return line;
}

}  // namespace

void configure(Level least, Format format) {
  state().least = least;
  state().format = format;
}

void capture(std::function<void(std::string_view line)> sink) {
  state().sink = std::move(sink);
}

void write(Level level, std::string_view message, std::initializer_list<Field> fields) {
  State& s = state();
  if (level < s.least) return;
  const std::string line = render(level, message, fields);
  if (s.sink) {
    s.sink(line);
    return;
  }
  s.logger->log(spdlog::level::info, "{}", line);
}

std::string escapeJson(std::string_view text) {
  return escaped(text, true);
}

}  // namespace memqos::log
