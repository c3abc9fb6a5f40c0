// discover, ls, info, scsi, ping: what there is and what it says.
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/hex.h"
#include "initiator/cli/commands.h"
#include "initiator/cli/output.h"
#include "initiator/lun.h"
#include "initiator/scsi_error.h"

namespace openiser::initiator::cli {
namespace {

using Json = nlohmann::ordered_json;

const char* yes_no(bool b) {
  return b ? "yes" : "no";
}

Url url_with_lun(const std::string& text) {
  Url url = parse_url(text);
  if (url.target.empty() || !url.lun)
    throw UsageError("URL '" + text + "' names no LUN: iser://HOST/TARGET/LUN");
  return url;
}

const char* page_name(std::uint8_t page) {
  switch (page) {  // SPC-4 section 7.8, SBC-3 section 6.6
    case 0x00:
      return "supported pages";
    case 0x80:
      return "unit serial number";
    case 0x83:
      return "device identification";
    case 0x86:
      return "extended inquiry";
    case 0x8f:
      return "third-party copy";
    case 0xb0:
      return "block limits";
    case 0xb1:
      return "block device characteristics";
    case 0xb2:
      return "logical block provisioning";
    default:
      return "other";
  }
}

Json negotiated(const ConnectionInfo& info) {
  const iscsi::Parameters& p = info.parameters;
  Json keys{{"HeaderDigest", p.header_digest == iscsi::Digest::crc32c ? "CRC32C" : "None"},
            {"DataDigest", p.data_digest == iscsi::Digest::crc32c ? "CRC32C" : "None"},
            {"InitialR2T", p.initial_r2t},
            {"ImmediateData", p.immediate_data},
            {"MaxBurstLength", p.max_burst_length},
            {"FirstBurstLength", p.first_burst_length},
            {"MaxOutstandingR2T", p.max_outstanding_r2t},
            {"ErrorRecoveryLevel", p.error_recovery_level},
            {"RDMAExtensions", p.rdma_extensions}};
  keys[p.rdma_extensions ? "TargetRecvDataSegmentLength" : "MaxRecvDataSegmentLength(target)"] =
      p.max_send_data_segment_length;
  keys[p.rdma_extensions ? "InitiatorRecvDataSegmentLength"
                         : "MaxRecvDataSegmentLength(initiator)"] = p.max_recv_data_segment_length;
  return keys;
}

Json connection(const Session& session) {
  const ConnectionInfo info = session.info();
  Json out{{"wire", name_of(info.wire)},
           {"local", info.local_address},
           {"peer", info.peer_address},
           {"target_portal_group", info.parameters.target_portal_group_tag},
           {"tsih", info.parameters.tsih},
           {"auth", info.parameters.user.empty() ? "none" : "CHAP as " + info.parameters.user}};
  if (info.parameters.rdma_extensions) {
    out["rfc"] = session.url().rfc5046 ? 5046 : 7145;
  }
  if (info.rdma) {
    if (info.wire != Wire::verbs) {  // which does not tell
      out["crc"] = info.rdma->crc;
      out["markers_sent"] = info.rdma->markers_sent;
      out["markers_received"] = info.rdma->markers_received;
    }
    out["outbound_reads"] = info.rdma->capabilities.outbound_reads;
    out["inbound_reads"] = info.rdma->capabilities.inbound_reads;
    out["remote_invalidate"] = info.rdma->capabilities.remote_invalidate;
  }
  out["keys"] = negotiated(info);
  return out;
}

Json description(const LunDescription& lun) {
  const BlockDeviceProperties& p = lun.properties;
  Json pages = Json::array();
  for (const std::uint8_t page : lun.vpd_pages) {
    const std::byte number{page};
    pages.push_back(to_hex({&number, 1}) + " " + page_name(page));
  }
  return {{"vendor", p.vendor},
          {"product", p.product},
          {"revision", p.revision},
          {"serial", p.serial},
          {"designator", lun.designator},
          {"size", p.size()},
          {"blocks", p.blocks},
          {"block_size", p.block_size},
          {"physical_block_size", p.physical_block_size},
          {"read_only", p.read_only},
          {"write_cache", p.write_cache},
          {"unmap", p.unmap},
          {"write_same", p.write_same},
          {"thin", lun.thin},
          {"max_transfer_blocks", p.max_transfer_blocks},
          {"vpd_pages", pages}};
}

void print(const Json& values, int depth = 0) {
  for (const auto& [key, value] : values.items()) {
    const std::string label = std::string(static_cast<std::size_t>(depth) * 2, ' ') + key;
    if (value.is_object()) {
      std::printf("%s:\n", label.c_str());
      print(value, depth + 1);
    } else if (value.is_array()) {
      std::printf("%s:\n", label.c_str());
      for (const auto& item : value) std::printf("  %s\n", item.get<std::string>().c_str());
    } else {
      const std::string text = value.is_string()    ? value.get<std::string>()
                               : value.is_boolean() ? yes_no(value.get<bool>())
                                                    : value.dump();
      std::printf("%-36s %s\n", label.c_str(), text.c_str());
    }
  }
}

}  // namespace

int discover(const Common& common, const std::string& portal) {
  const auto records = Session::discover(parse_portal(portal), common.session);
  Json all = Json::array();
  Table table({"TARGET", "PORTAL", "GROUP"});
  for (const auto& record : records) {
    Json portals = Json::array();
    for (const std::string& address : record.addresses) {
      const std::size_t comma = address.rfind(',');
      table.add({record.name, address.substr(0, comma),
                 comma == std::string::npos ? "" : address.substr(comma + 1)});
      portals.push_back(address);
    }
    if (record.addresses.empty()) table.add({record.name, "(this portal)", ""});
    all.push_back({{"target", record.name}, {"portals", portals}});
  }
  std::cout << (common.json ? all.dump(2) + "\n" : table.text());
  return 0;
}

int list(const Common& common, const std::string& text) {
  const Url url = parse_url(text);
  const auto session = Session::open(url, common.session);
  Json all = Json::array();
  Table table({"LUN", "SIZE", "BLOCK", "VENDOR", "PRODUCT", "SERIAL"});
  for (const std::uint16_t lun : report_luns(*session)) {
    const LunDescription d = describe_lun(*session, lun);
    const auto& p = d.properties;
    table.add({std::to_string(lun), size_text(p.size()), std::to_string(p.block_size), p.vendor,
               p.product, p.serial});
    Json one = description(d);
    one["lun"] = lun;
    all.push_back(one);
  }
  std::cout << (common.json ? all.dump(2) + "\n" : table.text());
  return 0;
}

int info(const Common& common, const std::string& text) {
  const Url url = parse_url(text);
  const auto session = Session::open(url, common.session);
  session->ping({});  // stream-first: RDMA is set up when this has come back
  Json out{{"url", url.text()}, {"connection", connection(*session)}};
  if (url.lun) out["lun"] = description(describe_lun(*session, *url.lun));
  if (common.json) {
    std::cout << out.dump(2) << '\n';
  } else {
    print(out);
  }
  return 0;
}

int scsi(const Common& common, const ScsiArguments& arguments) {
  const Url url = url_with_lun(arguments.url);
  const auto cdb = parse_hex(arguments.cdb);
  if (cdb.size() > 16)
    throw UsageError("the CDB has " + std::to_string(cdb.size()) + " bytes; 16 are the most");
  std::string out;
  if (!arguments.out.empty()) {
    std::ifstream file;
    if (arguments.out != "-") file.open(arguments.out, std::ios::binary);
    std::istream& in = arguments.out == "-" ? std::cin : file;
    if (!in) throw SessionError("cannot open " + arguments.out);
    out.assign(std::istreambuf_iterator<char>(in), {});
  }
  const auto session = Session::open(url, common.session);
  std::vector<std::byte> in(arguments.in);
  Command command;
  command.lun = encode_lun(*url.lun);
  std::copy(cdb.begin(), cdb.end(), command.cdb.begin());
  command.data_in = in;
  command.data_out = as_bytes(out);
  // A new session's first command meets a unit attention; that is ours, not the answer to what was
  // asked.
  do {
    session->execute(command);
  } while (!command.error &&
           has_sense_key(scsi_error(command.status, command.sense), kUnitAttention));
  if (command.error) throw SessionError("the command was not answered: " + command.error.message());
  const std::int64_t missing = command.residual < 0 ? -command.residual : 0;
  in.erase(in.end() - std::min(missing, static_cast<std::int64_t>(in.size())), in.end());
  const ErrorCode status = scsi_error(command.status, command.sense);
  if (common.json) {
    const Json answer{{"status", command.status},
                      {"words", status ? status.message() : "GOOD"},
                      {"residual", command.residual},
                      {"data", to_hex(in)}};
    std::cout << answer.dump(2) << '\n';
  } else {
    std::cout << hex_dump(in) << "status: " << (status ? status.message() : "GOOD") << '\n';
    if (command.residual != 0) std::cout << "residual: " << command.residual << '\n';
  }
  return status ? 1 : 0;
}

int ping(const Common& common, const PingArguments& arguments) {
  const auto session = Session::open(parse_url(arguments.url), common.session);
  std::vector<std::byte> data(arguments.size);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i);
  Json times = Json::array();
  double least = 1e18, most = 0, sum = 0;
  std::size_t echoed = data.size();
  for (std::uint32_t n = 0; arguments.count == 0 || n < arguments.count; ++n) {
    if (n > 0) std::this_thread::sleep_for(std::chrono::duration<double>(arguments.interval));
    const Echo echo = session->ping(data);
    const double us = std::chrono::duration<double, std::micro>(echo.round_trip).count();
    least = std::min(least, us), most = std::max(most, us), sum += us;
    echoed = std::min(echoed, echo.size);
    times.push_back(us);
    if (!common.json) {
      std::printf("%zu bytes from %s: seq=%u time=%.0f us\n", echo.size,
                  session->info().peer_address.c_str(), n, us);
      std::fflush(stdout);
    }
  }
  if (common.json) {
    const Json out{
        {"wire", name_of(session->info().wire)}, {"echoed", echoed}, {"times_us", times}};
    std::cout << out.dump(2) << '\n';
  } else {
    std::printf("%zu pings over %s: min/avg/max %.0f/%.0f/%.0f us\n", times.size(),
                name_of(session->info().wire), least, sum / static_cast<double>(times.size()),
                most);
    if (echoed < data.size()) std::printf("the target does not send the data back\n");
  }
  return 0;
}

}  // namespace openiser::initiator::cli
