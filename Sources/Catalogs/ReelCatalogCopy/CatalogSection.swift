/// The parts of a catalog, whatever database it is in, in the order in which a copy is filled: rows
/// come after those that they refer to.
///
/// Processes at work are not part of it: in a copy, no process holds anything.
package enum CatalogSection: String, CaseIterable, Sendable {
  case destinations, intents, arrivals, posters, posts, removals, departures, changes, feed, events,
    checkpoints,
    readings, files, failures
  // The queue, which only a catalog on a server has.
  case lanes, policies, throttles, items, work, happenings, workers

  /// A column's type.
  package enum Kind: Sendable { case int, text, bytes }

  /// The columns in the order of a row's values. Rows are sorted by the first column, or by as many of the first
  /// columns as it takes to tell rows apart.
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
      // No process holds a change in a copy: the next process that asks resumes it.
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

  /// Returns the index of a column's value in a row.
  package func place(of column: String) -> Int {
    guard let place = columns.firstIndex(where: { $0.key == column }) else {
      preconditionFailure("\(rawValue) has no column \(column)")
    }
    return place
  }

  /// The sections that every catalog has.
  package static let common = Self.allCases.filter { !queue.contains($0) }
  /// The sections that only a catalog on a server has.
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

  /// Nil for any other type.
  package var int: Int64? { if case .int(let value) = self { value } else { nil } }
  /// Nil for any other type.
  package var text: String? { if case .text(let value) = self { value } else { nil } }
  /// Nil for any other type.
  package var bytes: [UInt8]? { if case .bytes(let value) = self { value } else { nil } }
}

/// The values of a section's columns.
package typealias CatalogRow = [CatalogValue]

/// A catalog's rows, all of one moment. Every call blocks.
package protocol CatalogRows {
  /// The sections that it has.
  var sections: [CatalogSection] { get }

  /// Passes `body` all rows of `section` in their order, some hundreds at a time.
  /// - Throws: ``CatalogError``, and what `body` throws.
  func each(of section: CatalogSection, _ body: ([CatalogRow]) throws -> Void) throws
}

/// A catalog to copy from. Nothing in it is changed.
package protocol CatalogCopySource: Sendable {
  /// Its name for people.
  var name: String { get }

  /// Runs `body` while no process publishes in this catalog.
  /// - Throws: ``CatalogError``: `unusable` if there is no catalog, or one that an older Reel made,
  ///   `newerSchema`, `corrupt` if it contradicts itself, `locked` if another process is at work with it,
  ///   or was by the time `body` had ended.
  func read<Value: Sendable>(_ body: @Sendable (any CatalogRows) throws -> Value) throws -> Value
}

/// A catalog that a copy is written to.
package protocol CatalogFilling: CatalogRows {
  /// Whether the row has a meaning there. In a library folder, what is remembered of another machine's files has none.
  func takes(_ row: CatalogRow, of section: CatalogSection) -> Bool

  /// Adds rows of a section, one section after the other.
  func add(_ rows: [CatalogRow], to section: CatalogSection) throws

  /// Completes the catalog once all rows are there: creates what is derived from
  /// them, and checks them for contradictions.
  /// - Throws: ``CatalogError`` (`corrupt`).
  func settle() throws
}

/// A place where a copy is created.
package protocol CatalogCopyTarget: Sendable {
  /// Its name for people.
  var name: String { get }

  /// Runs `body` with an empty catalog, which others see only when this has returned. If the process dies or an error
  /// is thrown before that, there is no catalog, and the copy can be started again.
  /// - Throws: ``CatalogError``: `unusable` if there is something already, `locked` if another process is at work with
  ///   it, `newerSchema`, `diskFull`.
  func fill<Value>(_ body: (any CatalogFilling) throws -> Value) throws -> Value
}
