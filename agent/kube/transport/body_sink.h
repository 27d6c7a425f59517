// Where the library puts a body: handed over part by part to the thread that reads, and no part before the last one is
// taken. Only for cpprest.cpp.
#pragma once

#include <cpprest/astreambuf.h>
#include <cpprest/http_client.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string_view>

#include "kube/transport/transport.h"

namespace memqos::kube {

// Between the library's threads and the reader. Outlives whichever of the two ends first.
class Exchange {
 public:
  enum class What { head, part, end, late, stopped };
  struct Taken {
    What what = What::end;
    std::string_view part;     // valid until done()
    std::exception_ptr error;  // of an end: null is a good one
  };

  // The library's side.
  void head(Head head) {
    const std::lock_guard lock(mutex_);
    head_ = std::move(head);
    changed_.notify_all();
  }
  pplx::task<std::size_t> part(const std::uint8_t* data, std::size_t size) {
    const std::lock_guard lock(mutex_);
    if (abandoned_) return pplx::task_from_result<std::size_t>(0);
    part_ = std::string_view(reinterpret_cast<const char*>(data), size);
    taken_ = pplx::task_completion_event<std::size_t>();
    changed_.notify_all();
    return pplx::task<std::size_t>(*taken_);
  }
  void end(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    error_ = std::move(error);
    changed_.notify_all();
  }

  // The reader's side. The head is told once, before any part.
  Taken next(std::chrono::steady_clock::time_point until, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    const auto ready = [&] { return (head_ && !headTold_) || (head_ && taken_) || ended_; };
    if (!changed_.wait_until(lock, stop, until, ready))
      return {stop.stop_requested() ? What::stopped : What::late, {}, {}};
    if (stop.stop_requested()) return {What::stopped, {}, {}};
    if (head_ && !std::exchange(headTold_, true)) return {What::head, {}, {}};
    if (taken_) return {What::part, part_, {}};
    return {What::end, {}, error_};
  }
  [[nodiscard]] const Head& head() const { return *head_; }  // once it was told
  // The part was read: the next may come.
  void done() {
    std::optional<pplx::task_completion_event<std::size_t>> taken;
    {
      const std::lock_guard lock(mutex_);
      taken.swap(taken_);
    }
    if (taken) taken->set(part_.size());
  }
  // Nobody reads any more. Waits a little for the library to notice: false, it did not (a name that is being resolved).
  bool abandon(std::chrono::milliseconds patience) {
    {
      const std::lock_guard lock(mutex_);
      abandoned_ = true;
    }
    done();
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [&] { return ended_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::optional<Head> head_;
  bool headTold_ = false;
  std::string_view part_;
  std::optional<pplx::task_completion_event<std::size_t>> taken_;
  bool ended_ = false;
  bool abandoned_ = false;
  std::exception_ptr error_;
};

class BodySink final : public Concurrency::streams::details::streambuf_state_manager<std::uint8_t> {
  using Base = Concurrency::streams::details::streambuf_state_manager<std::uint8_t>;

 public:
  explicit BodySink(std::shared_ptr<Exchange> exchange) : Base(std::ios_base::out), exchange_(std::move(exchange)) {}

  // Nothing is kept here, so there is nowhere to go and nothing to read.
  bool can_seek() const override { return false; }
  bool has_size() const override { return false; }
  std::size_t buffer_size(std::ios_base::openmode) const override { return 0; }
  void set_buffer_size(std::size_t, std::ios_base::openmode) override {}
  std::size_t in_avail() const override { return 0; }
  pos_type getpos(std::ios_base::openmode) const override { return pos_type(traits::eof()); }
  pos_type seekpos(pos_type, std::ios_base::openmode) override { return pos_type(traits::eof()); }
  pos_type seekoff(off_type, std::ios_base::seekdir, std::ios_base::openmode) override {
    return pos_type(traits::eof());
  }
  bool acquire(std::uint8_t*& data, std::size_t& size) override {
    data = nullptr;
    size = 0;
    return false;
  }
  void release(std::uint8_t*, std::size_t) override {}

 protected:
  using Base::_putn;
  pplx::task<std::size_t> _putn(const std::uint8_t* data, std::size_t size) override {
    return exchange_->part(data, size);
  }
  pplx::task<int_type> _putc(std::uint8_t) override { return pplx::task_from_result<int_type>(traits::eof()); }
  pplx::task<int_type> _bumpc() override { return pplx::task_from_result<int_type>(traits::eof()); }
  int_type _sbumpc() override { return traits::eof(); }
  pplx::task<int_type> _getc() override { return pplx::task_from_result<int_type>(traits::eof()); }
  int_type _sgetc() override { return traits::eof(); }
  pplx::task<int_type> _nextc() override { return pplx::task_from_result<int_type>(traits::eof()); }
  pplx::task<int_type> _ungetc() override { return pplx::task_from_result<int_type>(traits::eof()); }
  pplx::task<std::size_t> _getn(std::uint8_t*, std::size_t) override { return pplx::task_from_result<std::size_t>(0); }
  std::size_t _sgetn(std::uint8_t*, std::size_t) { return 0; }
  std::size_t _scopy(std::uint8_t*, std::size_t) override { return 0; }
  pplx::task<bool> _sync() override { return pplx::task_from_result(true); }
  std::uint8_t* _alloc(std::size_t) override { return nullptr; }
  void _commit(std::size_t) override {}

 private:
  std::shared_ptr<Exchange> exchange_;
};

}  // namespace memqos::kube
