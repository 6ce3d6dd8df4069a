import ReelCore
import ReelCrypto

/// Copies a whole catalog to another place, and compares the two.
package struct CatalogCopy: Sendable {
  /// What was copied of a section.
  package struct Part: Hashable, Sendable {
    package let section: CatalogSection
    package let rows: Int
    /// The SHA-256 of all its rows in order, which is the same in both catalogs.
    package let digest: String
    /// The number of rows that have no meaning in the target.
    package let leftBehind: Int
  }

  /// What was copied.
  package struct Result: Hashable, Sendable {
    package let parts: [Part]
    /// The stores that posts or intents are in, by name.
    package let destinations: [(name: Destination, posts: Int)]

    package func rows(_ section: CatalogSection) -> Int {
      parts.first { $0.section == section }?.rows ?? 0
    }

    package static func == (left: Self, right: Self) -> Bool { left.parts == right.parts }
    package func hash(into hasher: inout Hasher) { hasher.combine(parts) }
  }

  private let source: any CatalogCopySource
  private let target: any CatalogCopyTarget

  package init(from source: any CatalogCopySource, to target: any CatalogCopyTarget) {
    (self.source, self.target) = (source, target)
  }

  /// Copies and compares. Blocks.
  /// - Throws: ``CatalogError``; then there is no copy.
  package func run() throws(CatalogError) -> Result {
    try rethrowing(
      as: {
        $0 as? CatalogError
          ?? CatalogError(
            .unusable, "the catalog \(source.name) could not be copied to \(target.name): \($0)")
      }
    ) {
      try source.read { rows in
        try target.fill { filling in
          let copied = try copy(rows, into: filling)
          try filling.settle()
          // Compare both again, as they are now.
          for part in copied.parts {
            let (here, there) = (
              try Summary(of: part.section, in: rows, as: filling),
              try Summary(of: part.section, in: filling, as: filling)
            )
            guard here.part == part, there.rows == part.rows, there.digest == part.digest else {
              throw differs(part.section, here, there)
            }
          }
          return copied
        }
      }
    }
  }

  private func copy(_ rows: any CatalogRows, into filling: any CatalogFilling) throws -> Result {
    var parts: [Part] = []
    var destinations: [(name: Destination, posts: Int)] = []
    for section in rows.sections {
      guard filling.sections.contains(section) else {
        let left = try leaving(section, of: rows)
        if left > 0 {
          parts.append(Part(section: section, rows: 0, digest: Summary(section).digest, leftBehind: left))
        }
        continue
      }
      let summary = try Summary(of: section, in: rows, as: filling) { rows in
        try filling.add(rows, to: section)
        if section == .destinations {
          destinations += rows.compactMap { row in
            guard let name = row[1].text, let posts = row[2].int else { return nil }
            return (Destination(name), Int(posts))
          }
        }
      }
      parts.append(summary.part)
    }
    return Result(parts: parts.filter { $0.rows > 0 || $0.leftBehind > 0 }, destinations: destinations)
  }

  /// Counts the rows that the target has no place for. Throws if work that is still to be done is among them.
  private func leaving(_ section: CatalogSection, of rows: any CatalogRows) throws -> Int {
    var (count, open) = (0, 0)
    let state = section == .work ? section.place(of: "state") : nil
    try rows.each(of: section) { rows in
      count += rows.count
      if let state { open += rows.filter { ($0[state].int ?? 0) <= 2 }.count }
    }
    guard open == 0 else {
      throw CatalogError(
        .unusable,
        "\(open) items of the queue in \(source.name) are not done, and a library in a folder has no queue: let workers "
          + "finish them first")
    }
    return count
  }

  private func differs(_ section: CatalogSection, _ here: Summary, _ there: Summary) -> CatalogError {
    CatalogError(
      .corrupt,
      "the \(section.rawValue) of \(target.name) differ from those of \(source.name) (\(there.rows) rows, \(there.digest); "
        + "\(here.rows) rows, \(here.digest)): the copy was abandoned")
  }
}

/// The number of rows, and a digest of them.
private struct Summary {
  let section: CatalogSection
  private(set) var rows = 0
  private(set) var leftBehind = 0
  private var hash = SHA256()

  init(_ section: CatalogSection) { self.section = section }

  /// - Parameter body: gets the rows that `filling` takes.
  init(
    of section: CatalogSection, in rows: any CatalogRows, as filling: any CatalogFilling,
    _ body: ([CatalogRow]) throws -> Void = { _ in }
  ) throws {
    self.init(section)
    try rows.each(of: section) { batch in
      let taken = batch.filter { filling.takes($0, of: section) }
      leftBehind += batch.count - taken.count
      add(taken)
      try body(taken)
    }
  }

  var digest: String { ContentDigest(sha256: hash.finalize())?.hex ?? "" }

  var part: CatalogCopy.Part {
    CatalogCopy.Part(section: section, rows: rows, digest: digest, leftBehind: leftBehind)
  }

  private mutating func add(_ batch: [CatalogRow]) {
    rows += batch.count
    var bytes: [UInt8] = []
    for row in batch {
      for value in row { Self.append(value, to: &bytes) }
    }
    hash.update(data: bytes)
  }

  /// Appends the type, the length if that varies, and the value, so that no two different rows look alike.
  private static func append(_ value: CatalogValue, to bytes: inout [UInt8]) {
    func append(_ number: Int64) { withUnsafeBytes(of: number.bigEndian) { bytes += $0 } }
    switch value {
    case .null: bytes.append(0)
    case .int(let number):
      bytes.append(1)
      append(number)
    case .text(let text):
      bytes.append(2)
      append(Int64(text.utf8.count))
      bytes += text.utf8
    case .bytes(let value):
      bytes.append(3)
      append(Int64(value.count))
      bytes += value
    }
  }
}
