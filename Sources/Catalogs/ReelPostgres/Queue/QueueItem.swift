import FoundationEssentials
import ReelCore

/// An item to be enqueued.
package struct NewItem: Hashable, Sendable {
  /// A URL, or an absolute path.
  package let address: SourcePath
  /// A text that changes when its bytes do: the store's name for its state, or size and time of modification.
  package let version: String
  /// Its size in bytes; nil if unknown.
  package let size: Int64?

  package init(address: SourcePath, version: String, size: Int64?) {
    (self.address, self.version, self.size) = (address, version, size)
  }

  /// Returns the bytes whose SHA-256, computed by the server, identifies the item: the address, a zero and the version.
  /// If the item is meant for a certain store or author, they follow, because it is another post for another.
  func identified(_ wishes: ItemWishes) -> [UInt8] {
    var bytes = address.bytes + [0] + Array(version.utf8)
    if wishes.destination != nil || wishes.author != nil {
      bytes += [0] + Array((wishes.destination ?? "").utf8) + [0] + Array((wishes.author ?? "").utf8)
    }
    return bytes
  }
}

/// What is requested for an item, besides being published.
package struct ItemWishes: Hashable, Sendable {
  /// The label by which it can be found, paused, limited and shared out; empty for none.
  package var label = ""
  /// Where it is to be stored, by which policy, and for which author; nil for what the worker that takes it has.
  package var destination: String?
  /// As ``QueuePolicy/name``.
  package var policy: String?
  package var author: String?

  package init(label: String = "", destination: String? = nil, policy: String? = nil, author: String? = nil) {
    (self.label, self.destination, self.policy, self.author) = (label, destination, policy, author)
  }

  var areLanes: Bool { !label.isEmpty || destination != nil || policy != nil }

  /// The values that identify its lane.
  var lane: [PostgresValue] { [.text(label), .text(destination), .text(policy)] }
}

/// A policy that every worker can get from the queue.
package struct QueuePolicy: Hashable, Sendable {
  /// The name of a preset, or of a file with a part of its digest.
  package let name: String
  /// All that is needed to read it; nil for a preset.
  package let document: String?

  /// The name of the policy that decides if none is named.
  static let standard = "default"

  package init(name: String, document: String?) { (self.name, self.document) = (name, document) }
}

/// The rules for labels.
package enum QueueLabel {
  /// Stands for every label.
  static let all = "*"
  package static let words =
    "up to 100 letters, digits and . _ : / @ -, beginning with a letter or a digit"

  /// Whether it is a valid label. The empty label stands for none.
  package static func isValid(_ label: String) -> Bool {
    guard let first = label.utf8.first else { return true }
    let others = ". _ : / @ -".utf8.filter { $0 != UInt8(ascii: " ") }
    func isPlain(_ byte: UInt8) -> Bool {
      byte.isASCIIDigit || (byte | 0x20 >= UInt8(ascii: "a") && byte | 0x20 <= UInt8(ascii: "z"))
    }
    return label.utf8.count <= 100 && isPlain(first)
      && label.utf8.allSatisfy { isPlain($0) || others.contains($0) }
  }
}

/// An item that this worker has taken.
package struct TakenItem: Hashable, Sendable {
  package let id: Int64
  package let address: SourcePath
  package let version: String
  /// Its size in bytes; nil if unknown.
  package let size: Int64?
  /// How many workers died with it as the only item in their hands.
  package let deaths: Int
  /// The code of its last failure, or of the death of a worker that had it in hand.
  let code: String?
  /// How often it has failed.
  package let failures: Int
  /// How often it has been taken, including this time.
  package let attempts: Int64
  let priority: Int64
  let lane: Int64
  package let label: String
  /// As in ``ItemWishes``.
  package let policy: String?
  package let author: String?

  init(_ row: PostgresRow) throws {
    id = try row["item"]
    address = SourcePath(bytes: try row["address"] as [UInt8])
    (version, size) = (try row["version"], try row["size"])
    (deaths, failures) = (try row["deaths"], try row["failures"])
    (attempts, priority, lane) = (try row["attempts"], try row["priority"], try row["lane"])
    (label, policy, author) = (try row["label"], try row["policy"], try row["author"])
    code = try row["code"]
  }

  init(
    id: Int64, address: SourcePath, deaths: Int = 0, failures: Int = 0, attempts: Int64 = 1,
    priority: Int64 = 0, code: String? = nil
  ) {
    (self.id, self.address, version, size) = (id, address, "", nil)
    (self.deaths, self.failures, self.attempts) = (deaths, failures, attempts)
    (self.priority, self.code) = (priority, code)
    (lane, label, policy, author) = (0, "", nil, nil)
  }

  /// Whether a worker may have died of it, so that it is taken alone.
  var isInQuestion: Bool { deaths != 0 || code == DeathVerdict.code }
}

/// The state of an item.
package enum ItemState: Int64, Sendable, CaseIterable {
  case waiting = 0, taken, later, done, refused, failed, setAside, cancelled

  /// Whether nothing more happens to it by itself.
  package var isEnd: Bool { self.rawValue > ItemState.later.rawValue }

  /// Its name in `reel status --json`.
  package var name: String {
    switch self {
    case .waiting: "waiting"
    case .taken: "taken"
    case .later: "later"
    case .done: "done"
    case .refused: "refused"
    case .failed: "failed"
    case .setAside: "setAside"
    case .cancelled: "cancelled"
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
    /// It is tried again after a while, however often: the fault may be this machine's.
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
