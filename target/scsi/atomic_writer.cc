#include "target/scsi/atomic_writer.h"

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "target/scsi/unit.h"
#include "target/start_error.h"
#include "target/store/awaited_request.h"

namespace openiser::target {
namespace {

constexpr std::size_t kFixedSize = 10;
static_assert(StateFile::kMaxSize > kMaxAtomicWrite + kFixedSize);
constexpr std::size_t kMaxDescription = StateFile::kMaxSize - kMaxAtomicWrite - kFixedSize;

ErrorCode io_error() {
  return {EIO, boost::system::generic_category()};
}

struct Journal {
  std::uint64_t offset;
  std::string description;
  MutableBytes data;
};

// Whole, as the state file's checksum says.
Journal parse(MutableBytes content) {
  const std::size_t size = load_be16(&content[8]);
  const MutableBytes description = content.subspan(kFixedSize, size);
  return {load_be64(content.data()),
          {reinterpret_cast<const char*>(description.data()), description.size()},
          content.subspan(kFixedSize + size)};
}

std::string description_of(const Store& store) {
  return store.properties().description.substr(0, kMaxDescription);
}

// What speaks against finishing it.
std::string obstacle(const Store& store, const Journal& journal) {
  const StoreProperties properties = store.properties();
  if (journal.description != description_of(store)) {
    return "it is of " + journal.description + ", not of " + properties.description;
  }
  if (properties.read_only) return properties.description + " is read-only";
  if (journal.offset > properties.size || journal.data.size() > properties.size - journal.offset) {
    return properties.description + " is too small for it";
  }
  return {};
}

ErrorCode write_in_place(Store& store, const Journal& journal) {
  AwaitedRequest request(store);
  request.operation = StoreRequest::Operation::write;
  request.force_unit_access = true;
  request.offset = journal.offset;
  request.length = journal.data.size();
  request.pieces = {&journal.data, 1};
  if (const ErrorCode error = request.perform()) return error;
  request.operation = StoreRequest::Operation::flush;
  request.offset = request.length = 0;
  request.pieces = {};
  return request.perform();
}

}  // namespace

StateFile atomic_journal(const StateFolder& folder, const std::string& target_name,
                         std::uint16_t lun) {
  return folder.unit_file(target_name, lun, "atomic-write", 1);
}

void finish_atomic_write(Store& store, const StateFile& journal) {
  auto content = journal.load();
  if (!content) return;
  const auto fault = [&](const std::string& what) {
    return StartError(journal.path().string() +
                      ": an interrupted atomic write cannot be finished: " + what +
                      "; put that right, or remove the file to go on without it");
  };
  const Journal interrupted = parse(*content);
  const std::string wrong = obstacle(store, interrupted);
  if (!wrong.empty()) throw fault(wrong);
  if (const ErrorCode error = write_in_place(store, interrupted)) throw fault(error.message());
  if (const Status removal = journal.remove(); !removal) throw fault(removal.error().message());
  log::info("target", interrupted.description + ": finished an interrupted atomic write of " +
                          std::to_string(interrupted.data.size()) + " bytes at byte " +
                          std::to_string(interrupted.offset));
}

// The old data is kept: a write that fails half way, for want of space perhaps, is undone.
void AtomicWriter::submit(StoreEngine& engine, StoreRequest& request,
                          std::shared_ptr<Mailbox> home) {
  engine_ = &engine;
  request_ = &request;
  home_ = std::move(home);
  failure_ = {};
  if (unit_.has_flag(unit_flag::unfinished_write)) return end(io_error());
  offset = request.offset;
  length = request.length;
  old_.resize(length);
  start(Step::read_old, Operation::read, old_);
}

void AtomicWriter::start(Step step, Operation what, std::span<const MutableBytes> where) {
  step_ = step;
  operation = what;
  force_unit_access = what == Operation::write;
  pieces = where;
  error = {};
  unit_.submit(*engine_, *this);
}

void AtomicWriter::start(Step step, Operation what, std::vector<std::byte>& bytes) {
  piece_ = MutableBytes(bytes).first(length);
  start(step, what, {&piece_, 1});
}

void AtomicWriter::done() {
  switch (step_) {
    case Step::read_old:
      return error ? end(error) : save();
    case Step::write_new:
      failure_ = error;
      return error ? start(Step::write_old, Operation::write, old_) : remove();
    case Step::write_old:
      // Blocks that have no room for old data had none for new data: what counts is how they read.
      return start(Step::flush_old, Operation::flush, std::span<const MutableBytes>());
    case Step::flush_old:
      if (error) break;
      return start(Step::read_back, Operation::read, saved_);
    case Step::read_back:
      if (error || !std::equal(old_.begin(), old_.end(), saved_.begin())) break;
      return remove();
  }
  leave_unfinished("the blocks take neither the new nor the old data: " + failure_.message());
  end(failure_);
}

std::vector<std::byte> AtomicWriter::content() const {
  const std::string description = description_of(unit_.store());
  std::vector<std::byte> bytes(kFixedSize);
  bytes.reserve(kFixedSize + description.size() + length);
  store_be64(&bytes[0], offset);
  store_be16(&bytes[8], static_cast<std::uint16_t>(description.size()));
  const Bytes text = as_bytes(std::string_view(description));
  bytes.insert(bytes.end(), text.begin(), text.end());
  for (const MutableBytes& piece : request_->pieces) {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
  }
  return bytes;
}

// A save that fails may have left a journal.
void AtomicWriter::save() {
  saved_ = content();
  writer_.post([this, home = home_] {
    const Status saving = journal_.save(saved_);
    const Status removal = saving ? Status() : journal_.remove();
    home->post(
        [this, save = saving ? ErrorCode() : saving.error(),
         removal = removal ? ErrorCode() : removal.error()](Nexus&) { saved(save, removal); });
  });
}

void AtomicWriter::saved(ErrorCode save, ErrorCode removal) {
  if (!save) return start(Step::write_new, Operation::write, request_->pieces);
  log::error("target", journal_.path().string() + ": cannot be saved: " + save.message());
  failure_ = io_error();
  removed(removal);
}

void AtomicWriter::remove() {
  writer_.post([this, home = home_] {
    const Status removal = journal_.remove();
    home->post([this, error = removal ? ErrorCode() : removal.error()](Nexus&) { removed(error); });
  });
}

void AtomicWriter::removed(ErrorCode removal) {
  if (removal) {
    leave_unfinished("it cannot be removed: " + removal.message());
    if (!failure_) failure_ = io_error();
  }
  end(failure_);
}

void AtomicWriter::leave_unfinished(const std::string& why) {
  unit_.change_flags(unit_flag::unfinished_write, unit_flag::unfinished_write);
  log::error("target", journal_.path().string() + ": " + why +
                           "; a restart finishes the atomic write that it keeps, and the logical "
                           "unit takes no writes until then");
}

void AtomicWriter::end(ErrorCode result) {
  old_ = {};
  saved_ = {};
  home_.reset();
  request_->error = result;
  std::exchange(request_, nullptr)->done();
}

}  // namespace openiser::target
