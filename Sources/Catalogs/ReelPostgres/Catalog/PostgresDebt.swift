import ReelCore
import Synchronization

/// What this process has in the catalog and nobody in it works on any more, because the server could not be told so, or was
/// not heard: left alone, it would be held for as long as the process lives. To pay twice does no harm.
enum PostgresDebt: Sendable {
  case release(Intent, ReleaseReason)
  /// The event of a post that its attempt may have made unheard.
  case event(Intent)
  /// All that was granted, and all events that were handed over, aside from what somebody has been told of.
  case claims(PostgresPublishing.ClaimCall)
  case changes([Int64])
  /// All that was begun, and taken from the dead.
  case begun(PostgresChanges.Call)

  /// - Parameter me: the owner who owes it.
  func pay(in tx: PostgresTransaction, by me: Int64) throws {
    switch self {
    case .release(let intent, let reason):
      // The fence: what has been claimed again meanwhile stays as it is.
      try PostgresPublishing(tx: tx, me: me, server: "").release([(intent, reason)])
    case .event(let intent): try PostgresPublishing(tx: tx, me: me, server: "").leaveUntold(intent)
    case .claims(let call):
      try tx.run(
        """
        UPDATE reel.attempt SET owner = NULL, changed_at = \(PostgresSchema.now)
        WHERE owner = $1 AND claim = $2
          AND NOT EXISTS (SELECT FROM reel.intent i WHERE i.number = intent AND i.post_id = ANY($3))
        """, [.int(me), .int(call.token), .byteStrings(call.told.map(\.bytes))])
      if call.handed.isEmpty { return }
      try PostgresPublishing(tx: tx, me: me, server: "").leaveUntold(
        "SELECT unnest($2::bigint[])", [.ints(call.handed.map(Int64.init))])
    case .changes(let numbers):
      try tx.run(
        "UPDATE reel.change SET owner = NULL WHERE number = ANY($1) AND owner = $2",
        [.ints(numbers), .int(me)])
    case .begun(let call):
      try tx.run(
        "UPDATE reel.change SET owner = NULL WHERE owner = $1 AND claim IN ($2, $3)",
        [.int(me), .int(call.begun), .int(call.adopted)])
    }
  }
}

final class PostgresDebts: Sendable {
  private let state = Mutex<(debts: [PostgresDebt], isAtIt: Bool)>(([], false))

  /// Whether all has been paid, and nobody is about to add any.
  var isEmpty: Bool { state.withLock { $0.debts.isEmpty && !$0.isAtIt } }

  func add(_ debt: PostgresDebt) { state.withLock { $0.debts.append(debt) } }

  /// To pay them, until ``endPaying()``.
  func takeAll() -> [PostgresDebt] {
    state.withLock { state in
      defer { state = ([], !state.debts.isEmpty) }
      return state.debts
    }
  }

  /// Somebody is told of an error before what is owed because of it is here, until ``endPaying()``.
  func expectOne() { state.withLock { $0.isAtIt = true } }

  func endPaying() { state.withLock { $0.isAtIt = false } }
}
