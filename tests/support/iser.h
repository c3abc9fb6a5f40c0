// For tests of iSER: a datamover's client that writes down what it hears, a pair of iSER
// connections over the loopback provider, a target that serves reads and writes from memory, and a
// peer made by hand.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "iscsi/errors.h"
#include "iscsi/pdu/ahs.h"
#include "iser/header.h"
#include "iser/iser_datamover.h"
#include "rdmap/loopback/loopback.h"
#include "tests/support/rcap_client.h"

namespace openiser::test {

using iscsi::Bhs;
using iscsi::ControlPdu;
using iscsi::errc;
using iscsi::Opcode;
using iser::Dialect;
using iser::IserConnection;
using iser::Role;

inline constexpr std::uint32_t kTag = 0x10203040;

inline ControlPdu control_pdu(const Bhs& bhs, Bytes data = {}) {
  ControlPdu pdu;
  pdu.bhs = bhs;
  if (!data.empty()) pdu.data = Buffer::copy_of(data);
  return pdu;
}

// Hears everything; checks that the end comes once and last.
class DatamoverRecorder : public iscsi::DatamoverClient {
 public:
  void control_notify(ControlPdu pdu) override {
    EXPECT_FALSE(end) << "PDU after the end";
    if (on_control) on_control(pdu);
    pdus.push_back(std::move(pdu));
  }
  void data_completion_notify(iscsi::DataCompletion completion) override {
    EXPECT_FALSE(end) << "completion after the end";
    if (on_data) on_data(completion);
    completions.push_back(std::move(completion));
  }
  void data_ack_notify(std::uint32_t tag, std::uint32_t data_sn) override {
    acknowledged.emplace_back(tag, data_sn);
  }
  void connection_terminate_notify(ErrorCode why) override {
    EXPECT_FALSE(end) << "ended twice";
    end = why;
  }
  void turn_ended() override {
    if (on_turn_ended) on_turn_ended();
  }

  std::vector<Opcode> opcodes() const {
    std::vector<Opcode> all;
    for (const auto& pdu : pdus) all.push_back(pdu.bhs.opcode());
    return all;
  }
  std::size_t count(Opcode opcode) const {
    const auto all = opcodes();
    return static_cast<std::size_t>(std::count(all.begin(), all.end(), opcode));
  }

  std::vector<ControlPdu> pdus;
  std::vector<iscsi::DataCompletion> completions;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> acknowledged;
  std::optional<ErrorCode> end;
  std::function<void(ControlPdu&)> on_control;
  std::function<void(iscsi::DataCompletion&)> on_data;
  std::function<void()> on_turn_ended;
};

struct IserPairSettings {
  rdmap::LoopbackSettings initiator_link;
  rdmap::LoopbackSettings target_link;
  iser::Settings initiator{.role = Role::initiator};
  iser::Settings target{.role = Role::target};
  iscsi::Parameters initiator_parameters;
  iscsi::Parameters target_parameters;

  void both(const std::function<void(iser::Settings&, iscsi::Parameters&)>& change) {
    change(initiator, initiator_parameters);
    change(target, target_parameters);
  }
  static IserPairSettings of(Dialect dialect) {
    IserPairSettings settings;
    settings.both([&](auto& s, auto& p) {
      s.dialect = dialect;
      p.rdma_extensions = true;
    });
    return settings;
  }
};

// Two iSER connections past their login, over one pair of queue pairs.
class IserPair {
 public:
  explicit IserPair(IserPairSettings settings = IserPairSettings::of(Dialect::rfc7145))
      : link(settings.initiator_link, settings.target_link),
        initiator(IserConnection::create(link.take_first(), settings.initiator, pool, nullptr)),
        target(IserConnection::create(link.take_second(), settings.target, pool, nullptr)) {
    EXPECT_TRUE(initiator->allocate_connection_resources(settings.initiator_parameters));
    EXPECT_TRUE(target->allocate_connection_resources(settings.target_parameters));
    initiator->enable_datamover(initiator_client);
    target->enable_datamover(target_client);
    link.establish();
  }

  void run() {
    initiator->flush();
    target->flush();
    while (link.run() > 0) {
      initiator->flush();
      target->flush();
    }
  }
  void send(ControlPdu pdu, const iscsi::TaskMemory* memory = nullptr) {
    initiator->send_control(std::move(pdu), memory);
  }

