/// What a catalog is made of, wherever it is kept, in the order in which a copy is filled: what refers to something comes
/// behind it.
///
/// Processes at work are no part of it: nobody holds anything in a copy.
package enum CatalogSection: String, CaseIterable, Sendable {
  case destinations, intents, arrivals, posters, posts, removals, departures, changes, feed, events,
    checkpoints,
    readings, files, failures
  // The queue, which only a catalog on a server has.
  case lanes, policies, throttles, items, work, happenings, workers

  /// A column's type.
  package enum Kind: Sendable { case int, text, bytes }

  /// The columns in the order of a row's values. Rows come in the order of the first column, or of the first few, as far
  /// as it takes to tell rows apart.
  package var columns: KeyValuePairs<String, Kind> {
    switch self {
    case .destinations: ["id": .int, "name": .text, "posts": .int, "bytes": .int]
    case .intents:
      // `state`: 0 unfinished, 1 published, 2 given up, which has no attempt.
      [
        "number": .int, "postID": .bytes, "destination": .int, "objectKey": .text, "digest": .bytes,
        "author": .bytes, "ordinal": .int, "size": .int, "state": .int, "attempt": .int, "createdAt": .int,
        "changedAt": .int,
      ]
    case .arrivals: ["digest": .bytes, "intent": .int]
    case .posters:
      [
        "number": .int, "intent": .int, "destination": .int, "objectKey": .text, "digest": .bytes,
        "size": .int, "state": .int, "changedAt": .int,
      ]
    case .feed: ["lastPageNumber": .int, "revision": .int]
    case .posts:
      ["pageNumber": .int, "intent": .int, "attempt": .int, "createdAt": .int, "document": .text]
    case .removals:
      [
        "intent": .int, "pageNumber": .int, "attempt": .int, "createdAt": .int, "document": .text,
        "isStored": .int, "reason": .text, "removedBy": .text, "removedAt": .int, "keptUntil": .int,
      ]
    case .departures: ["intent": .int, "destination": .int]
    case .changes:
      // Nobody is at them: whoever asks next carries them on.
      ["number": .int, "intent": .int, "kind": .int, "isDone": .int, "destination": .int, "keys": .text]
    case .events: ["pageNumber": .int]
    case .checkpoints:
      ["destination": .int, "objectKey": .text, "digest": .bytes, "secret": .text, "changedAt": .int]
    case .readings: ["digest": .bytes, "reel": .text, "ffmpeg": .text, "outcome": .text]
    case .files:
      [
        "host": .text, "device": .int, "inode": .int, "size": .int, "modifiedAt": .int, "changedAt": .int,
        "digest": .bytes,
      ]
    case .failures:
      ["path": .bytes, "host": .text, "code": .text, "message": .text, "refused": .int, "at": .int]
    case .lanes: ["id": .int, "label": .text, "destination": .text, "policy": .text]
    case .policies: ["name": .text, "document": .text]
    case .throttles: ["label": .text, "pausedAt": .int, "most": .int]
    case .items:
      [
        "id": .int, "identity": .bytes, "address": .bytes, "version": .text, "size": .int,
        "enqueuedAt": .int, "author": .text,
      ]
    case .work:
      [
        "item": .int, "priority": .int, "state": .int, "worker": .int, "attempts": .int, "deaths": .int,
        "failures": .int, "changedAt": .int, "dueAt": .int, "code": .text, "message": .text,
        "lane": .int, "takenBy": .text, "takenAt": .int, "policy": .text, "isCancelled": .int,
      ]
    case .happenings:
      [
        "number": .int, "item": .int, "attempt": .int, "takenBy": .text, "takenAt": .int, "at": .int,
        "state": .int, "code": .text, "message": .text, "policy": .text, "dueAt": .int,
      ]
    case .workers:
      [
        "id": .int, "host": .text, "pid": .int, "destination": .text, "startedAt": .int, "finished": .int,
        "failed": .int,
      ]
    }
  }

  /// The place of a column among the values of a row.
  package func place(of column: String) -> Int {
    guard let place = columns.firstIndex(where: { $0.key == column }) else {
      preconditionFailure("\(rawValue) has no column \(column)")
    }
    return place
  }

  /// What every catalog has.
  package static let common = Self.allCases.filter { !queue.contains($0) }
  /// What only a catalog on a server has.
  package static let queue: [Self] = [
    .lanes, .policies, .throttles, .items, .work, .happenings, .workers,
  ]
}

/// A value of a row.
package enum CatalogValue: Hashable, Sendable {
  case null
  case int(Int64)
  case text(String)
  case bytes([UInt8])

  /// Nil for anything else.
  package var int: Int64? { if case .int(let value) = self { value } else { nil } }
  /// Nil for anything else.
  package var text: String? { if case .text(let value) = self { value } else { nil } }
  /// Nil for anything else.
  package var bytes: [UInt8]? { if case .bytes(let value) = self { value } else { nil } }
}

/// The values of a section's columns.
package typealias CatalogRow = [CatalogValue]

/// A catalog's rows, all of one moment. Everything blocks.
package protocol CatalogRows {
  /// Which sections it has.
  var sections: [CatalogSection] { get }

  /// Gives `body` all rows of `section` in their order, some hundreds at a time.
  /// - Throws: ``CatalogError``, and what `body` throws.
  func each(of section: CatalogSection, _ body: ([CatalogRow]) throws -> Void) throws
}

/// A catalog that is copied: it is read, and nothing in it is changed.
package protocol CatalogCopySource: Sendable {
  /// As it is named to people.
  var name: String { get }

  /// Runs `body` while nobody publishes in this catalog.
  /// - Throws: ``CatalogError``: `unusable` where there is no catalog, or one that an older Reel made, `newerSchema`,
  ///   `corrupt` where it contradicts itself, `locked` where somebody is at work with it, or was by the time that `body`
  ///   had ended.
  func read<Value: Sendable>(_ body: @Sendable (any CatalogRows) throws -> Value) throws -> Value
}

/// A catalog that a copy fills.
package protocol CatalogFilling: CatalogRows {
  /// Whether the row has a meaning there. What is remembered of another machine's files has none in a library folder.
  func takes(_ row: CatalogRow, of section: CatalogSection) -> Bool

  /// Adds rows; sections come one after the other.
  func add(_ rows: [CatalogRow], to section: CatalogSection) throws

  /// All rows are there: what is derived of them is made, and the whole is looked at for contradictions.
  /// - Throws: ``CatalogError`` (`corrupt`).
  func settle() throws
}

/// Where a copy is made.
package protocol CatalogCopyTarget: Sendable {
  /// As it is named to people.
  var name: String { get }

  /// Runs `body` with an empty catalog, which is one for everybody else when this returns, and not before: whoever dies,
  /// or throws, on the way leaves none, and it can be begun again.
  /// - Throws: ``CatalogError``: `unusable` where there is something, `locked` where somebody is at work with it,
  ///   `newerSchema`, `diskFull`.
  func fill<Value>(_ body: (any CatalogFilling) throws -> Value) throws -> Value
}
