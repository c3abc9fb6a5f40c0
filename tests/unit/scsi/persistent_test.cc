// Persistent reservations as a value: what each service action makes of them, and who is told.
#include "target/scsi/reservations/persistent.h"

#include <gtest/gtest.h>

#include "target/scsi/reservations/saved.h"
#include "tests/support/bytes.h"

namespace openiser::test {
namespace {

using target::carry_out;
using target::Condition;
using target::ConflictsWith;
using target::ItNexus;
using target::PersistentReservations;
using target::ReservationType;
using target::ReserveOut;
using target::ReserveOutAction;
using target::ReserveOutResult;
using Status = target::ReserveOutResult::Status;
using Action = target::ReserveOutAction;

const ItNexus kA{"iqn.a,i,0x800000000001", 1};
const ItNexus kB{"iqn.b,i,0x800000000001", 1};
const ItNexus kC{"iqn.c,i,0x800000000001", 1};
const ItNexus kB2{"iqn.b,i,0x800000000001", 2};

constexpr std::uint8_t kWe = 1, kEa = 3, kWeRo = 5, kEaRo = 6, kWeAr = 7, kEaAr = 8;
constexpr std::uint8_t kTypes[] = {kWe, kEa, kWeRo, kEaRo, kWeAr, kEaAr};

class Persistent : public ::testing::Test {
 protected:
  // In short: "good", "conflict" or "asc/ascq" with the field, then who is told what: " b:2a/04".
  std::string done(const ReserveOut& command) {
    const std::uint32_t generation = state.generation;
    PersistentReservations next = state;
    last = carry_out(command, next);
    if (last.status == Status::good) state = next;
    advanced = state.generation - generation;
    return text_of(last);
  }
  std::string registers(const ItNexus& from, std::uint64_t key, std::uint64_t fresh) {
    return done({.from = from, .key = key, .service_action_key = fresh});
  }
  std::string ignores(const ItNexus& from, std::uint64_t fresh, std::uint64_t key = 0) {
    return done({.from = from,
                 .action = Action::register_and_ignore_existing_key,
                 .key = key,
                 .service_action_key = fresh});
  }
  std::string reserves(const ItNexus& from, std::uint64_t key, std::uint8_t type) {
    return done({.from = from, .action = Action::reserve, .type = type, .key = key});
  }
  std::string releases(const ItNexus& from, std::uint64_t key, std::uint8_t type) {
    return done({.from = from, .action = Action::release, .type = type, .key = key});
  }
  std::string clears(const ItNexus& from, std::uint64_t key) {
    return done({.from = from, .action = Action::clear, .key = key});
  }
  std::string preempts(const ItNexus& from, std::uint64_t key, std::uint64_t victim,
                       std::uint8_t type, Action action = Action::preempt) {
    return done(
        {.from = from, .action = action, .type = type, .key = key, .service_action_key = victim});
  }
  std::string moves(const ItNexus& from, std::uint64_t key, const ItNexus& to, std::uint64_t fresh,
                    bool unregister = false) {
    return done({.from = from,
                 .action = Action::register_and_move,
                 .key = key,
                 .service_action_key = fresh,
                 .destination = to,
                 .unregister = unregister});
  }
  static std::string name_of(const ItNexus& nexus) {
    return nexus.initiator_port.substr(4, 1) +
           (nexus.relative_target_port == 1 ? "" : std::to_string(nexus.relative_target_port));
  }
  static std::string text_of(const ReserveOutResult& result) {
    if (result.status == Status::conflict) return "conflict";
    char text[32];
    if (result.status == Status::failed) {
      const auto& row = target::row_of(result.sense.condition);
      std::snprintf(text, sizeof text, "%02x/%02x", row.asc, row.ascq);
      std::string all = text;
      if (result.sense.field) {
        all += (result.sense.field->in_cdb ? "@" : "#") + std::to_string(result.sense.field->byte);
      }
      return all;
    }
    std::string all = "good";
    for (const auto& [nexus, condition] : result.attentions) {
      const auto& row = target::row_of(condition);
      EXPECT_EQ(row.key, 6);
      std::snprintf(text, sizeof text, "%02x/%02x", row.asc, row.ascq);
      all += " " + name_of(nexus) + ":" + text;
    }
    return all;
  }
  // "a=1 b=2* type 5": keys, and who holds what.
  std::string now() const {
    std::string text;
    for (const auto& each : state.registrations) {
      text += name_of(each.nexus) + "=" + std::to_string(each.key) +
              (state.is_holder(each.nexus) ? "* " : " ");
    }
    return text + (state.type ? "type " + std::to_string(static_cast<int>(*state.type)) : "free");
  }
  void three(std::uint8_t type) {
    state = {};
    EXPECT_EQ(registers(kA, 0, 1), "good");
    EXPECT_EQ(registers(kB, 0, 2), "good");
    EXPECT_EQ(registers(kC, 0, 3), "good");
    EXPECT_EQ(reserves(kA, 1, type), "good");
  }
  std::string refused(const ItNexus& nexus) const {
    const auto set = state.conflicts_of(nexus);
    return std::string(set.contains(ConflictsWith::exclusive_access) ? "r" : "") +
           (set.contains(ConflictsWith::any_reservation) ? "w" : "");
  }

