import FoundationEssentials
import ReelCore

/// Something that is to be enqueued.
package struct NewItem: Hashable, Sendable {
  /// A URL, or an absolute path.
  package let address: SourcePath
  /// What changes when its bytes do: what its store calls its state, or size and time of modification.
  package let version: String
  /// Bytes; nil when nobody has said.
  package let size: Int64?

  package init(address: SourcePath, version: String, size: Int64?) {
    (self.address, self.version, self.size) = (address, version, size)
  }

  /// What tells it from every other: SHA-256 of the address, a zero and the version, computed by the server.
  var identified: [UInt8] { address.bytes + [0] + Array(version.utf8) }
}

/// An item that this worker has taken.
package struct TakenItem: Hashable, Sendable {
  package let id: Int64
  package let address: SourcePath
  package let version: String
  /// Bytes; nil when nobody has said.
  package let size: Int64?
  /// How many workers died with it alone in their hands.
  package let deaths: Int
  /// Its last failure, or that a worker died with it in hand.
  let code: String?
  /// How often it has failed.
  package let failures: Int
  /// How often it was taken, with this time.
  package let attempts: Int64
  let priority: Int64

  init(_ row: PostgresRow) throws {
    id = try row["item"]
    address = SourcePath(bytes: try row["address"] as [UInt8])
    (version, size) = (try row["version"], try row["size"])
    (deaths, failures) = (try row["deaths"], try row["failures"])
    (attempts, priority) = (try row["attempts"], try row["priority"])
    code = try row["code"]
  }

  init(
    id: Int64, address: SourcePath, version: String = "", size: Int64? = nil, deaths: Int = 0,
    failures: Int = 0,
    attempts: Int64 = 1, priority: Int64 = 0, code: String? = nil
  ) {
    (self.id, self.address, self.version, self.size) = (id, address, version, size)
    (self.deaths, self.failures, self.attempts) = (deaths, failures, attempts)
    (self.priority, self.code) = (priority, code)
  }

  /// Whether it may be what a worker died of: it is taken alone.
  var isInQuestion: Bool { deaths != 0 || code == DeathVerdict.code }
}

/// How an item stands.
package enum ItemState: Int64, Sendable, CaseIterable {
  case waiting = 0, taken, later, done, refused, failed, setAside

  /// As `reel status --json` names it.
  package var name: String {
    switch self {
    case .waiting: "waiting"
    case .taken: "taken"
    case .later: "later"
    case .done: "done"
    case .refused: "refused"
    case .failed: "failed"
    case .setAside: "setAside"
    }
  }
}

/// What became of a taken item.
package struct ItemOutcome: Sendable {
  package enum Ending: Sendable {
    case done
    case refused(code: String, message: String)
    /// It is not tried again.
    case failed(code: String, message: String)
    /// It is tried again after a while, up to a number of times.
    case failedForNow(code: String, message: String)
    /// It is tried again after a while, however often: what failed may be this machine.
    case putOff(code: String, message: String)
    /// Nothing was done about it: others may take it at once.
    case givenBack
  }
  package let item: Int64
  package let ending: Ending

  package init(_ item: Int64, _ ending: Ending) {
    (self.item, self.ending) = (item, ending)
  }
}
