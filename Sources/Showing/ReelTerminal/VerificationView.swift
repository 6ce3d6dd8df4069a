import ReelCore
import ReelLibrary
import ReelStorage

/// The output of `reel verify`: each problem as it is found, and the count at the end.
///
/// Nothing is stored, so a library of any size can be reported while it is examined. The JSON is one document, written
/// piece by piece.
package struct VerificationView: Sendable {
  private let library: String
  private let wasRead: Bool
  private let json: Bool
  private let traits: TerminalTraits
  private let hint: CommandHint
  private var isFirst = true
  package private(set) var count = VerificationCount()

  package init(
    library: String, wasRead: Bool, json: Bool, traits: TerminalTraits, hint: CommandHint = CommandHint()
  ) {
    self.hint = hint
    self.library = library
    self.wasRead = wasRead
    self.json = json
    self.traits = traits
  }

  private static let beginning = "{\"problems\":["
  /// What precedes the next problem.
  private var separator: String { isFirst ? Self.beginning + "\n" : ",\n" }
  /// Whether any part of the document has been written.
  package var isBegun: Bool { json && !isFirst }

  /// Returns what to write for this event; empty for a sound object.
  package mutating func text(_ event: VerificationEvent) throws -> String {
    count.add(event)
    guard let problem = Problem(event, hint) else { return "" }
    guard json else {
      return traits.wrapped("\(problem.kind):", .warning, traits.sanitized(problem.message)).text(traits)
    }
    defer { isFirst = false }
    return separator + (try JSONOutput.text(problem)).dropLast()
  }

  /// Returns what to write after the last event, or the whole document if there was no problem.
  /// - Parameters:
  ///   - isWhole: whether everything was examined; false for an interrupted run.
  ///   - changed: whether the catalog was changed afterwards; nil if that was not requested.
  package func end(isWhole: Bool, changed: Bool? = nil) throws -> String {
    guard json else { return traits.wrapped(traits.sanitized(summary(isWhole))).text(traits) }
    let summary = Summary(count: count, library: library, read: wasRead, isWhole: isWhole, changed: changed)
    let interruption = isWhole ? "" : separator + (try JSONOutput.text(AnswerProblem.interrupted)).dropLast()
    return (isFirst && isWhole ? Self.beginning : interruption + "\n") + "],"
      + (try JSONOutput.text(summary)).dropFirst()
  }

  private func summary(_ isWhole: Bool) -> String {
    let objects = HumanNumber.count(count.objects, "object", "objects")
    let looked =
      wasRead
      ? "\(objects) read and compared" : "\(objects) checked, not read (--read compares their contents)"
    var problems: [String] = []
    if count.damaged > 0 {
      problems.append(HumanNumber.count(count.damaged, "damaged object", "damaged objects"))
    }
    if count.unknown > 0 {
      problems.append(HumanNumber.count(count.unknown, "unreadable object", "unreadable objects"))
    }
    if count.unreachable > 0 {
      problems.append(HumanNumber.count(count.unreachable, "store", "stores") + " unreachable")
    }
    if count.notLookedAt > 0 {
      problems.append(HumanNumber.count(count.notLookedAt, "store", "stores") + " not checked")
    }
    if !isWhole { problems.append("interrupted before the end") }
    return problems.isEmpty
      ? "nothing is damaged in \(library): \(looked)"
      : "\(problems.joined(separator: ", ")) in \(library): \(looked)"
  }
}

/// A problem as reported.
private struct Problem: Encodable {
  let code: String
  /// The name that `code` had up to 0.2.
  let kind: String
  let destination: String
  let message: String
  var id: String?
  var key: String?
  var size: Int64?
  var found: Int64?

  init?(_ event: VerificationEvent, _ hint: CommandHint) {
    switch event {
    case .unreachable(let store, let error):
      kind = "unreachable"
      code = kind
      destination = store.name
      let remedy =
        error.code == .storeUnusable
        ? store.moved.map { "; " + $0.naming(\.rawValue, writing: hint.text(completing:)) } ?? "" : ""
      message =
        "\(store.name) was not checked, or not completely: \(error.message) [\(error.code.rawValue)]"
        + remedy
    case .notLookedAt(let store):
      kind = "notLookedAt"
      code = kind
      destination = store.name
      message =
        "\(store.name) was not checked: it needs credentials, and those that are set may be for another store; if they are "
        + "for this one, name it with --to \(ShellWord.quoted(Array(store.name.utf8)))"
    case .verified(let verified):
      guard let code = verified.verdict.code(expecting: verified.object.size) else { return nil }
      (kind, self.code) = (code, code)
      destination = verified.destination.name
      id = verified.object.id.description
      key = verified.object.key.rawValue
      size = verified.object.size
      if case .otherLength(let length) = verified.verdict { found = length }
      message = Self.message(verified, hint)
    }
  }

  private static func message(_ verified: VerifiedObject, _ hint: CommandHint) -> String {
    let object = verified.object
    let name = "post \(object.id): \(object.key) in \(verified.destination)"
    let flags = if case .otherBytes = verified.verdict { "--fix --read" } else { "--fix" }
    let store = verified.destination.name
    let kind = DestinationAddress(ofName: store)?.kind
    let named = kind?.needsSecretOfItsOwn == true ? " --to \(ShellWord.quoted(Array(store.utf8)))" : ""
    let way =
      kind?.canBeExamined == true
      ? "\(hint.text("doctor", "\(flags)\(named) --from FOLDER")) puts it back from a backup of the store or the original"
      : "put it back from a backup of the store"
    let remedy = "\(way) (\(object.digest))"
    return switch verified.verdict {
    case .sound: name
    case .missing: "\(name) is gone; \(remedy)"
    case .otherLength(let found): "\(name) has \(found) bytes, not \(object.size); \(remedy)"
    case .otherBytes(let digest): "\(name) holds other bytes (\(digest)); \(remedy)"
    case .unrecorded:
      "\(name) is whole, but the store's database has no record of the post, so nobody sees it; put the record back "
        + "from a backup of the database"
    case .recordShows(let other):
      "\(name) is whole, but what the store's database has under the post's id shows "
        + "\(other.map { "\($0)" } ?? "no object"); put the record back from a backup of the database"
    case .unknown(let error): "\(name) can't be checked: \(error.message) [\(error.code.rawValue)]"
    }
  }
}

private struct Summary: Encodable {
  private enum CodingKeys: String, CodingKey { case v, ok, library, read, complete, objects, changed }
  let count: VerificationCount
  let library: String
  let read: Bool
  let isWhole: Bool
  let changed: Bool?

  func encode(to encoder: any Encoder) throws {
    try count.encode(to: encoder)
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(1, forKey: .v)
    let isSound = count.damaged + count.unknown + count.unreachable + count.notLookedAt == 0
    try container.encode(isWhole && isSound, forKey: .ok)
    try container.encode(library, forKey: .library)
    try container.encode(read, forKey: .read)
    try container.encode(isWhole, forKey: .complete)
    try container.encode(count.objects, forKey: .objects)
    try container.encodeIfPresent(changed, forKey: .changed)
  }
}