  PersistentReservations state;
  ReserveOutResult last;
  std::uint32_t advanced = 0;  // by how much PRGENERATION went up
};

// --- REGISTER ---

TEST_F(Persistent, RegisterChangeAndUnregister) {
  EXPECT_EQ(registers(kA, 0, 1), "good");
  EXPECT_EQ(advanced, 1U);
  EXPECT_EQ(registers(kA, 0, 2), "conflict") << "a registered nexus has to know its key";
  EXPECT_EQ(registers(kA, 1, 5), "good");
  EXPECT_EQ(now(), "a=5 free");
  EXPECT_EQ(registers(kA, 1, 0), "conflict");
  EXPECT_EQ(advanced, 0U);
  EXPECT_EQ(registers(kA, 5, 0), "good");
  EXPECT_EQ(now(), "free");
  EXPECT_EQ(state.generation, 3U);
}

TEST_F(Persistent, RegisterOfTheUnregistered) {
  EXPECT_EQ(registers(kA, 7, 1), "conflict") << "it has no key";
  EXPECT_EQ(registers(kA, 0, 0), "good") << "nothing to do";
  EXPECT_EQ(now(), "free");
  EXPECT_EQ(advanced, 0U);
}

TEST_F(Persistent, RegisterAndIgnoreExistingKey) {
  EXPECT_EQ(ignores(kA, 1, 99), "good");
  EXPECT_EQ(ignores(kA, 2, 98), "good");
  EXPECT_EQ(now(), "a=2 free");
  EXPECT_EQ(ignores(kB, 0), "good");
  EXPECT_EQ(advanced, 0U);
  EXPECT_EQ(ignores(kA, 0), "good");
  EXPECT_EQ(now(), "free");
  EXPECT_EQ(state.generation, 3U);
}

TEST_F(Persistent, NexusesWithOneKeyAreStillTwo) {
  EXPECT_EQ(registers(kA, 0, 1), "good");
  EXPECT_EQ(registers(kB, 0, 1), "good");
  EXPECT_EQ(registers(kB2, 0, 1), "good") << "another target port is another nexus";
  EXPECT_EQ(now(), "a=1 b=1 b2=1 free");
  EXPECT_EQ(registers(kB, 1, 0), "good");
  EXPECT_EQ(now(), "a=1 b2=1 free");
}

TEST_F(Persistent, RegisterOfOthers) {
  ReserveOut command{.from = kA, .service_action_key = 4, .names_others = true, .others = {kB, kC}};
  EXPECT_EQ(done(command), "good");
  EXPECT_EQ(now(), "a=4 b=4 c=4 free");
  EXPECT_EQ(advanced, 1U);
  command.key = 4;
  EXPECT_EQ(done(command), "26/00#20") << "a registered nexus cannot";
  command.from = kB2;
  command.key = 0;
  EXPECT_EQ(done(command), "conflict") << "those are registered already";
  EXPECT_EQ(now(), "a=4 b=4 c=4 free");
}

TEST_F(Persistent, RegisterOfOthersWithNoKeyDoesNothing) {
  EXPECT_EQ(done({.from = kA, .names_others = true, .others = {kB}}), "good");
  EXPECT_EQ(now(), "free");
}

TEST_F(Persistent, RegisterThroughAllPorts) {
  ReserveOut command{.from = kB, .service_action_key = 4, .other_ports = {kB2}};
  EXPECT_EQ(done(command), "good");
  EXPECT_EQ(now(), "b=4 b2=4 free");
  command.key = 4;
  command.service_action_key = 5;
  EXPECT_EQ(done(command), "good");
  EXPECT_EQ(now(), "b=5 b2=5 free");
  EXPECT_EQ(registers(kB2, 5, 6), "good");
  command.key = 5;
  EXPECT_EQ(done(command), "conflict") << "the other port has another key";
  EXPECT_EQ(registers(kB2, 6, 5), "good");
  command.service_action_key = 0;
  EXPECT_EQ(done(command), "good");
  EXPECT_EQ(now(), "free");
}

TEST_F(Persistent, TooManyRegistrations) {
  const auto nexus = [](std::size_t n) {
    return ItNexus{"iqn.n" + std::to_string(n) + ",i,0x800000000001", 1};
  };
  for (std::size_t n = 0; n != PersistentReservations::kMaxRegistrations; ++n) {
    ASSERT_EQ(registers(nexus(n), 0, 1), "good");
  }
  EXPECT_EQ(registers(kA, 0, 1), "55/04");
  EXPECT_EQ(state.registrations.size(), PersistentReservations::kMaxRegistrations);
  EXPECT_EQ(registers(nexus(0), 1, 0), "good");
  EXPECT_EQ(registers(kA, 0, 1), "good");
}

TEST_F(Persistent, AptplIsAsLastSet) {
  ReserveOut command{.from = kA, .service_action_key = 1, .survive_power_loss = true};
  EXPECT_EQ(done(command), "good");
  EXPECT_TRUE(state.survive_power_loss);
  EXPECT_EQ(reserves(kA, 1, kWe), "good");
  EXPECT_TRUE(state.survive_power_loss) << "only registrations say";
  EXPECT_EQ(registers(kB, 0, 2), "good");
  EXPECT_FALSE(state.survive_power_loss);
}

// --- RESERVE, RELEASE, and what reservations refuse ---

TEST_F(Persistent, ReserveNeedsARegistrationAndItsKey) {
  EXPECT_EQ(reserves(kA, 0, kWe), "conflict");
  EXPECT_EQ(registers(kA, 0, 1), "good");
  EXPECT_EQ(reserves(kA, 2, kWe), "conflict");
  EXPECT_EQ(reserves(kA, 1, kWe), "good");
  EXPECT_EQ(advanced, 0U) << "PRGENERATION counts no reservations";
}

TEST_F(Persistent, TypesThatAreNot) {
  EXPECT_EQ(registers(kA, 0, 1), "good");
  for (const std::uint8_t type : {0, 2, 4, 9, 10, 11, 12, 13, 14, 15}) {
    EXPECT_EQ(reserves(kA, 1, type), "24/00@2") << int{type};
    EXPECT_EQ(releases(kA, 1, type), "24/00@2") << int{type};
  }
}

TEST_F(Persistent, WhoHoldsMayReserveTheSameAgain) {
  for (const std::uint8_t type : kTypes) {
    three(type);
    const bool all = type == kWeAr || type == kEaAr;
    EXPECT_EQ(reserves(kA, 1, type), "good");
    EXPECT_EQ(reserves(kB, 2, type), all ? "good" : "conflict");
    for (const std::uint8_t other : kTypes) {
      if (other == type) continue;
      EXPECT_EQ(reserves(kA, 1, other), "conflict");
    }
    EXPECT_EQ(now(), (all ? "a=1* b=2* c=3* type " : "a=1* b=2 c=3 type ") + std::to_string(type));
  }
}

TEST_F(Persistent, WhatEachTypeRefuses) {
  const ItNexus stranger{"iqn.x,i,0x800000000001", 1};
  struct Row {
    std::uint8_t type;
    const char* registered;
    const char* unregistered;
  };
  for (const Row& row : {Row{kWe, "w", "w"}, Row{kEa, "rw", "rw"}, Row{kWeRo, "", "w"},
                         Row{kEaRo, "", "rw"}, Row{kWeAr, "", "w"}, Row{kEaAr, "", "rw"}}) {
    three(row.type);
    EXPECT_EQ(refused(kA), "") << int{row.type};
    EXPECT_EQ(refused(kB), row.registered) << int{row.type};
    EXPECT_EQ(refused(stranger), row.unregistered) << int{row.type};
    EXPECT_EQ(refused(kB2), row.unregistered) << "not registered through that port";
    EXPECT_FALSE(state.conflicts_of(stranger).contains(ConflictsWith::reserve));
    EXPECT_FALSE(state.conflicts_of(stranger).contains(ConflictsWith::reserve_of_anyone));
  }
}

TEST_F(Persistent, RegistrationAloneRefusesNothing) {
  EXPECT_EQ(registers(kA, 0, 1), "good");
  EXPECT_EQ(refused(kB), "");
}

TEST_F(Persistent, ReleaseTellsRegistrants) {
  for (const std::uint8_t type : kTypes) {
    three(type);
    const bool tells = type != kWe && type != kEa;
    EXPECT_EQ(releases(kA, 1, type), tells ? "good b:2a/04 c:2a/04" : "good");
    EXPECT_EQ(now(), "a=1 b=2 c=3 free");
    EXPECT_EQ(advanced, 0U);
  }
}

TEST_F(Persistent, ReleaseByWhoDoesNotHold) {
  three(kWe);
  EXPECT_EQ(releases(kB, 2, kWe), "good") << "without effect";
  EXPECT_EQ(releases(kB, 1, kWe), "conflict") << "not its key";
  EXPECT_EQ(releases({"iqn.x,i,0x800000000001", 1}, 0, kWe), "conflict");
  EXPECT_EQ(now(), "a=1* b=2 c=3 type 1");
}

TEST_F(Persistent, ReleaseOfAnotherType) {
  three(kWe);
  EXPECT_EQ(releases(kA, 1, kEa), "26/04");
  EXPECT_EQ(now(), "a=1* b=2 c=3 type 1");
}

TEST_F(Persistent, ReleaseOfNothing) {
  EXPECT_EQ(registers(kA, 0, 1), "good");
  EXPECT_EQ(releases(kA, 1, kWe), "good");
}

TEST_F(Persistent, AnyRegistrantReleasesForAll) {
  three(kEaAr);
  EXPECT_EQ(releases(kC, 3, kEaAr), "good a:2a/04 b:2a/04");
  EXPECT_EQ(now(), "a=1 b=2 c=3 free");
}

// --- unregistering ---

TEST_F(Persistent, HolderThatUnregistersReleases) {
  for (const std::uint8_t type : {kWe, kEa}) {
    three(type);
    EXPECT_EQ(registers(kA, 1, 0), "good") << "others could not use it";
    EXPECT_EQ(now(), "b=2 c=3 free");
  }
  for (const std::uint8_t type : {kWeRo, kEaRo}) {
    three(type);
    EXPECT_EQ(registers(kA, 1, 0), "good b:2a/04 c:2a/04");
    EXPECT_EQ(now(), "b=2 c=3 free");
  }
}

TEST_F(Persistent, OtherThatUnregistersReleasesNothing) {
  three(kWeRo);
  EXPECT_EQ(registers(kB, 2, 0), "good");
  EXPECT_EQ(now(), "a=1* c=3 type 5");
}

TEST_F(Persistent, LastOfAllRegistrantsReleases) {
  for (const std::uint8_t type : {kWeAr, kEaAr}) {
    three(type);
    EXPECT_EQ(registers(kA, 1, 0), "good");
    EXPECT_EQ(now(), "b=2* c=3* type " + std::to_string(type));
    EXPECT_EQ(ignores(kB, 0), "good");
    EXPECT_EQ(registers(kC, 3, 0), "good");
    EXPECT_EQ(now(), "free");
  }
}

TEST_F(Persistent, HolderMayChangeItsKey) {
  three(kWe);
  EXPECT_EQ(registers(kA, 1, 9), "good");
  EXPECT_EQ(now(), "a=9* b=2 c=3 type 1");
  EXPECT_EQ(preempts(kB, 2, 1, kEa), "conflict") << "the old key is nobody's";
  EXPECT_EQ(preempts(kB, 2, 9, kEa), "good a:2a/05 c:2a/04");
  EXPECT_EQ(now(), "b=2* c=3 type 3");
}

TEST_F(Persistent, WhoRegistersLaterIsOneOfAllRegistrants) {
  EXPECT_EQ(registers(kA, 0, 1), "good");
  EXPECT_EQ(reserves(kA, 1, kEaAr), "good");
  EXPECT_EQ(refused(kB), "rw");
  EXPECT_EQ(registers(kB, 0, 2), "good");
  EXPECT_EQ(refused(kB), "");
  EXPECT_EQ(now(), "a=1* b=2* type 8");
}

// --- CLEAR ---

TEST_F(Persistent, ClearTellsEveryOther) {
  for (const std::uint8_t type : kTypes) {
    three(type);
    EXPECT_EQ(clears(kB, 1), "conflict");
    EXPECT_EQ(clears(kB, 2), "good a:2a/03 c:2a/03");
    EXPECT_EQ(advanced, 1U);
    EXPECT_EQ(now(), "free");
  }
  EXPECT_EQ(clears(kB, 2), "conflict") << "not registered any more";
}

// --- PREEMPT ---

TEST_F(Persistent, PreemptTakesTheReservationOver) {
  three(kWe);
  EXPECT_EQ(preempts(kB, 2, 1, kWe), "good a:2a/05") << "same type: no more for others to know";
  EXPECT_EQ(advanced, 1U);
  EXPECT_EQ(now(), "b=2* c=3 type 1");
  EXPECT_EQ(preempts(kC, 3, 2, kEaRo), "good b:2a/05");
  EXPECT_EQ(now(), "c=3* type 6");
}

TEST_F(Persistent, PreemptTakesAllWithTheKey) {
  EXPECT_EQ(registers(kA, 0, 1), "good");
  EXPECT_EQ(registers(kB, 0, 2), "good");
  EXPECT_EQ(registers(kC, 0, 1), "good");
  EXPECT_EQ(reserves(kA, 1, kWeRo), "good");
  EXPECT_EQ(preempts(kB, 2, 1, kWeRo), "good a:2a/05 c:2a/05");
  EXPECT_EQ(now(), "b=2* type 5");
}

TEST_F(Persistent, PreemptOfOneselfKeepsTheRegistration) {
  three(kWe);
  EXPECT_EQ(preempts(kA, 1, 1, kEaRo), "good b:2a/04 c:2a/04");
  EXPECT_EQ(now(), "a=1* b=2 c=3 type 6");
}

TEST_F(Persistent, PreemptByOneWithTheHoldersKey) {
  EXPECT_EQ(registers(kA, 0, 1), "good");
  EXPECT_EQ(registers(kB, 0, 1), "good");
  EXPECT_EQ(reserves(kA, 1, kWe), "good");
  EXPECT_EQ(preempts(kB, 1, 1, kWe), "good a:2a/05");
  EXPECT_EQ(now(), "b=1* type 1");
}

TEST_F(Persistent, PreemptOfRegistrationsLeavesTheReservation) {
  three(kWe);
  EXPECT_EQ(preempts(kC, 3, 2, 15), "good b:2a/05") << "the type is ignored";
  EXPECT_EQ(now(), "a=1* c=3 type 1");
  EXPECT_EQ(preempts(kC, 3, 3, kWe), "good") << "one's own, too";
  EXPECT_EQ(now(), "a=1* type 1");
}

TEST_F(Persistent, PreemptWithoutAReservation) {
  EXPECT_EQ(registers(kA, 0, 1), "good");
  EXPECT_EQ(registers(kB, 0, 2), "good");
  EXPECT_EQ(preempts(kA, 1, 2, kWe), "good b:2a/05");
  EXPECT_EQ(now(), "a=1 free") << "and makes none";
  EXPECT_EQ(preempts(kA, 1, 2, kWe), "conflict");
  EXPECT_EQ(preempts(kA, 1, 0, kWe), "26/00#8");
}

TEST_F(Persistent, PreemptOfWhatIsNotThere) {
  three(kWe);
  EXPECT_EQ(preempts(kB, 2, 9, kWe), "conflict");
  EXPECT_EQ(preempts(kB, 2, 0, kWe), "26/00#8");
  EXPECT_EQ(preempts(kB, 1, 1, kWe), "conflict") << "not its key";
  EXPECT_EQ(preempts(kB2, 2, 1, kWe), "conflict") << "not registered";
  EXPECT_EQ(preempts(kB, 2, 1, 0), "24/00@2");
  EXPECT_EQ(now(), "a=1* b=2 c=3 type 1");
  EXPECT_EQ(state.generation, 3U);
}

TEST_F(Persistent, PreemptOfAllRegistrantsByKeyZero) {
  for (const std::uint8_t type : {kWeAr, kEaAr}) {
    three(type);
    EXPECT_EQ(preempts(kB, 2, 0, kWe), "good a:2a/05 c:2a/05");
    EXPECT_EQ(now(), "b=2* type 1");
    three(type);
    EXPECT_EQ(preempts(kB, 2, 0, type), "good a:2a/05 c:2a/05");
    EXPECT_EQ(now(), "b=2* type " + std::to_string(type));
  }
}

TEST_F(Persistent, PreemptAmongAllRegistrantsByKey) {
  three(kEaAr);
  EXPECT_EQ(preempts(kB, 2, 1, kWe), "good a:2a/05");
  EXPECT_EQ(now(), "b=2* c=3* type 8") << "the reservation stays as it is";
  EXPECT_EQ(preempts(kB, 2, 9, kWe), "conflict");
}

TEST_F(Persistent, PreemptOfTheLastRegistrantByItself) {
  EXPECT_EQ(registers(kA, 0, 1), "good");
  EXPECT_EQ(reserves(kA, 1, kWeAr), "good");
  EXPECT_EQ(preempts(kA, 1, 1, kWe), "good");
  EXPECT_EQ(now(), "free");
}

TEST_F(Persistent, PreemptAndAbortNamesWhoseTasksEnd) {
  three(kWe);
  EXPECT_EQ(preempts(kB, 2, 1, kWe, Action::preempt_and_abort), "good a:2a/05");
  EXPECT_EQ(last.aborted, std::vector{kA});
  EXPECT_EQ(preempts(kB, 2, 3, kWe, Action::preempt_and_abort), "good c:2a/05");
  EXPECT_EQ(last.aborted, std::vector{kC});
  three(kWeAr);
  EXPECT_EQ(preempts(kB, 2, 0, kWe, Action::preempt_and_abort), "good a:2a/05 c:2a/05");
  EXPECT_EQ(last.aborted, (std::vector{kA, kC}));
  three(kWe);
  EXPECT_EQ(preempts(kB, 2, 1, kWe), "good a:2a/05");
  EXPECT_TRUE(last.aborted.empty()) << "PREEMPT alone";
}

// --- REGISTER AND MOVE ---

TEST_F(Persistent, MoveToTheUnregistered) {
  EXPECT_EQ(registers(kA, 0, 1), "good");
  EXPECT_EQ(reserves(kA, 1, kWe), "good");
  EXPECT_EQ(moves(kA, 1, kB, 2), "good");
  EXPECT_EQ(advanced, 1U);
  EXPECT_EQ(now(), "a=1 b=2* type 1");
  EXPECT_EQ(refused(kA), "w");
}

TEST_F(Persistent, MoveToTheRegisteredChangesItsKey) {
  three(kEaRo);
  EXPECT_EQ(moves(kA, 1, kB, 7), "good");
  EXPECT_EQ(now(), "a=1 b=7* c=3 type 6");
}

TEST_F(Persistent, MoveAndLeave) {
  three(kEaRo);
  EXPECT_EQ(moves(kA, 1, kB, 2, true), "good") << "the reservation has moved before";
  EXPECT_EQ(now(), "b=2* c=3 type 6");
}

TEST_F(Persistent, MovesThatCannotBe) {
  EXPECT_EQ(moves(kA, 0, kB, 2), "conflict") << "not registered";
  EXPECT_EQ(registers(kA, 0, 1), "good");
  EXPECT_EQ(moves(kA, 1, kB, 2), "24/00@1") << "there is no reservation";
  three(kWe);
  EXPECT_EQ(moves(kB, 2, kC, 3), "conflict") << "not the holder";
  EXPECT_EQ(moves(kA, 2, kC, 3), "conflict") << "not its key";
  EXPECT_EQ(moves(kA, 1, kB, 0), "26/00#8");
  EXPECT_EQ(moves(kA, 1, {kA.initiator_port, 2}, 5), "26/00#24") << "to the same initiator port";
  for (const std::uint8_t type : {kWeAr, kEaAr}) {
    three(type);
    EXPECT_EQ(moves(kA, 1, kB, 2), "conflict");
  }
}

// --- with RESERVE and RELEASE (SPC-4 section 5.12.3) ---

TEST_F(Persistent, WhoMayStillReserveTheOldWay) {
  const ItNexus stranger{"iqn.x,i,0x800000000001", 1};
  for (const std::uint8_t type : kTypes) {
    three(type);
    EXPECT_TRUE(state.passes_reserve_and_release(kA));
    EXPECT_EQ(state.passes_reserve_and_release(kB), type != kWe && type != kEa);
    EXPECT_FALSE(state.passes_reserve_and_release(stranger));
    EXPECT_EQ(releases(kA, 1, type).substr(0, 4), "good");
    EXPECT_FALSE(state.passes_reserve_and_release(kA)) << "registered alone is not enough";
  }
}

// --- as saved ---

TEST_F(Persistent, SavedAndReadAgain) {
  for (const std::uint8_t type : kTypes) {
    three(type);
    state.registrations[2].key = UINT64_MAX;
    state.survive_power_loss = true;
    PersistentReservations expected = state;
    expected.generation = 0;
    EXPECT_EQ(target::decode_saved(target::encode_saved(state)), expected) << int{type};
  }
  state.type.reset();
  state.holder = {};
  state.generation = 0;
  EXPECT_EQ(target::decode_saved(target::encode_saved(state)), state);
}

TEST_F(Persistent, SavedInWords) {
  three(kWeRo);
  const auto saved = target::encode_saved(state);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(saved.data()), saved.size()),
            "type 5\n"
            "registration 0000000000000001 1 1 iqn.a,i,0x800000000001\n"
            "registration 0000000000000002 0 1 iqn.b,i,0x800000000001\n"
            "registration 0000000000000003 0 1 iqn.c,i,0x800000000001\n");
}

TEST_F(Persistent, SavedNonsenseIsNoState) {
  const std::string a = "registration 01 1 1 iqn.a,i,0x800000000001\n";
  const std::string b = "registration 02 0 1 iqn.b,i,0x800000000001\n";
  const auto decoded = [](const std::string& text) {
    return target::decode_saved(std::as_bytes(std::span(text)));
  };
  EXPECT_TRUE(decoded("type 5\n" + a + b));
  for (const std::string& text :
       {std::string(), std::string("type"), std::string("type 5\n"), "type 2\n" + a,
        "type 300\n" + a, "type 5\n" + b, "type 0\n" + a, "type 5\n" + a + a,
        "type 5\n" + a + "registration 00 0 1 iqn.b,i,0x1\n",
        "type 5\n" + a + "registration 02 0 1",
        "type 5\n" + a + "registration zz 0 1 iqn.b,i,0x1\n", "type 5\n" + a + "more",
        "kind 5\n" + a}) {
    EXPECT_FALSE(decoded(text)) << text;
  }
}

}  // namespace
}  // namespace openiser::test
