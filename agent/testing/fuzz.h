// What the fuzz targets share. A target is one x_fuzz.cpp with one LLVMFuzzerTestOneInput.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace memqos::testing {

// The fuzzer's bytes as text.
inline std::string_view textOf(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// A promise that holds for every input; a broken one ends the run, and the fuzzer keeps the input.
inline void require(bool holds, std::string_view promise) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %.*s\n", static_cast<int>(promise.size()), promise.data());
  std::abort();
}

// The text up to `separator`, which is taken off `rest` with it; the whole rest if there is none.
inline std::string_view takeUntil(std::string_view& rest, char separator) {
  const std::size_t end = rest.find(separator);
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return part;
}

}  // namespace memqos::testing

// The fuzzer's entry; libFuzzer chooses the name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
