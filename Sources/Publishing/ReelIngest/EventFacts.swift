import ReelCore

/// The content of an event besides its type and its file.
protocol EventFacts: Sendable {
  /// Reads what ``encodeFacts(to:)`` wrote.
  init(factsOf decoder: any Decoder) throws

  /// Writes the facts into the event's JSON object.
  func encodeFacts(to encoder: any Encoder) throws

  /// The fields for a log, by their names in docs/events.md.
  var logged: [EventLogEntry.Field] { get }

  /// The code and message of an event that has an ``EventTraits/concern``.
  var remark: EventRemark? { get }

  /// The facts with settings named by `wording`.
  func worded(_ wording: (ErrorMessage) -> String) -> Self
}

/// Facts that are one value in the event's JSON object, under `name`.
protocol NamedFacts: EventFacts, Codable {
  static var name: FactsName { get }
}

enum FactsName: String, CodingKey { case post, error }

extension NamedFacts {
  init(factsOf decoder: any Decoder) throws {
    self = try decoder.container(keyedBy: FactsName.self).decode(Self.self, forKey: Self.name)
  }

  func encodeFacts(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: FactsName.self)
    try container.encode(self, forKey: Self.name)
  }
}

/// A code and a sentence, with the path if the event has no file.
struct EventRemark {
  var path: SourcePath?
  let code: String
  let message: String

  var logged: [EventLogEntry.Field] {
    (path.map { [("path", $0.text)] } ?? []) + [("code", code), ("message", message)]
  }
}

extension EventFacts {
  var remark: EventRemark? { nil }
  var logged: [EventLogEntry.Field] { remark?.logged ?? [] }

  func worded(_ wording: (ErrorMessage) -> String) -> Self { self }
}

extension EventFacts where Self: Codable {
  init(factsOf decoder: any Decoder) throws { try self.init(from: decoder) }
  func encodeFacts(to encoder: any Encoder) throws { try encode(to: encoder) }
}

// MARK: Facts of runs

extension RunStarted: EventFacts {
  var logged: [EventLogEntry.Field] {
    [("destination", destination.name), ("dryRun", "\(dryRun)")] + (reel.map { [("reel", $0)] } ?? [])
  }
}

extension RunScanned: EventFacts {
  var logged: [EventLogEntry.Field] {
    [
      ("found", "\(found)"), ("ignored", "\(ignored)"), ("leftAlone", "\(leftAlone)"), ("bytes", "\(bytes)"),
    ]
  }
}

extension MetadataWarning: EventFacts {
  var remark: EventRemark? { EventRemark(path: path, code: code.rawValue, message: message) }
}

extension WatchNotice: EventFacts {
  var remark: EventRemark? { EventRemark(path: path, code: code.rawValue, message: message) }
}

extension RunSummary: EventFacts {
  var logged: [EventLogEntry.Field] {
    let counts = [
      ("published", published), ("duplicates", duplicates), ("removed", removed), ("planned", planned),
      ("refused", refused),
      ("failed", failedOrCancelled), ("ignored", ignored), ("leftAlone", leftAlone),
    ]
    return [("outcome", outcome.rawValue)] + counts.map { ($0.0, "\($0.1)") }
      + [("bytes", "\(publishedBytes)"), ("seconds", Decimals.text(seconds))] + (error?.logged ?? [])
  }
}

// MARK: Facts of files

/// The facts of `file.started`.
struct FileSize: EventFacts, Codable {
  let size: Int64?

  private enum CodingKeys: String, CodingKey { case size }

  init(size: Int64?) { self.size = size }

  /// Writes null for an unknown size.
  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(size, forKey: .size)
  }

  var logged: [EventLogEntry.Field] { size.map { [("bytes", "\($0)")] } ?? [] }
}

extension ProbeReport: EventFacts {
  private enum FactKeys: String, CodingKey { case media, probe }

  init(factsOf decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: FactKeys.self)
    self.init(
      media: try container.decode(MediaInfo.self, forKey: .media),
      provenance: try container.decode(ProbeProvenance.self, forKey: .probe))
  }

  func encodeFacts(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: FactKeys.self)
    try container.encode(media, forKey: .media)
    try container.encode(provenance, forKey: .probe)
  }

  var logged: [EventLogEntry.Field] {
    [("container", media.container.rawValue), ("method", provenance.method.rawValue)]
  }
}

extension PosterMade: EventFacts {
  var logged: [EventLogEntry.Field] { [("bytes", "\(size)")] }
}

extension FileNamed: EventFacts {
  var logged: [EventLogEntry.Field] {
    [("id", id.description), ("key", key.rawValue), ("attempt", "\(attempt)")]
  }
}

extension TransferProgress: EventFacts {
  var logged: [EventLogEntry.Field] {
    let reason = retrying.map { [("code", $0.code.rawValue), ("message", $0.message)] } ?? []
    return [("attempt", "\(attempt)")] + reason
  }

  func worded(_ wording: (ErrorMessage) -> String) -> TransferProgress {
    TransferProgress(sent: sent, total: total, attempt: attempt, retrying: retrying?.worded(wording))
  }
}

extension Post: NamedFacts {
  static let name = FactsName.post

  var logged: [EventLogEntry.Field] {
    [("id", id.description), ("key", video.rawValue)] + (size.map { [("bytes", "\($0)")] } ?? [])
  }
}

extension FileDuplicate: EventFacts {
  var logged: [EventLogEntry.Field] { post.map { [("id", $0.id.description)] } ?? [] }
}

extension RemovedPost: EventFacts {
  var logged: [EventLogEntry.Field] {
    [("id", post.id.description)] + (removal.reason.map { [("reason", $0)] } ?? [])
  }
}

extension PostEdited: EventFacts {
  var logged: [EventLogEntry.Field] {
    [("id", post.id.description), ("changed", changed.joined(separator: ","))]
  }
}

extension PostMoved: EventFacts {
  var logged: [EventLogEntry.Field] {
    [("id", post.id.description), ("from", from.name), ("to", to.name)]
  }
}

extension FilePlanned: EventFacts {}

extension FileRefused: EventFacts {
  var remark: EventRemark? { EventRemark(code: code.rawValue, message: message) }

  func worded(_ wording: (ErrorMessage) -> String) -> FileRefused {
    FileRefused(
      code: code, violations: violations.map { PolicyViolation(rule: $0.rule, message: wording($0.text)) })
  }
}

extension FileFailure: NamedFacts {
  static let name = FactsName.error

  var remark: EventRemark? { EventRemark(code: code.rawValue, message: message) }

  package func worded(_ wording: (ErrorMessage) -> String) -> FileFailure {
    FileFailure(code: code, message: wording(text), cause: cause)
  }
}
