#include "initiator/lun.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <vector>

#include "base/assert.h"
#include "initiator/scsi_error.h"

namespace openiser::initiator {
namespace {

constexpr std::uint32_t kMaxTransfer = 1u << 20;  // bytes a command

using Cdb = std::array<std::byte, 16>;

// SBC-3: READ (16), WRITE (16), SYNCHRONIZE CACHE (16) and WRITE SAME (16) share this form.
Cdb cdb16(std::uint8_t opcode, std::uint8_t flags, std::uint64_t lba, std::uint32_t blocks) {
  Cdb cdb{};
  store_u8(&cdb[0], opcode);
  store_u8(&cdb[1], flags);
  store_be64(&cdb[2], lba);
  store_be32(&cdb[10], blocks);
  return cdb;
}

// One call of the user's: any number of commands, one completion with the first error.
class Io {
 public:
  Io(Session& session, const iscsi::Lun& lun, BlockDevice::Done done)
      : session_(session), lun_(lun), done_(std::move(done)) {}

  Command& add(const Cdb& cdb) {
    auto& part = parts_.emplace_back(std::make_unique<Command>());
    part->lun = lun_;
    part->cdb = cdb;
    part->on_done = [this](Command& command) { finished(command); };
    return *part;
  }
  // Memory that lives as long as the call.
  std::vector<std::byte>& memory() { return memory_; }

  // Deletes itself when the last command is done.
  void start() {
    const std::size_t n = parts_.size();
    open_ = n;
    for (std::size_t i = 0; i < n; ++i) session_.submit(*parts_[i]);
  }

 private:
  void finished(Command& command) {
    if (has_sense_key(scsi_error(command.status, command.sense), kUnitAttention) &&
        retries_++ < 64) {
      return session_.submit(command);
    }
    ErrorCode error = command.error ? command.error : scsi_error(command.status, command.sense);
    if (!error && command.residual != 0) error = iscsi::errc::protocol_error;
    if (error && !error_) error_ = error;
    if (open_.fetch_sub(1) > 1) return;
    const std::unique_ptr<Io> self(this);
    done_(error_);
  }

  Session& session_;
  const iscsi::Lun lun_;
  const BlockDevice::Done done_;
  std::vector<std::unique_ptr<Command>> parts_;
  std::vector<std::byte> memory_;
  std::atomic<std::size_t> open_{0};
  ErrorCode error_;
  int retries_ = 0;
};

}  // namespace

class Lun::State {
 public:
  State(std::shared_ptr<Session> session, std::uint16_t lun)
      : session_(std::move(session)),
        lun_(encode_lun(lun)),
        description_(describe_lun(*session_, lun)) {
    if (description_.device_type != 0) {
      throw SessionError("LUN " + std::to_string(lun) + " of " + session_->url().target +
                         " is no disk");
    }
    const auto& p = description_.properties;
    const std::uint32_t most = kMaxTransfer / p.block_size;
    transfer_blocks_ = p.max_transfer_blocks ? std::min(most, p.max_transfer_blocks) : most;
  }

  // Calls `add(io, lba, blocks, byte offset within the range)` for each command of a range.
  template <class Add>
  void each(std::uint64_t offset, std::uint64_t length, std::uint64_t most_blocks, Done done,
            Add add) {
    const std::uint32_t size = properties().block_size;
    ISER_ASSERT(offset % size == 0 && length % size == 0);
    if (length == 0) return done({});
    auto* io = new Io(*session_, lun_, std::move(done));
    std::uint64_t lba = offset / size;
    std::uint64_t left = length / size, at = 0;
    while (left > 0) {
      const auto blocks = static_cast<std::uint32_t>(std::min(left, most_blocks));
      add(*io, lba, blocks, at);
      lba += blocks, left -= blocks, at += std::uint64_t{blocks} * size;
    }
    io->start();
  }

  void read(std::uint64_t offset, MutableBytes data, Done done) {
    each(offset, data.size(), transfer_blocks_, std::move(done),
         [&](Io& io, auto lba, auto blocks, auto at) {
           io.add(cdb16(0x88, 0, lba, blocks)).data_in = data.subspan(at, bytes(blocks));
         });
  }