  BufferPool pool;
  rdmap::LoopbackPair link;
  DatamoverRecorder initiator_client;
  DatamoverRecorder target_client;
  std::unique_ptr<IserConnection> initiator;
  std::unique_ptr<IserConnection> target;
};

// What a session does with data, in short: answers every read from `disk`, fetches all that was not
// sent unasked of every write into it, then responds.
class DiskTarget {
 public:
  DiskTarget(IserConnection& connection, DatamoverRecorder& client, BufferPool& pool)
      : connection_(connection), pool_(pool) {
    client.on_control = [this](ControlPdu& pdu) { control(pdu); };
    client.on_data = [this](iscsi::DataCompletion& completion) { fetched(completion); };
    client.on_turn_ended = [this] { connection_.flush(); };
  }

  std::vector<std::byte> disk = std::vector<std::byte>(8u << 20);
  std::uint32_t piece = 1u << 20;     // bytes of one put or get
  std::uint32_t first_burst = 65536;  // the negotiated FirstBurstLength
  bool immediate_only = true;         // InitialR2T=Yes

 private:
  struct Task {
    iscsi::ScsiCommand command;
    std::uint32_t read_length = 0;
    std::uint32_t write_length = 0;
    std::uint32_t received = 0;
    std::uint32_t gets = 0;
  };

  void control(ControlPdu& pdu) {
    if (pdu.bhs.opcode() == Opcode::scsi_command) start(pdu);
    if (pdu.bhs.opcode() == Opcode::data_out) data_out(pdu);
  }

  void start(ControlPdu& pdu) {
    const auto command = iscsi::decode<iscsi::ScsiCommand>(pdu.bhs);
    ASSERT_TRUE(command);
    Task& task = tasks_[command->initiator_task_tag];
    task = {.command = *command};
    if (command->write) task.write_length = command->expected_data_transfer_length;
    if (command->read) task.read_length = command->expected_data_transfer_length;
    if (command->read && command->write)
      task.read_length =
          iscsi::parse_command_ahs(pdu.ahs.bytes())->bidirectional_read_length.value_or(0);
    take(task, 0, pdu.data);
    if (command->final || immediate_only) fetch(task);
    finish_if_done(task);
  }

  void data_out(ControlPdu& pdu) {
    const auto out = iscsi::decode<iscsi::DataOut>(pdu.bhs);
    ASSERT_TRUE(out);
    Task& task = tasks_[out->initiator_task_tag];
    take(task, out->buffer_offset, pdu.data);
    if (!out->final) return;
    fetch(task);
    finish_if_done(task);
  }

  void take(Task& task, std::uint32_t offset, const Buffer& data) {
    std::copy_n(data.data(), data.size(), disk.begin() + offset);
    task.received += static_cast<std::uint32_t>(data.size());
  }

  void fetch(Task& task) {
    for (std::uint32_t at = task.received, sn = 0; at < task.write_length; at += piece, ++sn) {
      const std::uint32_t n = std::min(piece, task.write_length - at);
      ++task.gets;
      connection_.get_data({.initiator_task_tag = task.command.initiator_task_tag,
                            .r2t_sn = sn,
                            .buffer_offset = at,
                            .desired_data_transfer_length = n},
                           pool_.take(n));
      offsets_[{task.command.initiator_task_tag, sn}] = at;
    }
  }

  void fetched(iscsi::DataCompletion& completion) {
    if (completion.status || completion.kind != iscsi::DataCompletion::Kind::get) return;
    Task& task = tasks_[completion.initiator_task_tag];
    take(task, offsets_[{completion.initiator_task_tag, completion.sequence_number}],
         completion.buffer);
    --task.gets;
    finish_if_done(task);
  }

  void finish_if_done(Task& task) {
    if (task.gets > 0 || task.received < task.write_length) return;
    for (std::uint32_t at = 0, sn = 0; at < task.read_length; at += piece, ++sn) {
      const std::uint32_t n = std::min(piece, task.read_length - at);
      Buffer data = pool_.take(n);
      std::copy_n(disk.begin() + at, n, data.data());
      connection_.put_data({.initiator_task_tag = task.command.initiator_task_tag,
                            .data_sn = sn,
                            .buffer_offset = at},
                           std::move(data), false);
    }
    connection_.send_control(control_pdu(iscsi::encode(iscsi::ScsiResponse{
        .initiator_task_tag = task.command.initiator_task_tag, .stat_sn = stat_sn_++})));
    tasks_.erase(task.command.initiator_task_tag);
  }

  IserConnection& connection_;
  BufferPool& pool_;
  std::map<std::uint32_t, Task> tasks_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> offsets_;
  std::uint32_t stat_sn_ = 1;
};

// One SCSI command of an initiator's, with its unsolicited data.
struct Command {
  std::uint32_t tag = kTag;
  std::vector<std::byte> out;
  std::vector<std::byte> in;
  std::uint32_t immediate = 0;
  std::uint32_t unsolicited = 0;  // immediate data included
  std::uint32_t data_out_size = 8192;

