import ReelCore
import Synchronization

/// What this process holds in the catalog although nothing in it works on that any more, because the
/// server could not be told, or its answer was lost. Left alone, it would be held as long as the
/// process lives. Paying twice does no harm.
enum PostgresDebt: Sendable {
  case release(Intent, ReleaseReason)
  /// The event of a post that the attempt may have published although the answer was lost.
  case event(Intent)
  /// All intents that a call was granted, and all events that it took over, except for those that a caller was told of.
  case claims(PostgresPublishing.ClaimCall)
  case changes([Int64])
  /// All changes that a call has begun, or taken over from dead processes.
  case begun(PostgresChanges.Call)

  /// Writes what is owed.
  /// - Parameter me: the owner who owes it.
  func pay(in tx: PostgresTransaction, by me: Int64) throws {
    switch self {
    case .release(let intent, let reason):
      // The attempt's number is compared, so what has been claimed again meanwhile stays as it is.
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

  /// Whether everything is paid, and no debt is about to be added.
  var isEmpty: Bool { state.withLock { $0.debts.isEmpty && !$0.isAtIt } }

  func add(_ debt: PostgresDebt) { state.withLock { $0.debts.append(debt) } }

  /// Takes all debts to pay them. Until ``endPaying()``, ``isEmpty`` is false if there were any.
  func takeAll() -> [PostgresDebt] {
    state.withLock { state in
      defer { state = ([], !state.debts.isEmpty) }
      return state.debts
    }
  }

  /// Makes ``isEmpty`` false until ``endPaying()``: a caller is told of an error before the debt for it is added.
  func expectOne() { state.withLock { $0.isAtIt = true } }

  func endPaying() { state.withLock { $0.isAtIt = false } }
}
