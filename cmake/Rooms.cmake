# One room = one folder = one static library, with its tests beside it.
include(GoogleTest)

add_library(memqos_flags INTERFACE)
# g++ 12 sees null pointers inside its own std::string once it optimises; clang's check is the one to trust.
target_compile_options(memqos_flags INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow
  -Wnon-virtual-dtor -Wold-style-cast -Woverloaded-virtual $<$<CXX_COMPILER_ID:Clang>:-Wnull-dereference> -fstack-protector-strong -fPIE)
target_compile_definitions(memqos_flags INTERFACE _GLIBCXX_ASSERTIONS)
target_link_options(memqos_flags INTERFACE -Wl,-z,relro,-z,now)
target_include_directories(memqos_flags INTERFACE "${CMAKE_SOURCE_DIR}/agent")
if(CMAKE_BUILD_TYPE MATCHES "Rel")
  target_compile_definitions(memqos_flags INTERFACE _FORTIFY_SOURCE=2)
endif()
if(MEMQOS_WERROR)
  target_compile_options(memqos_flags INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # ccache can only cache users of a precompiled header if the preprocessor keeps its mark.
  target_compile_options(memqos_flags INTERFACE -fpch-preprocess)
endif()
if(MEMQOS_SANITIZE)
  target_compile_options(memqos_flags INTERFACE -fsanitize=${MEMQOS_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(memqos_flags INTERFACE -fsanitize=${MEMQOS_SANITIZE})
endif()

if(MEMQOS_FUZZ)
  add_custom_target(fuzz_targets)
endif()

# memqos_room(NAME SOURCES a.cpp ... [DEPS memqos::x ...] [PRIVATE_DEPS third::party ...])
function(memqos_room name)
  cmake_parse_arguments(R "" "" "SOURCES;DEPS;PRIVATE_DEPS" ${ARGN})
  add_library(memqos_${name} STATIC ${R_SOURCES})
  add_library(memqos::${name} ALIAS memqos_${name})
  target_link_libraries(memqos_${name} PUBLIC memqos_flags ${R_DEPS} PRIVATE ${R_PRIVATE_DEPS})
  if(MEMQOS_FUZZ)  # the fuzzer sees which branches an input takes
    target_compile_options(memqos_${name} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()

# Tests are compiled for seconds and run for milliseconds: as much optimisation as -D_FORTIFY_SOURCE needs, line numbers only.
if(CMAKE_BUILD_TYPE MATCHES "Rel")
  set(MEMQOS_TEST_OPTIONS -O1 -g1)
endif()

# gtest costs seconds per file; one precompiled header serves every test binary.
function(memqos_test_pch)
  add_library(memqos_test_pch STATIC "${CMAKE_SOURCE_DIR}/agent/testing/pch.cpp")
  target_link_libraries(memqos_test_pch PUBLIC memqos_flags GTest::gmock GTest::gtest fmt::fmt)
  target_compile_options(memqos_test_pch PRIVATE ${MEMQOS_TEST_OPTIONS})
  target_precompile_headers(memqos_test_pch PRIVATE "${CMAKE_SOURCE_DIR}/agent/testing/pch.h")
endfunction()

function(memqos_add_gtest target)
  cmake_parse_arguments(T "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${target} ${T_SOURCES})
  target_link_libraries(${target} PRIVATE ${T_DEPS} memqos_flags GTest::gmock GTest::gtest GTest::gmock_main fmt::fmt)
  target_compile_options(${target} PRIVATE ${MEMQOS_TEST_OPTIONS})
  target_precompile_headers(${target} REUSE_FROM memqos_test_pch)
  # g++ 12 sees overflows in its own std::string when a test's literals are inlined (gcc.gnu.org/PR105329).
  target_compile_options(${target} PRIVATE
    $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds;-Wno-restrict;-Wno-stringop-overflow;-Wno-stringop-overread;-Wno-maybe-uninitialized>)
endfunction()

# memqos_unit_test(ROOM SOURCES a_test.cpp ... [DEPS ...]): runs anywhere, as any user, in no particular order.
function(memqos_unit_test room)
  memqos_add_gtest(${room}_test ${ARGN} )
  target_link_libraries(${room}_test PRIVATE memqos::${room})
  gtest_discover_tests(${room}_test PROPERTIES LABELS unit TIMEOUT 120 DISCOVERY_TIMEOUT 60)
endfunction()

# memqos_kernel_test(ROOM SOURCES a_kernel_test.cpp ... [DEPS ...] [MEMORY MIB] [V1]): run inside a guest only; e2e/ makes
# the ctest entries, one for each size of guest, and one for cgroup v1.
function(memqos_kernel_test room)
  cmake_parse_arguments(K "V1" "MEMORY" "SOURCES;DEPS" ${ARGN})
  set(target ${room}_kernel_test)
  if(K_V1)
    set(target ${room}_v1_kernel_test)
    set(K_MEMORY v1)
  elseif(K_MEMORY)
    set(target ${room}_${K_MEMORY}mib_kernel_test)
  else()
    set(K_MEMORY 2048)
  endif()
  memqos_add_gtest(${target} SOURCES ${K_SOURCES} DEPS ${K_DEPS})
  target_link_libraries(${target} PRIVATE memqos::${room})
  set_property(GLOBAL APPEND PROPERTY MEMQOS_KERNEL_TESTS_${K_MEMORY} ${target})
endfunction()

# memqos_fuzz(ROOM NAME [DEPS ...]): NAME_fuzz.cpp as a libFuzzer target, with the kept corpus in testdata/fuzz/NAME and an
# optional dictionary testdata/fuzz/NAME.dict. ctest runs the corpus once; scripts/fuzz looks for more.
function(memqos_fuzz room name)
  if(NOT MEMQOS_FUZZ)
    return()
  endif()
  cmake_parse_arguments(F "" "" "DEPS" ${ARGN})
  set(target ${room}_${name}_fuzz)
  add_executable(${target} ${name}_fuzz.cpp)
  target_link_libraries(${target} PRIVATE memqos::${room} memqos_flags ${F_DEPS})
  target_compile_options(${target} PRIVATE -fsanitize=fuzzer)
  target_link_options(${target} PRIVATE -fsanitize=fuzzer)
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/fuzz")
  add_dependencies(fuzz_targets ${target})
  add_test(NAME fuzz.${room}.${name} COMMAND ${target} -runs=0 "${CMAKE_CURRENT_SOURCE_DIR}/testdata/fuzz/${name}")
  set_tests_properties(fuzz.${room}.${name} PROPERTIES LABELS fuzz TIMEOUT 120)
endfunction()
