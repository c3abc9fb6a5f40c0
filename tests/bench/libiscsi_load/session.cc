#include "tests/bench/libiscsi_load/session.h"

#include <iscsi/scsi-lowlevel.h>

#include <stdexcept>

namespace openiser::bench {

LibiscsiSession::LibiscsiSession(const std::string& url, unsigned number, bool header_digest) {
  const std::string name = "iqn.2026-11.org.example:load" + std::to_string(number);
  context_.reset(iscsi_create_context(name.c_str()));
  if (!context_) throw std::runtime_error("libiscsi has no memory");
  iscsi_context* c = context_.get();
  url_.reset(iscsi_parse_full_url(c, url.c_str()));
  if (!url_) fail(url);
  iscsi_set_session_type(c, ISCSI_SESSION_NORMAL);
  iscsi_set_header_digest(c, header_digest ? ISCSI_HEADER_DIGEST_CRC32C : ISCSI_HEADER_DIGEST_NONE);
  iscsi_set_targetname(c, url_->target);
  iscsi_set_noautoreconnect(c, 1);
  if (iscsi_full_connect_sync(c, url_->portal, url_->lun) != 0) fail("login");
}

LibiscsiSession::~LibiscsiSession() {
  if (context_) iscsi_logout_sync(context_.get());
}

void LibiscsiSession::fail(const std::string& what) const {
  throw std::runtime_error(what + ": " + iscsi_get_error(context_.get()));
}

LibiscsiSession::Capacity LibiscsiSession::capacity() {
  const std::unique_ptr<scsi_task, Free<scsi_free_scsi_task>> task(
      iscsi_readcapacity16_sync(context_.get(), url_->lun));
  if (!task || task->status != SCSI_STATUS_GOOD) fail("READ CAPACITY");
  const auto* data = static_cast<const scsi_readcapacity16*>(scsi_datain_unmarshall(task.get()));
  if (!data) fail("READ CAPACITY");
  return {data->returned_lba + 1, data->block_length};
}

void LibiscsiSession::read(std::uint64_t lba, std::uint32_t block_size, scsi_iovec* data,
                           iscsi_command_cb done, void* context) {
  check(iscsi_read16_iov_task(context_.get(), url_->lun, lba,
                              static_cast<std::uint32_t>(data->iov_len),
                              static_cast<int>(block_size), 0, 0, 0, 0, 0, done, context, data, 1));
}

void LibiscsiSession::write(std::uint64_t lba, std::uint32_t block_size, scsi_iovec* data,
                            iscsi_command_cb done, void* context) {
  check(iscsi_write16_iov_task(
      context_.get(), url_->lun, lba, nullptr, static_cast<std::uint32_t>(data->iov_len),
      static_cast<int>(block_size), 0, 0, 0, 0, 0, done, context, data, 1));
}

void LibiscsiSession::check(const scsi_task* task) const {
  if (!task) fail("a command was not taken");
}

pollfd LibiscsiSession::waits_for() const {
  return {iscsi_get_fd(context_.get()), static_cast<short>(iscsi_which_events(context_.get())), 0};
}

void LibiscsiSession::serve(const pollfd& ready) {
  if (ready.revents && iscsi_service(context_.get(), ready.revents) < 0) fail("session");
}

}  // namespace openiser::bench
