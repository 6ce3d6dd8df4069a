import FoundationEssentials

// What every catalog stores in the same form, whatever the database.

extension Date {
  /// Milliseconds since 1970, as catalogs store times. A `Double` represents few of them exactly, so a time just
  /// below a whole millisecond is rounded up to it.
  package var milliseconds: Int64 { Int64(clamping: (timeIntervalSince1970 * 1000 + 1e-3).rounded(.down)) }

  package init(milliseconds: Int64) {
    self.init(timeIntervalSince1970: Double(milliseconds) / 1000)
  }

  /// This time as a catalog returns it.
  package var wholeMilliseconds: Date { Date(milliseconds: milliseconds) }
}

extension FileIdentity {
  /// Whether any later change is sure to alter the identity: file systems store times in steps of up to 2 s.
  package func isSettled(at moment: Date) -> Bool {
    let age = moment.timeIntervalSince1970 - Double(changedAt) / 1_000_000_000
    return age >= 2
  }
}

extension CatalogNote {
  /// Whether a catalog keeps the note. It does not keep the digest of a file that could still change without its
  /// identity changing, or a failure that might not occur the next time.
  /// - Parameter moment: The time by the clock of the machine that holds the file.
  package func isKept(at moment: Date) -> Bool {
    switch self {
    case .digest(_, let identity): identity.isSettled(at: moment)
    case .outcome(.failure(let error), _, _): error.code.isAboutTheBytes
    case .outcome(.media, _, _), .failure, .announced: true
    }
  }
}

extension Post {
  /// The post in JSON as a catalog stores it, without what the columns of its row state.
  package func document() throws -> String {
    var bare = self
    bare.pageNumber = nil
    bare.createdAt = nil
    let encoder = JSONEncoder()
    encoder.outputFormatting = .withoutEscapingSlashes
    return String(decoding: try encoder.encode(bare), as: UTF8.self)
  }

  /// Reads a post from the values of its row.
  /// - Parameter createdAt: Milliseconds since 1970.
  package init(document: String, pageNumber: Int, createdAt: Int64) throws {
    self = try JSONDecoder().decode(Post.self, from: Data(document.utf8))
    self.pageNumber = pageNumber
    self.createdAt = Date(milliseconds: createdAt)
  }
}

extension ExaminedObject.State {
  /// The state of a poster's row, with the numbers that every catalog uses.
  package enum Poster: Int, Sendable {
    case named = 0, shown, givenUp
  }

  /// Derives the state of an object from its rows.
  /// - Parameters:
  ///   - isPublished: Whether the intent that the object or poster belongs to is published.
  ///   - isChanging: Whether an open change of its post may store or remove the object.
  ///   - isRemovedStored: For a removed post, whether its objects may be in the store; nil for any other.
  ///   - poster: The state of the poster; nil for the video itself.
  ///   - isOwnerAlive: Whether the process that holds it is alive; nil if none holds it.
  package init(
    isPublished: Bool, isGivenUp: Bool, isChanging: Bool, isRemovedStored: Bool?, poster: Poster?,
    isOwnerAlive: @autoclosure () throws -> Bool?
  ) rethrows {
    if isChanging {
      self = .changing
      return
    }
    if let isRemovedStored, poster != .givenUp {
      self = isRemovedStored ? .kept : .removed
      return
    }
    switch (poster, isPublished, isGivenUp) {
    case (.shown, _, _), (nil, true, _): self = .published
    // The poster shares the fate of its intent.
    case (.named, false, false): self = .held
    case (.some, _, _): self = try isOwnerAlive() == true ? .held : .unneeded
    case (nil, false, true): self = .givenUp
    case (nil, false, false): self = try isOwnerAlive().map { $0 ? .held : .abandoned } ?? .waiting
    }
  }
}

extension CatalogStatus {
  /// The maximum number of failures that are listed.
  package static let mostFailures = 1000
}

