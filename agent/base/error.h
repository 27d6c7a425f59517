// Expected failures are values. The contract is docs/design/errors.md.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace memqos {

// What a caller may want to decide on; the errno stays beside it.
enum class Code {
  invalid,      // outside input that cannot be accepted as it is
  gone,         // the cgroup, process or file went away: ENOENT, ENODEV, ESRCH
  denied,       // EACCES, EPERM, EROFS
  unsupported,  // the kernel or the node lacks it: EOPNOTSUPP, ENOSYS, EINVAL of a probe
  again,        // EAGAIN, EBUSY, EINTR: a result, not a fault
  timeout,      // a deadline passed
  io,           // any other errno
  internal,     // a promise of our own code was broken
};

// The word for a code that logs and labels use, e.g. "gone".
std::string_view name(Code code);

struct Error {
  Code code = Code::internal;
  int sysErrno = 0;      // 0 where no system call failed
  std::string path;      // the file or object it is about; may be empty
  std::string sentence;  // what could not be done, without the path and without the errno's text

  // "SENTENCE: PATH: strerror", each part only where there is one.
  [[nodiscard]] std::string text() const;
  // The same error with `what` in front of the sentence: context is added on the way up.
  [[nodiscard]] Error in(std::string_view what) &&;
};

// The code that an errno of a kernel call stands for.
Code codeOf(int sysErrno);

tl::unexpected<Error> fail(Code code, std::string sentence, std::string path = {});
// From a failed system call; `sysErrno` is usually errno.
tl::unexpected<Error> failErrno(int sysErrno, std::string sentence, std::string path = {});

// A value or an Error; dropping one is a compiler warning.
template <typename T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using Base = tl::expected<T, Error>;
  using Base::Base;
  Result(Base base) : Base(std::move(base)) {}  // NOLINT(google-explicit-constructor): so that and_then() chains
};
using Status = Result<void>;

}  // namespace memqos