  void write(std::uint64_t offset, Bytes data, bool fua, Done done) {
    const std::uint8_t flags = fua ? 0x08 : 0;
    each(offset, data.size(), transfer_blocks_, std::move(done),
         [&](Io& io, auto lba, auto blocks, auto at) {
           io.add(cdb16(0x8a, flags, lba, blocks)).data_out = data.subspan(at, bytes(blocks));
         });
  }

  void flush(Done done) {
    auto* io = new Io(*session_, lun_, std::move(done));
    io->add(cdb16(0x91, 0, 0, 0));  // all blocks
    io->start();
  }

  void unmap(std::uint64_t offset, std::uint64_t length, Done done) {
    if (!properties().unmap)
      return done(
          boost::system::errc::make_error_code(boost::system::errc::operation_not_supported));
    each(offset, length, properties().max_unmap_blocks, std::move(done),
         [&](Io& io, auto lba, auto blocks, auto) {
           io.memory().reserve(
               length / properties().block_size / properties().max_unmap_blocks * 24 + 24);
           const std::size_t start = io.memory().size();
           io.memory().resize(start + 24);
           ByteWriter list(MutableBytes(io.memory()).subspan(start));  // SBC-3 section 5.28.2
           list.be16(22), list.be16(16), list.zeros(4), list.be64(lba), list.be32(blocks),
               list.zeros(4);
           Cdb cdb{};
           store_u8(&cdb[0], 0x42);
           store_be16(&cdb[7], 24);
           io.add(cdb).data_out = Bytes(io.memory()).subspan(start);
         });
  }

  void write_zeroes(std::uint64_t offset, std::uint64_t length, bool deallocate, Done done) {
    if (properties().write_same) {
      const std::uint64_t limit = description_.max_write_same_blocks;
      const std::uint64_t most = limit ? std::min<std::uint64_t>(limit, UINT32_MAX) : (1u << 16);
      // With LBPRZ the UNMAP bit lets the device deallocate, and zeroes are still what is read
      // (SBC-3 section 5.42).
      const std::uint8_t flags = deallocate && description_.reads_zero_after_unmap ? 0x08 : 0;
      each(offset, length, most, std::move(done), [&](Io& io, auto lba, auto blocks, auto) {
        io.memory().resize(properties().block_size);
        io.add(cdb16(0x93, flags, lba, blocks)).data_out = io.memory();
      });
      return;
    }
    each(offset, length, transfer_blocks_, std::move(done),
         [&](Io& io, auto lba, auto blocks, auto) {
           if (io.memory().empty())
             io.memory().resize(std::min<std::uint64_t>(length, bytes(transfer_blocks_)));
           io.add(cdb16(0x8a, 0, lba, blocks)).data_out = Bytes(io.memory()).first(bytes(blocks));
         });
  }

  const BlockDeviceProperties& properties() const { return description_.properties; }
  const LunDescription& description() const { return description_; }
  Session& session() const { return *session_; }

 private:
  std::size_t bytes(std::uint32_t blocks) const {
    return std::size_t{blocks} * properties().block_size;
  }

  std::shared_ptr<Session> session_;
  const iscsi::Lun lun_;
  const LunDescription description_;
  std::uint32_t transfer_blocks_ = 0;
};

Lun::Lun(std::unique_ptr<State> state) : state_(std::move(state)) {}
Lun::~Lun() = default;

std::unique_ptr<Lun> Lun::open(std::shared_ptr<Session> session, std::uint16_t lun) {
  return std::unique_ptr<Lun>(new Lun(std::make_unique<State>(std::move(session), lun)));
}

const BlockDeviceProperties& Lun::properties() const {
  return state_->properties();
}
const LunDescription& Lun::description() const {
  return state_->description();
}
Session& Lun::session() const {
  return state_->session();
}
void Lun::read(std::uint64_t offset, MutableBytes data, Done done) {
  state_->read(offset, data, std::move(done));
}
void Lun::write(std::uint64_t offset, Bytes data, bool force_unit_access, Done done) {
  state_->write(offset, data, force_unit_access, std::move(done));
}
void Lun::flush(Done done) {
  state_->flush(std::move(done));
}
void Lun::unmap(std::uint64_t offset, std::uint64_t length, Done done) {
  state_->unmap(offset, length, std::move(done));
}
void Lun::write_zeroes(std::uint64_t offset, std::uint64_t length, bool deallocate, Done done) {
  state_->write_zeroes(offset, length, deallocate, std::move(done));
}

}  // namespace openiser::initiator
