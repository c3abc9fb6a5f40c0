// One side of a login's text negotiation (RFC 7143 section 6.2): takes the peer's keys, one logical
// text at a time, makes our answers and offers by the rules of key_table.h, and writes the results
// into Parameters. It knows no PDUs and no stages beyond which keys belong where. Lives for one
// login; what it keeps of a peer's text is bounded by kMaxTextPairs names of kMaxKeyName bytes.
#pragma once

#include <array>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "iscsi/errors.h"
#include "iscsi/login/chap.h"
#include "iscsi/login/key_table.h"
#include "iscsi/pdu/text.h"

namespace openiser::iscsi {

class Negotiator {
 public:
  enum class Role : std::uint8_t { initiator, target };
  // What ends a login: the error and, in words, the key and both values.
  struct Fault {
    ErrorCode error;
    std::string detail;
  };
  using Verdict = std::optional<Fault>;  // nothing: all is well

  Negotiator(Role role, const Preferences& preferences, bool rdma_connection);
  // Whether this is the first connection of its session, where LO keys may be negotiated; it is
  // until told otherwise.
  void set_leading(bool leading) { leading_ = leading; }

  // One logical text of the peer. Answers are added to out(); after a fault out() holds only what
  // tells the peer of it ("key=Reject").
  Verdict receive(Bytes text, Stage stage);

  // --- AuthMethod ---
  // From now on it is CHAP and nothing else. A target decides before it answers.
  void demand_chap() { preferences_.chap = true; }
  // Initiator, at the start of the security stage.
  void offer_authentication() { offer(spec_of(Key::auth_method)); }
  // Target, who knows what it wants only once it knows who is meant: answers the offer, if there is
  // one that was not answered.
  Verdict answer_authentication();
  // Whether a method was chosen.
  bool authentication_chosen() const { return state(Key::auth_method).concluded; }
  // The keys of the chosen method in the last text.
  ChapKeys take_exchange() { return std::exchange(exchange_, {}); }

  // Our offers and declarations: initiator, at the start of the operational stage.
  void offer_all();
  // What a target declares of itself once RDMAExtensions is decided.
  void declare_limits();
  // Target, when the initiator wants to end the operational stage: the keys whose default we cannot
  // give and which the initiator has not offered.
  void offer_missing();
  // Whether offer_missing() would offer something.
  bool has_missing() const;
  void declare(Key key, std::string_view value);
  void declare(Key key);  // our wish

  // Text to be sent.
  TextWriter& out() { return out_; }
  // Whether out() owes the peer answers it is waiting for.
  bool owes_answers() const { return owes_answers_; }
  // The text went out.
  std::string take_out();

  // The first key of ours that is still to be answered; empty if there is none.
  std::string_view unanswered() const;
  // Whether the peer has declared or offered the key.
  bool received(Key key) const { return state(key).received; }
  bool rdma() const { return parameters_.rdma_extensions; }

  // Integrity rules, when both are done (RFC 7143 section 6.2), and the parameters that follow from
  // others.
  Verdict finish(bool rdma_required);

  Parameters& parameters() { return parameters_; }
  const Parameters& parameters() const { return parameters_; }

 private:
  struct KeyState {
    bool sent = false;        // offered, declared or answered by us
    bool received = false;    // offered, declared or answered by the peer
    bool open = false;        // offered by us, not answered
    bool concluded = false;   // a value was agreed, or that there is none
    std::uint32_t value = 0;  // agreed, or offered while open
  };

  KeyState& state(Key key) { return states_[static_cast<std::size_t>(key)]; }
  const KeyState& state(Key key) const { return states_[static_cast<std::size_t>(key)]; }

  Verdict take(const TextPair& pair, Stage stage, std::string& answer);
  Verdict take_unknown(const TextPair& pair, std::string& answer);
  Verdict take_constant(const KeySpec& spec, std::string_view value);
  Verdict take_declaration(const KeySpec& spec, std::string_view value);
  Verdict take_answer(const KeySpec& spec, std::string_view value);
  Verdict take_exchange_key(const KeySpec& spec, std::string_view value);
  Verdict take_offer(const KeySpec& spec, std::string_view value, std::string& answer);
  Verdict choose_from_list(const KeySpec& spec, std::string_view list, std::string& answer);
  Verdict reject(const KeySpec& spec, std::string_view value, std::string& answer);
  Verdict misplaced(const KeySpec& spec, Stage stage) const;

  const KeySpec* understood(std::string_view name) const;
  bool irrelevant(const KeySpec& spec) const;
  bool missing(const KeySpec& spec) const;
  bool worth_offering(const KeySpec& spec) const;
  bool worth_offering_list(const KeySpec& spec) const;
  void declare_rdma_limits();
  std::uint32_t agreed(Key key) const;
  bool rdma_by_itself() const;
  void settle_rdma();
  std::uint32_t wish(const KeySpec& spec) const;
  std::uint32_t combine(const KeySpec& spec, std::uint32_t theirs) const;
  void offer(const KeySpec& spec);
  void conclude(const KeySpec& spec, std::uint32_t value);

  Role role_;
  Preferences preferences_;
  bool rdma_connection_;
  bool leading_ = true;
  bool first_text_ = true;              // of the login
  bool first_operational_text_ = true;  // of the operational stage
  bool owes_answers_ = false;
  std::size_t pairs_ = 0;
  std::array<KeyState, kKeyCount> states_{};
  std::set<std::string, std::less<>> unknown_;
  std::optional<std::string> methods_;  // offered by the initiator, not yet answered
  ChapKeys exchange_;
  TextWriter out_;
  Parameters parameters_;
};

}  // namespace openiser::iscsi