extension ProbeOutcome {
  /// The outcome in JSON, as a catalog stores it.
  package func document() throws -> String {
    String(decoding: try JSONEncoder(times: .number).encode(StoredProbeResult(self)), as: UTF8.self)
  }

  /// Reads a stored outcome. Nil if another build wrote it and this one cannot read it; the file is then probed
  /// anew.
  package init?(document: String) {
    guard let kept = try? JSONDecoder().decode(StoredProbeResult.self, from: Data(document.utf8)) else {
      return nil
    }
    self = kept.outcome
  }
}

/// A reading as it is stored. One that an earlier build of the same version stored with other facts cannot be
/// decoded, so the file is probed anew.
struct StoredProbeResult: Codable {
  /// Counts the changes in what ``MediaInfo`` and ``ProbeError`` say about the same bytes. Readings without this
  /// number date from when warnings were sentences.
  private static let facts = 3

  let outcome: ProbeOutcome

  private enum CodingKeys: String, CodingKey { case facts, outcome }

  init(_ outcome: ProbeOutcome) {
    self.outcome = outcome
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    guard try container.decode(Int.self, forKey: .facts) == Self.facts else {
      throw DecodingError.dataCorruptedError(
        forKey: .facts, in: container, debugDescription: "kept by another build")
    }
    outcome = try container.decode(ProbeOutcome.self, forKey: .outcome)
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(Self.facts, forKey: .facts)
    try container.encode(outcome, forKey: .outcome)
  }
}

/// - Parameter catalog: The path of the catalog, or its server.
extension CatalogError {
  package static func leaseLost(_ intent: Intent, at catalog: String) -> CatalogError {
    CatalogError(
      .leaseLost,
      "attempt \(intent.attempt) no longer holds post \(intent.id) in the catalog \(catalog); "
        + "another run may have taken it over: try again")
  }

  package static func nameTaken(_ request: ClaimRequest, at catalog: String) -> CatalogError {
    CatalogError(
      .unusable,
      "the catalog \(catalog) already has a post \(request.newID) or an object \(request.newKey) in "
        + "\(request.publication.destination): try again; new names will be drawn")
  }

  package static func closed(at catalog: String) -> CatalogError {
    CatalogError(.unusable, "the catalog \(catalog) has been closed: open it again")
  }

  package static func readOnly(at catalog: String) -> CatalogError {
    CatalogError(
      .unusable, "the catalog \(catalog) was opened for reading only: open it for writing to publish")
  }

  package static func cancelled(at catalog: String) -> CatalogError {
    CatalogError(.cancelled, "the task was cancelled before the catalog \(catalog) answered: try again")
  }

  // Errors about a store that is relocated.

  package static func neverStored(in old: Destination, at catalog: String) -> CatalogError {
    CatalogError(.unusable, "nothing was ever stored in \(old) from the catalog \(catalog)")
  }

  package static func storing(in old: Destination, or new: Destination) -> CatalogError {
    CatalogError(.locked, "a run is storing in \(old) or \(new): wait until it has ended, then try again")
  }

  package static func moving(between old: Destination, and new: Destination) -> CatalogError {
    CatalogError(
      .unusable,
      "a move of posts between \(old) and \(new) was cut off: end it with \(command: "doctor --fix"), then try again"
    )
  }

  package static func publishedMeanwhile(in old: Destination) -> CatalogError {
    CatalogError(.unusable, "something was published in \(old) meanwhile: try again")
  }

  package static func postsInBoth(_ count: Int, _ old: Destination, _ new: Destination) -> CatalogError {
    CatalogError(
      .unusable,
      "videos that are posts both in \(old) and in \(new): \(count); nothing was changed: with "
        + "\(setting: .duplicates) allow they keep both posts")
  }

  package static func sameNames(
    in old: Destination, and new: Destination, at catalog: String
  ) -> CatalogError {
    CatalogError(
      .unusable,
      "\(old) and \(new) hold objects of the same names in the catalog \(catalog), which were stored twice: "
        + "nothing was changed")
  }
}
