#include "base/error.h"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>

namespace memqos {

std::string_view name(Code code) {
  switch (code) {
    case Code::invalid:
      return "invalid";
    case Code::gone:
      return "gone";
    case Code::denied:
      return "denied";
    case Code::unsupported:
      return "unsupported";
    case Code::again:
      return "again";
    case Code::timeout:
      return "timeout";
    case Code::io:
      return "io";
    case Code::internal:
      return "internal";
  }
  return "internal";
}

std::string Error::text() const {
  std::string out = sentence;
  if (!path.empty()) out += fmt::format("{}{}", out.empty() ? "" : ": ", path);
  if (sysErrno != 0) {
    out += fmt::format("{}{}", out.empty() ? "" : ": ", std::generic_category().message(sysErrno));
  }
  return out;
}

Error Error::in(std::string_view what) && {
  sentence = sentence.empty() ? std::string(what) : fmt::format("{}: {}", what, sentence);
  return std::move(*this);
}

Code codeOf(int sysErrno) {
  switch (sysErrno) {
    case ENOENT:
    case ENODEV:
    case ESRCH:
      return Code::gone;
    case EACCES:
    case EPERM:
    case EROFS:
      return Code::denied;
    case EOPNOTSUPP:
    case ENOSYS:
      return Code::unsupported;
    case EAGAIN:
    case EBUSY:
    case EINTR:
      return Code::again;
    case ETIMEDOUT:
      return Code::timeout;
    case EINVAL:
    case ERANGE:
      return Code::invalid;
    default:
      return Code::io;
  }
}

tl::unexpected<Error> fail(Code code, std::string sentence, std::string path) {
  return tl::unexpected<Error>(Error{code, 0, std::move(path), std::move(sentence)});
}

tl::unexpected<Error> failErrno(int sysErrno, std::string sentence, std::string path) {
  return tl::unexpected<Error>(Error{codeOf(sysErrno), sysErrno, std::move(path), std::move(sentence)});
}

}  // namespace memqos
