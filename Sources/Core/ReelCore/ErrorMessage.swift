/// A sentence for people in which settings and commands are values, not text, so that each program can name them in its own
/// way.
///
/// `"use fewer \(setting: .jobs)"` reads "use fewer" and the setting's name in backquotes; `reel` tells it as "use fewer
/// --jobs". `"run \(command: "doctor --fix")"` reads "run reel doctor --fix", and `reel` adds the library that it was given.
/// Whatever else is put into it stays as it is: a file that is named like a setting keeps its name.
public struct ErrorMessage: Sendable, ExpressibleByStringInterpolation, CustomStringConvertible {
  /// A setting that a message may name. The raw value is its name in docs/settings.md.
  public enum Setting: String, Sendable, CaseIterable {
    /// Whether a video whose post was removed is published again; a flag alone.
    case again
    /// How long a store's program may tell nothing new.
    case adapterDeadline
    /// Where a worker of the queue may take files from.
    case allow
    /// The certificates that stores are believed by.
    case caFile
    /// Where the credentials of an S3 store come from.
    case credentials
    /// How long reading one file may take.
    case deadline
    /// What becomes of a video that is a post already.
    case duplicates
    /// An S3 store other than Amazon's.
    case endpoint
    /// Whether links are followed.
    case followLinks
    /// Whether a store may be spoken to without encryption.
    case insecureHTTP
    /// How far the worker must be confined.
    case isolation
    /// How much is worked on at once.
    case jobs
    /// Where the library is.
    case library
    /// How much of a file at an address may be read to find out what it is.
    case maxRead
    /// The size above which a file is refused.
    case maxSize
    /// That an S3 store has the bucket in its host name.
    case noPathStyle
    /// The project of a Firebase store.
    case project
    /// The proxy for stores.
    case proxy
    /// Where viewers find what was stored.
    case publicBaseURL
    /// The region of an S3 store.
    case region
    /// The key of a service account.
    case serviceAccount
    /// Where videos are stored.
    case to
    /// Where a tus server may have bytes sent.
    case uploadHosts
    /// How many uploads run at once.
    case uploads
    /// Where the worker is.
    case worker
  }

  fileprivate enum Part: Sendable {
    case text(String)
    case setting(Setting)
    case command(String)
  }

  private var parts: [Part]

  /// This text as it stands; it names no setting.
  public init(_ text: String) {
    parts = [.text(text)]
  }

  /// This text as it stands; it names no setting.
  public init(stringLiteral text: String) {
    self.init(text)
  }

  /// What was interpolated: settings and commands as such, messages with theirs, all else as text.
  public init(stringInterpolation: StringInterpolation) {
    parts = stringInterpolation.parts
  }

  /// The text, with `name` for each setting, and `writing` for each command of `reel`: its words behind the program's name.
  public func naming(
    _ name: (Setting) -> String, writing: (String) -> String = { "reel \($0)" }
  ) -> String {
    parts.reduce(into: "") { text, part in
      switch part {
      case .text(let literal): text += literal
      case .setting(let setting): text += name(setting)
      case .command(let command): text += writing(command)
      }
    }
  }

  /// The text, with settings in backquotes.
  public var description: String { naming { "`\($0.rawValue)`" } }

  /// Both, one after the other.
  public static func + (left: ErrorMessage, right: ErrorMessage) -> ErrorMessage {
    var sum = left
    sum.parts += right.parts
    return sum
  }

  /// With `other` wherever its text has `words`.
  package func replacing(_ words: String, with other: String) -> ErrorMessage {
    var message = self
    message.parts = parts.map { part in
      guard case .text(let text) = part else { return part }
      return .text(text.replacing(words, with: other))
    }
    return message
  }

  /// Collects what an interpolated message is made of.
  public struct StringInterpolation: StringInterpolationProtocol {
    fileprivate var parts: [Part] = []

    /// An empty one.
    public init(literalCapacity: Int, interpolationCount: Int) {}

    private mutating func append(_ text: String) {
      if case .text(let before)? = parts.last {
        parts[parts.count - 1] = .text(before + text)
      } else {
        parts.append(.text(text))
      }
    }

    /// What the program itself says.
    public mutating func appendLiteral(_ literal: String) { append(literal) }

    /// A value, as text.
    public mutating func appendInterpolation<Value>(_ value: Value) { append("\(value)") }

    /// A setting, by whatever name the program has for it.
    public mutating func appendInterpolation(setting: Setting) { parts.append(.setting(setting)) }

    /// A command of `reel` that is to be run, its words behind the program's name.
    public mutating func appendInterpolation(command: String) { parts.append(.command(command)) }

    /// Another message, with its settings and commands.
    public mutating func appendInterpolation(_ message: ErrorMessage) { parts += message.parts }
  }
}

extension DefaultStringInterpolation {
  /// A message within a text would lose its settings and commands: where either would do, Swift takes a text.
  @available(*, deprecated, message: "this loses its settings: add it with +, or say .description")
  package mutating func appendInterpolation(_ message: ErrorMessage) { appendLiteral(message.description) }
}

extension ErrorMessage: Hashable, Codable {
  /// Whether both read the same.
  public static func == (left: ErrorMessage, right: ErrorMessage) -> Bool {
    left.description == right.description
  }

  /// Of what ``==(_:_:)`` compares.
  public func hash(into hasher: inout Hasher) { hasher.combine(description) }

  /// Reads a string, which names no setting.
  public init(from decoder: any Decoder) throws {
    self.init(try decoder.singleValueContainer().decode(String.self))
  }

  /// Writes ``description``, a string.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}
