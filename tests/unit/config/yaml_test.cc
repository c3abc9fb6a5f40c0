// The loader: what it reads, and every fault with its line and column.
#include "config/yaml.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include <nlohmann/json.hpp>

namespace openiser::config {
namespace {

Loaded load(const std::string& text) {
  return load_text(text, "/etc/open-iser");
}

// "1:2 unknown key..." for each fault.
std::string faults_of(const std::string& text) {
  std::string all;
  for (const Fault& fault : load(text).faults)
    all += std::to_string(fault.at.line) + ":" + std::to_string(fault.at.column) + " " +
           fault.message + "\n";
  return all;
}

const std::string kPortals = "portals: ['127.0.0.1:3260']\n";
const std::string kTargets =
    "targets:\n"
    "  - name: iqn.2026-11.org.example:disk1\n"
    "    luns:\n"
    "      - {lun: 0, file: disk1.img, size: 1GiB}\n";
const std::string kMinimal = kPortals + kTargets;

// --- what is read ---

TEST(Yaml, MinimalFile) {
  const Loaded loaded = load(kMinimal);
  ASSERT_EQ(faults_of(kMinimal), "");
  ASSERT_EQ(loaded.daemon.portals.size(), 1U);
  EXPECT_EQ(loaded.daemon.portals[0].host, "127.0.0.1");
  EXPECT_EQ(loaded.daemon.portals[0].port, 3260);
  EXPECT_EQ(loaded.daemon.portals[0].tag, 1);
  ASSERT_EQ(loaded.daemon.targets.size(), 1U);
  const Target& target = loaded.daemon.targets[0];
  EXPECT_EQ(target.name, "iqn.2026-11.org.example:disk1");
  ASSERT_EQ(target.luns.size(), 1U);
  EXPECT_EQ(target.luns[0].kind, Lun::Kind::file);
  EXPECT_EQ(target.luns[0].path, "/etc/open-iser/disk1.img");
  EXPECT_EQ(target.luns[0].size, std::uint64_t{1} << 30);
}

TEST(Yaml, PositionsAreThoseOfTheFile) {
  const Daemon daemon = load(kMinimal).daemon;
  EXPECT_EQ(daemon.portals[0].at.line, 1);
  EXPECT_EQ(daemon.portals[0].at.column, 11);
  EXPECT_EQ(daemon.targets[0].at.line, 3);
  EXPECT_EQ(daemon.targets[0].at.column, 5);
  EXPECT_EQ(daemon.targets[0].luns[0].at.line, 5);
}

TEST(Yaml, WhatIsNotSaidKeepsItsDefault) {
  const Daemon daemon = load(kMinimal).daemon, fresh;
  EXPECT_EQ(daemon.negotiation.max_burst_length, fresh.negotiation.max_burst_length);
  EXPECT_EQ(daemon.rdma.inbound_reads, fresh.rdma.inbound_reads);
  EXPECT_EQ(daemon.limits.login_timeout, fresh.limits.login_timeout);
  EXPECT_EQ(daemon.log_level, fresh.log_level);
}

TEST(Yaml, ThreeKindsOfStore) {
  const Loaded loaded = load(kPortals +
                             "targets:\n"
                             "  - name: iqn.2026-11.org.example:disk1\n"
                             "    luns:\n"
                             "      - {lun: 0, file: /dev/sdb}\n"
                             "      - {lun: 1, memory: 64MiB}\n"
                             "      - lun: 2\n"
                             "        null: 1TiB\n"
                             "        block_size: 4k\n"
                             "        physical_block_size: 8k\n"
                             "      - {lun: 3, file: a, direct: true, soft_threshold: 80}\n");
  ASSERT_TRUE(loaded.faults.empty()) << loaded.faults[0].message;
  const auto& luns = loaded.daemon.targets[0].luns;
  EXPECT_EQ(luns[0].path, "/dev/sdb") << "absolute names stay";
  EXPECT_EQ(luns[1].kind, Lun::Kind::memory);
  EXPECT_EQ(luns[1].size, std::uint64_t{64} << 20);
  EXPECT_EQ(luns[2].kind, Lun::Kind::null);
  EXPECT_EQ(luns[2].size, std::uint64_t{1} << 40);
  EXPECT_EQ(luns[2].block_size, 4096U);
  EXPECT_EQ(luns[2].physical_block_size, 8192U);
  EXPECT_EQ(luns[0].physical_block_size, 4096U);
  EXPECT_FALSE(luns[0].direct);
  EXPECT_TRUE(luns[3].direct);
  EXPECT_EQ(luns[3].soft_threshold, 80U);
}

TEST(Yaml, PortalsInAllForms) {
  const Loaded loaded = load(
      "portals: [':3260', '[::1]:3261', h, {address: 'g:1', tag: 7}, {address: i}]\n" + kTargets);
  ASSERT_TRUE(loaded.faults.empty()) << loaded.faults[0].message;
  const auto& portals = loaded.daemon.portals;
  ASSERT_EQ(portals.size(), 5U);
  EXPECT_EQ(portals[0].host, "");
  EXPECT_EQ(portals[1].host, "::1");
  EXPECT_EQ(portals[1].port, 3261);
  EXPECT_EQ(portals[2].port, 3260);
  EXPECT_EQ(portals[3].tag, 7);
  EXPECT_EQ(portals[4].tag, 1);
  EXPECT_EQ(portals[3].alua, Portal::Alua::active_optimized);
  EXPECT_EQ(portals[3].transport, Portal::Transport::automatic);
}

TEST(Yaml, WhatCarriesAPortal) {
  const Loaded loaded = load(
      "portals: [{address: a, transport: auto}, {address: b, transport: iwarp},\n"
      "          {address: c, transport: verbs}]\n" +
      kTargets);
  ASSERT_TRUE(loaded.faults.empty()) << loaded.faults[0].message;
  const auto& portals = loaded.daemon.portals;
  ASSERT_EQ(portals.size(), 3U);
  EXPECT_EQ(portals[0].transport, Portal::Transport::automatic);
  EXPECT_EQ(portals[1].transport, Portal::Transport::iwarp);
  EXPECT_EQ(portals[2].transport, Portal::Transport::verbs);
}

TEST(Yaml, WhoSeesWhat) {
  const Loaded loaded = load(
      "portals: [{address: 'h:1', tag: 1, redirect: '[::1]:9'}, {address: i, tag: 2}]\n"
      "targets:\n"
      "  - name: iqn.2026-11.org.example:disk1\n"
      "    initiators:\n"
      "      - iqn.2026-11.org.example:a\n"
      "      - {name: 'iqn.2026-11.org.example:b*', read_only: true,\n"
      "         auth: {users: [{name: u, secret_file: s}]},\n"
      "         luns: [{lun: 0, disk: 300}, {lun: 16383, disk: 1, read_only: yes}]}\n"
      "    networks: [192.0.2.0/24, {network: '2001:db8::/33'}, 127.0.0.1]\n"
      "    portal_groups: [2, {tag: 1}]\n"
      "    redirect: {address: 'other', permanent: yes, after_authentication: yes}\n"
      "    luns: [{lun: 1, file: a}, {lun: 300, file: b}]\n"
      "discovery_initiators: ['*']\n"
      "discovery_networks: ['::/0']\n");
  ASSERT_TRUE(loaded.faults.empty()) << loaded.faults[0].message;
  const Daemon& d = loaded.daemon;
  EXPECT_EQ(d.portals[0].redirect.host, "::1");
  EXPECT_EQ(d.portals[0].redirect.port, 9);
  EXPECT_FALSE(d.portals[0].redirect.permanent);
  EXPECT_EQ(d.portals[1].redirect.host, "");
  const Target& t = d.targets[0];
  ASSERT_EQ(t.initiators.size(), 2U);
  EXPECT_EQ(t.initiators[0].name, "iqn.2026-11.org.example:a");
  EXPECT_FALSE(t.initiators[0].read_only);
  EXPECT_TRUE(t.initiators[0].luns.empty() && t.initiators[0].auth.users.empty());
  EXPECT_EQ(t.initiators[1].name, "iqn.2026-11.org.example:b*");
  EXPECT_TRUE(t.initiators[1].read_only);
  EXPECT_EQ(t.initiators[1].auth.users.at(0).name, "u");
  ASSERT_EQ(t.initiators[1].luns.size(), 2U);
  EXPECT_EQ(t.initiators[1].luns[0].disk, 300);
  EXPECT_FALSE(t.initiators[1].luns[0].read_only);
  EXPECT_EQ(t.initiators[1].luns[1].lun, 16383);
  EXPECT_TRUE(t.initiators[1].luns[1].read_only);
  ASSERT_EQ(t.networks.size(), 3U);
  EXPECT_EQ(t.networks[0].prefix, 96 + 24);
  EXPECT_EQ(t.networks[0].address[12], 192);
  EXPECT_EQ(t.networks[1].prefix, 33);
  EXPECT_EQ(t.networks[1].address[0], 0x20);
  EXPECT_EQ(t.networks[2].prefix, 128);
  ASSERT_EQ(t.portal_groups.size(), 2U);
  EXPECT_EQ(t.portal_groups[0].tag, 2);
  EXPECT_EQ(t.redirect.host, "other");
  EXPECT_EQ(t.redirect.port, 3260);
  EXPECT_TRUE(t.redirect.permanent && t.redirect.after_authentication);
  EXPECT_EQ(d.discovery_initiators.at(0).name, "*");
  EXPECT_EQ(d.discovery_networks.at(0).prefix, 0);
}

TEST(Yaml, EveryOptionIsRead) {
  const Loaded loaded =
      load(kMinimal +
           "negotiation: {rdma_extensions: no, header_digest: off, data_digest: "
           "false, immediate_data: false, initial_r2t: true,\n"
           "  max_recv_data_segment_length: 1k, target_recv_data_segment_length: "
           "2k, max_burst_length: 4k, first_burst_length: 3k,\n"
           "  max_outstanding_r2t: 5}\n"
           "rdma: {crc: false, markers: true, inbound_reads: 1, outbound_reads: "
           "2, base_offset: solicited-part, dialect: rfc5046}\n"
           "limits: {threads: 3, connections: 4, command_window: 5, idle_timeout: 2h, "
           "session_buffers: 6MiB, transfer_window: 2MiB, login_timeout: 7s, nop_interval: 0,\n"
           "  nop_timeout: 1m, drain_timeout: 1h}\n"
           "store_engine: threads\n"
           "log_level: debug\n");
  ASSERT_TRUE(loaded.faults.empty()) << loaded.faults[0].message;
  const Daemon& d = loaded.daemon;
  EXPECT_FALSE(d.negotiation.rdma_extensions || d.negotiation.header_digest ||
               d.negotiation.data_digest || d.negotiation.immediate_data);
  EXPECT_TRUE(d.negotiation.initial_r2t);
  EXPECT_EQ(d.negotiation.max_recv_data_segment_length, 1024U);
  EXPECT_EQ(d.negotiation.target_recv_data_segment_length, 2048U);
  EXPECT_EQ(d.negotiation.max_burst_length, 4096U);
  EXPECT_EQ(d.negotiation.first_burst_length, 3072U);
  EXPECT_EQ(d.negotiation.max_outstanding_r2t, 5);
  EXPECT_EQ(d.limits.idle_timeout, 7200U);
  EXPECT_FALSE(d.rdma.crc);
  EXPECT_TRUE(d.rdma.markers);
  EXPECT_EQ(d.rdma.inbound_reads, 1);
  EXPECT_EQ(d.rdma.outbound_reads, 2);
  EXPECT_EQ(d.rdma.base_offset, Rdma::BaseOffset::solicited_part);
  EXPECT_EQ(d.rdma.dialect, Rdma::Dialect::rfc5046);
  EXPECT_EQ(d.limits.threads, 3U);
  EXPECT_EQ(d.limits.connections, 4U);
  EXPECT_EQ(d.limits.command_window, 5U);
  EXPECT_EQ(d.limits.session_buffers, 6U << 20);
  EXPECT_EQ(d.limits.transfer_window, 2U << 20);
  EXPECT_EQ(d.limits.login_timeout, 7U);
  EXPECT_EQ(d.limits.nop_interval, 0U);
  EXPECT_EQ(d.limits.nop_timeout, 60U);
  EXPECT_EQ(d.limits.drain_timeout, 3600U);
  EXPECT_EQ(d.store_engine, Daemon::Store::threads);
  EXPECT_EQ(d.log_level, "debug");
}

std::string with_auth(const std::string& auth) {
  return kMinimal + "    auth:\n" + auth;
}

TEST(Yaml, AccountsAreRead) {
  const Loaded loaded =
      load(with_auth("      users:\n"
                     "        - {name: alice, secret_file: alice.secret}\n"
                     "        - {secret_file: /b.secret, name: 0xb ob}\n"
                     "      mutual: {name: storage, secret_file: s.secret}\n"
                     "discovery_auth: {users: [{name: a, secret_file: s}]}\n"));
  ASSERT_TRUE(loaded.faults.empty()) << loaded.faults[0].message;
  const Auth& auth = loaded.daemon.targets[0].auth;
  ASSERT_EQ(auth.users.size(), 2U);
  EXPECT_EQ(auth.users[0].name, "alice");
  EXPECT_EQ(auth.users[0].secret_file, "/etc/open-iser/alice.secret");
  EXPECT_EQ(auth.users[0].secret_at.line, 8);
  EXPECT_EQ(auth.users[0].secret_at.column, 25);
  EXPECT_EQ(auth.users[1].name, "0xb ob");
  EXPECT_EQ(auth.users[1].secret_file, "/b.secret");
  EXPECT_EQ(auth.mutual.name, "storage");
  EXPECT_EQ(loaded.daemon.discovery_auth.users.at(0).name, "a");
  EXPECT_EQ(loaded.daemon.discovery_auth.mutual.name, "");
}

TEST(Yaml, AMaxBurstBelowTheDefaultFirstBurstTakesItAlong) {
  const Loaded loaded = load(kMinimal + "negotiation: {max_burst_length: 4k}\n");
  EXPECT_TRUE(loaded.faults.empty());
  EXPECT_EQ(loaded.daemon.negotiation.first_burst_length, 4096U);
}

// --- faults ---

struct FaultRow {
  std::string text;
  std::string start;  // of what faults_of() gives
};
class OneFault : public testing::TestWithParam<FaultRow> {};

TEST_P(OneFault, HasItsPlaceAndSaysWhatToDo) {
  const std::string faults = faults_of(GetParam().text);
  EXPECT_EQ(faults.substr(0, GetParam().start.size()), GetParam().start) << faults;
  EXPECT_EQ(std::ranges::count(faults, '\n'), 1) << faults;
  EXPECT_NE(faults.find("; "), std::string::npos) << faults;
}

std::string with_lun(const std::string& lun) {
  return kPortals + "targets:\n  - name: iqn.2026-11.org.example:d\n    luns:\n      - {" + lun +
         "}\n";
}

// Line 3 of a target of LUN 0.
std::string with_target(const std::string& line) {
  return kPortals + "targets:\n  - " + line +
         "\n    name: iqn.2026-11.org.example:d\n    luns: [{lun: 0, file: a}]\n";
}

INSTANTIATE_TEST_SUITE_P(
    Access, OneFault,
    testing::Values(
        FaultRow{with_target("initiators: []"), "3:5 initiators is a list of at least one"},
        FaultRow{with_target("initiators: [host]"), "3:18 name: \"host\" is no iSCSI name"},
        FaultRow{with_target("initiators: ['IQN.*']"), "3:18 name: \"IQN.*\" has capitals"},
        FaultRow{with_target("initiators: ['a *']"), "3:18 name: \"a *\" has capitals, spaces"},
        FaultRow{with_target("initiators: ['" + std::string(224, '*') + "']"),
                 "3:18 name: a pattern of more than 223 bytes"},
        FaultRow{with_target("initiators: ['*', '*']"), "3:23 an initiator that line 3 has"},
        FaultRow{with_target("initiators: [{read_only: yes}]"), "3:18 name is missing"},
        FaultRow{with_target("initiators: [{name: '*', luns: []}]"), "3:30 luns is a list"},
        FaultRow{with_target("initiators: [{name: '*', luns: [{lun: 0}]}]"),
                 "3:37 disk is missing"},
        FaultRow{with_target("initiators: [{name: '*', luns: [{lun: 16384, disk: 0}]}]"),
                 "3:43 lun: 16384 is out of range; write 0 to 16383"},
        FaultRow{with_target("initiators: [{name: '*', luns: [{lun: 0, disk: 1}]}]"),
                 "3:46 disk 1 is no lun of the target"},
        FaultRow{with_target("initiators: [{name: '*', auth: {users: []}}]"), "3:37 users is a"},
        FaultRow{with_target("networks: [10.0.0.1/8]"), "3:16 network: \"10.0.0.1/8\" has bits"},
        FaultRow{with_target("networks: [10.0.0.0/33]"),
                 "3:16 network: \"10.0.0.0/33\" has no prefix length from 0 to 32"},
        FaultRow{with_target("networks: ['2001:db8::/129']"),
                 "3:16 network: \"2001:db8::/129\" has no prefix length from 0 to 128"},
        FaultRow{with_target("networks: [10.0.0.0/]"), "3:16 network: \"10.0.0.0/\" has no prefix"},
        FaultRow{with_target("networks: [somewhere]"), "3:16 network: \"somewhere\" is no network"},
        FaultRow{with_target("networks: ['[::1]']"), "3:16 network: \"[::1]\" is no network"},
        FaultRow{with_target("portal_groups: [2]"), "3:21 no portal has the tag 2"},
        FaultRow{with_target("portal_groups: [1, 1]"), "3:24 a tag that line 3 has already"},
        FaultRow{with_target("portal_groups: [x]"), "3:21 tag: \"x\" is no whole number"},
        FaultRow{with_target("redirect: {permanent: yes}"), "3:5 address is missing"},
        FaultRow{with_target("redirect: {address: ':3260'}"), "3:16 an address to go to without"},
        FaultRow{with_target("redirect: ':3260'"), "3:5 an address to go to without"},
        FaultRow{with_target("redirect: 'h:0'"), "3:5 an address to go to without"},
        FaultRow{kMinimal + "discovery_initiators: [{name: '*', read_only: yes}]\n",
                 "6:36 unknown key \"read_only\""},
        FaultRow{kMinimal + "discovery_networks: []\n", "6:1 discovery_networks is a list"}));

INSTANTIATE_TEST_SUITE_P(
    Files, OneFault,
    testing::Values(
        FaultRow{"", "1:1 the file is empty"}, FaultRow{"# nothing\n", "1:1 the file is empty"},
        FaultRow{"- a\n", "1:1 configuration of iser-targetd is written as keys and values"},
        FaultRow{kTargets, "1:1 portals is missing"}, FaultRow{kPortals, "1:1 targets is missing"},
        FaultRow{kTargets + "portals: []\n", "5:1 portals is a list of at least one"},
        FaultRow{kTargets + "portals: 'h:1'\n", "5:1 portals is a list"},
        FaultRow{kTargets + "portals: [[h]]\n", "5:11 an address to listen on is written as"},
        FaultRow{kTargets + "portals: ['h:99999']\n", "5:11 address: \"h:99999\" has no port"},
        FaultRow{kTargets + "portals: [{tag: 1}]\n", "5:11 address is missing"},
        FaultRow{kTargets + "portals: [{address: h, tag: 65536}]\n",
                 "5:29 tag: 65536 is out of range; write 1 to 65535"},
        FaultRow{kTargets + "portals: [{address: h, tag: 0}]\n",
                 "5:29 tag: 0 is out of range; write 1 to 65535"},
        FaultRow{kTargets + "portals: [{address: h, alua: standby}, g]\n",
                 "5:40 alua or preferred not as line 5 has it for portals of tag 1; write the "
                 "same, or give it another tag"},
        FaultRow{kTargets + "portals: [{address: h, transport: verb}]\n",
                 "5:35 transport: \"verb\" is unknown; did you mean verbs?"},
        FaultRow{kTargets + "portals: [h, 'h:3260']\n", "5:14 a portal address that line 5 has"},
        FaultRow{kMinimal + "portal: [h]\n", "6:1 unknown key \"portal\"; did you mean portals?"},
        FaultRow{kMinimal + "log: info\n",
                 "6:1 unknown key \"log\"; write one of portals, targets, discovery_auth"},
        FaultRow{kMinimal + "log_level: inf\n",
                 "6:12 log_level: \"inf\" is unknown; did you mean info?"},
        FaultRow{kMinimal + "log_level: loud\n",
                 "6:12 log_level: \"loud\" is unknown; write one of"},
        FaultRow{kMinimal + "log_level:\n", "6:1 log_level has no value"},
        FaultRow{kMinimal + "log_level: [info]\n", "6:12 log_level takes a single value"},
        FaultRow{kMinimal + "negotiation: 5\n", "6:1 what is offered and accepted at login is"},
        FaultRow{kMinimal + "negotiation:\n  max_burst_lenght: 4k\n",
                 "7:3 unknown key \"max_burst_lenght\"; did you mean max_burst_length?"},
        FaultRow{kMinimal + "negotiation:\n  max_burst_length: 511\n",
                 "7:21 max_burst_length: 511 is out of range; write 512 to 16777215"},
        FaultRow{kMinimal + "negotiation:\n  max_burst_length: 16MiB\n",
                 "7:21 max_burst_length: 16MiB is out of range"},
        FaultRow{kMinimal + "negotiation: {max_burst_length: 4k, first_burst_length: 8k}\n",
                 "6:37 first_burst_length exceeds max_burst_length, which is 4096"},
        FaultRow{kMinimal + "negotiation: {initial_r2t: maybe}\n",
                 "6:28 initial_r2t: \"maybe\" is neither yes nor no"},
        FaultRow{kMinimal + "limits: {login_timeout: 0}\n",
                 "6:25 login_timeout: 0 is out of range"},
        FaultRow{kMinimal + "limits: {session_buffers: 10MB}\n",
                 "6:27 session_buffers: \"10MB\" is no size"},
        FaultRow{kMinimal + "limits: {threads: 1, threads: 2}\n", "6:22 threads stands here twice"},
        FaultRow{kMinimal + "---\na: b\n", "7:1 a second document"},
        FaultRow{kPortals + "targets:\n  - luns: [{lun: 0, memory: 1MiB}]\n",
                 "3:5 name is missing"},
        FaultRow{kPortals + "targets:\n  - name: iqn.2026-11.org.example:d\n",
                 "3:5 luns is missing"},
        FaultRow{kPortals + "targets:\n  - name: disk\n    luns: [{lun: 0, memory: 1MiB}]\n",
                 "3:11 name: \"disk\" is no iSCSI name"},
        FaultRow{with_lun("lun: 0"),
                 "5:9 a LUN with no store; give it one of file, memory and null"},
        FaultRow{with_lun("lun: 0, file: a, memory: 1MiB"), "5:9 a LUN with several stores"},
        FaultRow{with_lun("file: a"), "5:9 lun is missing"},
        FaultRow{with_lun("lun: 16384, file: a"),
                 "5:15 lun: 16384 is out of range; write 0 to 16383"},
        FaultRow{with_lun("lun: 0, file: ''"), "5:24 file: an empty file name"},
        FaultRow{with_lun("lun: 0, memory: 1MiB, size: 1MiB"), "5:32 size is for files"},
        FaultRow{with_lun("lun: 0, file: a, block_size: 1k"), "5:27 a block size of 1024"},
        FaultRow{with_lun("lun: 0, file: a, physical_block_size: 5k"),
                 "5:27 a physical_block_size of 5120; write a power of two"},
        FaultRow{with_lun("lun: 0, file: a, block_size: 4k, physical_block_size: 512"),
                 "5:43 a physical_block_size of 512; write a power of two"},
        FaultRow{with_lun("lun: 0, memory: 1MiB, direct: true"), "5:32 direct is for files"},
        FaultRow{with_lun("lun: 0, memory: 1MiB, soft_threshold: 9"),
                 "5:32 soft_threshold is for files"},
        FaultRow{with_lun("lun: 0, file: a, soft_threshold: 100"),
                 "5:43 soft_threshold: 100 is out of range"},
        FaultRow{with_lun("lun: 0, file: a, size: 1000"),
                 "5:9 a size of 1000 bytes, which is no multiple of block_size; round it to 512"},
        FaultRow{with_lun("lun: 0, file: a, vendor: much too long"),
                 "5:35 vendor: \"much too long\""},
        FaultRow{with_lun("lun: 0, file: a}\n      - {lun: 0, file: b"),
                 "6:9 a logical unit number that line 5 has already"},
        FaultRow{
            kMinimal +
                "  - name: iqn.2026-11.org.example:disk1\n    luns: [{lun: 0, memory: 1MiB}]\n",
            "6:5 a target name that line 3 has already"},
        // Half an auth must not be none.
        FaultRow{with_auth(""), "6:5 CHAP, which initiators then have to pass"},
        FaultRow{with_auth("      users:\n"), "7:7 users is a list of at least one"},
        FaultRow{with_auth("      users: []\n"), "7:7 users is a list of at least one"},
        FaultRow{with_auth("      mutual: {name: a, secret_file: b}\n"), "6:5 users is missing"},
        FaultRow{with_auth("      users: [{name: a}]\n"), "7:15 secret_file is missing"},
        FaultRow{with_auth("      users: [{secret_file: a}]\n"), "7:15 name is missing"},
        FaultRow{with_auth("      users: [{name: '', secret_file: a}]\n"), "7:16 an empty name"},
        FaultRow{with_auth("      users: [{name: a, secret: b, secret_file: b}]\n"),
                 "7:25 unknown key \"secret\"; write one of name, secret_file"},
        FaultRow{with_auth("      users: [{name: a, secret_file: b}]\n      mutual:\n"),
                 "8:7 who the target is to initiators"},
        FaultRow{with_auth("      users: [{name: a, secret_file: b}, {name: a, secret_file: c}]\n"),
                 "7:42 a user name that line 7 has already"},
        FaultRow{with_auth("      users: [{name: a, secret_file: b}]\n"
                           "      mutual: {name: c, secret_file: b}\n"),
                 "8:25 the secret file of user a"},
        FaultRow{kMinimal + "discovery_auth: {}\n", "6:1 users is missing"},
        FaultRow{"portals: [\n", "2:1 not YAML: "}, FaultRow{"a: b: c\n", "1:5 not YAML: "},
        FaultRow{"\tportals: [h]\n", "1:"}));

TEST(Yaml, FindsAllFaultsInTheOrderOfTheFile) {
  EXPECT_EQ(faults_of("portals: ['h:x', ok]\n"
                      "targets:\n"
                      "  - nmae: iqn.2026-11.org.example:d\n"
                      "    luns: [{lun: -1, memory: 64MB}]\n"
                      "limits: {threads: many}\n"),
            "1:11 address: \"h:x\" has no port from 0 to 65535 behind its last colon; write "
            "host:3260\n"
            "3:5 unknown key \"nmae\"; did you mean name?\n"
            "3:5 name is missing; add \"name: ...\"\n"
            "4:18 lun: \"-1\" is no whole number; write digits only\n"
            "4:30 memory: \"64MB\" is no size; write bytes, or 4k, 10MiB, 1GiB, 2TiB\n"
            "5:19 threads: \"many\" is no whole number; write digits only\n");
}

TEST(Yaml, PortZeroMayComeTwice) {
  EXPECT_EQ(faults_of("portals: ['h:0', 'h:0']\n" + kTargets), "");
}

TEST(Yaml, AFaultIsOneLine) {
  for (const std::string& text :
       {kMinimal + "\"a\\nb\\x01\": 1\n", kMinimal + "log_level: \"a\\nb\"\n",
        kMinimal + "? [a, b]\n: c\n", kMinimal + std::string(100000, 'k') + ": 1\n"})
    for (const Fault& fault : load(text).faults) {
      EXPECT_EQ(fault.message.find('\n'), std::string::npos);
      EXPECT_LT(fault.message.size(), 600U);
    }
}

TEST(Yaml, EveryPrefixOfAFileIsSurvived) {
  std::ifstream file(OPENISER_SOURCE_DIR "/config/samples/every-option.yaml");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  ASSERT_FALSE(text.empty());
  for (std::size_t cut = 0; cut < text.size(); cut += 3)
    for (const Fault& fault : load(text.substr(0, cut)).faults) EXPECT_FALSE(fault.message.empty());
}

TEST(Yaml, AnchorsMayPointAtThemselves) {
  EXPECT_FALSE(load("portals: &p [*p]\ntargets: *p\n").faults.empty());
}

// --- files ---

// yaml-cpp's own way through all documents of a file has no end here.
TEST(Yaml, WhatIsNoDocumentBehindTheDocumentIsAFault) {
  EXPECT_TRUE(faults_of(" a: b\n,,\n").find("2:1 a second document, or what belongs to none") !=
              std::string::npos);
}

TEST(YamlFile, RelativeNamesStartAtItsFolder) {
  const auto folder = std::filesystem::temp_directory_path() / "openiser-config-XXXXXX";
  std::string made = folder.string();
  ASSERT_NE(mkdtemp(made.data()), nullptr);
  const auto path = std::filesystem::path(made) / "target.yaml";
  std::ofstream(path) << kMinimal;
  const Loaded loaded = load_file(path);
  std::filesystem::remove_all(made);
  ASSERT_TRUE(loaded.faults.empty());
  EXPECT_EQ(loaded.daemon.targets[0].luns[0].path, made + "/disk1.img");
}

TEST(YamlFile, WhatCannotBeReadIsAFaultOfTheFile) {
  for (const char* path : {"/nonexistent/target.yaml", "/"}) {
    const Loaded loaded = load_file(path);
    ASSERT_EQ(loaded.faults.size(), 1U) << path;
    EXPECT_EQ(loaded.faults[0].at.line, 0);
    EXPECT_EQ(loaded.faults[0].message.substr(0, 16), "cannot be read: ");
  }
}

TEST(YamlFile, FaultsAreDescribedAsCompilersDo) {
  EXPECT_EQ(describe({{3, 7}, "wrong; right it"}, "a/b.yaml"), "a/b.yaml:3:7: wrong; right it");
  EXPECT_EQ(describe({{}, "cannot be read"}, "b.yaml"), "b.yaml: cannot be read");
}

class Sample : public testing::TestWithParam<const char*> {};

TEST_P(Sample, Loads) {
  const auto path = std::filesystem::path(OPENISER_SOURCE_DIR "/config") / GetParam();
  const Loaded loaded = load_file(path);
  for (const Fault& fault : loaded.faults) ADD_FAILURE() << describe(fault, path);
  EXPECT_FALSE(loaded.daemon.portals.empty());
  EXPECT_FALSE(loaded.daemon.targets.empty());
}
INSTANTIATE_TEST_SUITE_P(Files, Sample,
                         testing::Values("quickstart.yaml", "samples/minimal.yaml",
                                         "samples/several.yaml", "samples/every-option.yaml"));

TEST(Samples, AllOfThemAreTested) {
  int count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(OPENISER_SOURCE_DIR "/config/samples"))
    count += entry.path().extension() == ".yaml";
  EXPECT_EQ(count, 3);
}

// --- schema ---

using Json = nlohmann::json;

// All paths of properties: "targets/luns/lun", ...
void collect(const Json& schema, const std::string& path, std::map<std::string, Json>& into) {
  if (schema.contains("anyOf"))
    for (const Json& each : schema["anyOf"]) collect(each, path, into);
  if (schema.contains("items")) collect(schema["items"], path, into);
  if (!schema.contains("properties")) return;
  for (const auto& [name, value] : schema["properties"].items()) {
    into[path + name] = value;
    collect(value, path + name + "/", into);
  }
}

TEST(Schema, NamesEveryKeyWithItsLimitsAndDefaults) {
  const Json schema = Json::parse(print_schema());
  std::map<std::string, Json> keys;
  collect(schema, "", keys);
  EXPECT_EQ(keys.size(), 11U + 8 + 9 + 3 + 14 + 2 + 2 + 2 * 6 + 13 + 10 + 7 + 12);
  for (const auto& [path, key] : keys) EXPECT_TRUE(key.contains("description")) << path;
  EXPECT_EQ(keys.at("limits/login_timeout").at("default"), 15);
  EXPECT_EQ(keys.at("targets/luns/lun").at("maximum"), 16383);
  EXPECT_EQ(keys.at("log_level").at("default"), "info");
  EXPECT_EQ(keys.at("rdma/dialect").at("enum").size(), 3U);
  EXPECT_EQ(keys.at("negotiation/initial_r2t").at("default"), false);
  EXPECT_EQ(schema.at("required"), (Json{"portals", "targets"}));
  EXPECT_EQ(schema.at("additionalProperties"), false);
}

// The sample that claims to have every key, and to show the defaults.
TEST(Schema, EveryOptionIsInTheSampleForIt) {
  std::ifstream file(OPENISER_SOURCE_DIR "/config/samples/every-option.yaml");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::map<std::string, Json> keys;
  collect(Json::parse(print_schema()), "", keys);
  for (const auto& [path, key] : keys) {
    const std::string name = path.substr(path.rfind('/') + 1);
    EXPECT_NE(text.find(name + ":"), std::string::npos) << path;
  }
  const Daemon sample = load_text(text, "/").daemon, fresh;
  EXPECT_EQ(sample.negotiation.max_recv_data_segment_length,
            fresh.negotiation.max_recv_data_segment_length);
  EXPECT_EQ(sample.negotiation.max_burst_length, fresh.negotiation.max_burst_length);
  EXPECT_EQ(sample.limits.session_buffers, fresh.limits.session_buffers);
  EXPECT_EQ(sample.limits.transfer_window, fresh.limits.transfer_window);
  EXPECT_EQ(sample.limits.drain_timeout, fresh.limits.drain_timeout);
  EXPECT_EQ(sample.rdma.outbound_reads, fresh.rdma.outbound_reads);
}

}  // namespace
}  // namespace openiser::config