  iscsi::TaskMemory memory() {
    return {.out = out, .in = in, .immediate_size = immediate, .unsolicited_size = unsolicited};
  }
  ControlPdu pdu() const {
    ControlPdu pdu;
    pdu.bhs = iscsi::encode(
        iscsi::ScsiCommand{.final = unsolicited == immediate,
                           .read = !in.empty(),
                           .write = !out.empty(),
                           .initiator_task_tag = tag,
                           .expected_data_transfer_length =
                               static_cast<std::uint32_t>(out.empty() ? in.size() : out.size())});
    if (!in.empty() && !out.empty())
      pdu.ahs = iscsi::build_command_ahs(
          {.extended_cdb = {}, .bidirectional_read_length = static_cast<std::uint32_t>(in.size())});
    if (immediate > 0) pdu.data = Buffer::wrap(Bytes(out).first(immediate));
    return pdu;
  }
  void send(IserConnection& initiator) {
    const iscsi::TaskMemory described = memory();
    initiator.send_control(pdu(), &described);
    std::uint32_t data_sn = 0;
    for (std::uint32_t at = immediate; at < unsolicited; at += data_out_size) {
      const std::uint32_t n = std::min(data_out_size, unsolicited - at);
      ControlPdu piece;
      piece.bhs = iscsi::encode(iscsi::DataOut{.final = at + n == unsolicited,
                                               .initiator_task_tag = tag,
                                               .data_sn = data_sn++,
                                               .buffer_offset = at});
      piece.data = Buffer::wrap(Bytes(out).subspan(at, n));
      initiator.send_control(std::move(piece));
    }
  }
};

// A peer that sends what a test says, right or wrong. The connection under test is `end`.
class HandMadePeer {
 public:
  HandMadePeer(iser::Settings settings, iscsi::Parameters parameters,
               IserConnection::LoginClient* login = nullptr,
               rdmap::LoopbackSettings link_settings = {}, Bytes private_data = {})
      : link(link_settings, link_settings),
        settings(settings),
        end(IserConnection::create(link.take_first(), settings, pool, login)),
        peer(link.take_second()),
        heard(*peer) {
    for (int i = 0; i < 256; ++i) peer->post_receive(Buffer::allocate(16384), 0);
    if (!login) {
      EXPECT_TRUE(end->allocate_connection_resources(parameters));
      end->enable_datamover(client);
    }
    link.establish({}, private_data);
    run();
  }

  void run() {
    end->flush();
    peer->flush();
    while (link.run() > 0) {
      end->flush();
      peer->flush();
    }
  }
  void send(Bytes message, std::optional<rdmap::Stag> invalidate = {}) {
    peer->post_send({.id = 0,
                     .head = Buffer::copy_of(message),
                     .body = {},
                     .invalidate = invalidate,
                     .solicited_event = false});
    run();
  }
  std::vector<std::byte> message(const ControlPdu& pdu, iser::ControlHeader header = {}) const {
    const std::size_t n = iser::facts(settings.dialect).header_size;
    std::vector<std::byte> bytes(n);
    iser::encode(header, settings.dialect, bytes);
    Bhs bhs = pdu.bhs;
    bhs.set_data_segment_length(static_cast<std::uint32_t>(pdu.data.size()));
    bhs.set_total_ahs_length(pdu.ahs.size());
    bytes.insert(bytes.end(), bhs.raw.begin(), bhs.raw.end());
    bytes.insert(bytes.end(), pdu.ahs.data(), pdu.ahs.data() + pdu.ahs.size());
    bytes.insert(bytes.end(), pdu.data.data(), pdu.data.data() + pdu.data.size());
    return bytes;
  }
  void send(const ControlPdu& pdu, iser::ControlHeader header = {},
            std::optional<rdmap::Stag> invalidate = {}) {
    send(message(pdu, header), invalidate);
  }
  template <class Announcement>
  void announce(const Announcement& announcement) {
    std::vector<std::byte> bytes(iser::facts(settings.dialect).header_size);
    iser::encode(announcement, settings.dialect, bytes);
    send(bytes);
  }
  // Messages received so far, good ones only.
  std::vector<const rdmap::Completion*> messages() const {
    auto all = heard.of(rdmap::Completion::Kind::receive);
    std::erase_if(all, [](const auto* c) { return static_cast<bool>(c->status); });
    return all;
  }

  BufferPool pool;
  rdmap::LoopbackPair link;
  iser::Settings settings;
  DatamoverRecorder client;
  std::unique_ptr<IserConnection> end;
  std::unique_ptr<rdmap::QueuePair> peer;
  RecordingClient heard;
};

}  // namespace openiser::test
