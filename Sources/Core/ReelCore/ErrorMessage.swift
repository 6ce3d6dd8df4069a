/// A sentence for people in which settings and commands are kept as values rather than text, so that each program
/// can name them in its own way.
///
/// `"use fewer \(setting: .jobs)"` reads "use fewer" and the setting's name in backquotes; `reel` shows it as "use
/// fewer --jobs". `"run \(command: "doctor --fix")"` reads "run reel doctor --fix", and `reel` adds the library
/// that it was given. Everything else that is interpolated stays as it is: a file that is named like a setting
/// keeps its name.
public struct ErrorMessage: Sendable, ExpressibleByStringInterpolation, CustomStringConvertible {
  /// A setting that a message may name. The raw value is its name in docs/settings.md.
  public enum Setting: String, Sendable, CaseIterable {
    /// Whether a video whose post was removed is published again; a flag without a value.
    case again
    /// How long a store's upload program may go without reporting progress.
    case adapterDeadline
    /// The places from which a queue worker may take files.
    case allow
    /// The certificates that are trusted for connections to stores.
    case caFile
    /// The source of the credentials for an S3 store.
    case credentials
    /// The maximum time for reading one file.
    case deadline
    /// What happens to a video that is already a post.
    case duplicates
    /// The endpoint of an S3 store other than Amazon's.
    case endpoint
    /// Whether links are followed.
    case followLinks
    /// Whether unencrypted connections to a store are allowed.
    case insecureHTTP
    /// How strictly the worker must be confined.
    case isolation
    /// How many files are processed at once.
    case jobs
    /// The location of the library.
    case library
    /// How much of a remote file may be read to identify it.
    case maxRead
    /// The size above which a file is refused.
    case maxSize
    /// Whether an S3 store has the bucket in its host name.
    case noPathStyle
    /// The project of a Firebase store.
    case project
    /// The proxy for connections to stores.
    case proxy
    /// The base URL under which viewers find stored objects.
    case publicBaseURL
    /// The region of an S3 store.
    case region
    /// The key of a service account.
    case serviceAccount
    /// Where videos are stored.
    case to
    /// The hosts to which a tus server may direct uploads.
    case uploadHosts
    /// How many uploads run at once.
    case uploads
    /// The location of the worker.
    case worker
  }

  fileprivate enum Part: Sendable {
    case text(String)
    case setting(Setting)
    case command(String)
  }

  private var parts: [Part]

  /// Creates a message from plain text; it names no setting.
  public init(_ text: String) {
    parts = [.text(text)]
  }

  /// Creates a message from a literal; it names no setting.
  public init(stringLiteral text: String) {
    self.init(text)
  }

  /// Creates a message from its interpolated parts: settings and commands are kept as values, other messages keep
  /// theirs, and everything else becomes text.
  public init(stringInterpolation: StringInterpolation) {
    parts = stringInterpolation.parts
  }

  /// Returns the text, with `name` applied to each setting and `writing` to each command of `reel`, which is given
  /// without the program's name.
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

  /// Concatenates two messages.
  public static func + (left: ErrorMessage, right: ErrorMessage) -> ErrorMessage {
    var sum = left
    sum.parts += right.parts
    return sum
  }

  /// Returns the message with `words` replaced by `other` wherever its text contains them.
  package func replacing(_ words: String, with other: String) -> ErrorMessage {
    var message = self
    message.parts = parts.map { part in
      guard case .text(let text) = part else { return part }
      return .text(text.replacing(words, with: other))
    }
    return message
  }

  /// Collects the parts of an interpolated message.
  public struct StringInterpolation: StringInterpolationProtocol {
    fileprivate var parts: [Part] = []

    /// Creates an empty interpolation.
    public init(literalCapacity: Int, interpolationCount: Int) {}

    private mutating func append(_ text: String) {
      if case .text(let before)? = parts.last {
        parts[parts.count - 1] = .text(before + text)
      } else {
        parts.append(.text(text))
      }
    }

    /// Appends literal text.
    public mutating func appendLiteral(_ literal: String) { append(literal) }

    /// Appends a value as text.
    public mutating func appendInterpolation<Value>(_ value: Value) { append("\(value)") }

    /// Appends a setting, to be shown under the program's own name for it.
    public mutating func appendInterpolation(setting: Setting) { parts.append(.setting(setting)) }

    /// Appends a command of `reel` to be run, without the program's name.
    public mutating func appendInterpolation(command: String) { parts.append(.command(command)) }

    /// Appends another message, keeping its settings and commands.
    public mutating func appendInterpolation(_ message: ErrorMessage) { parts += message.parts }
  }
}

extension DefaultStringInterpolation {
  /// A message interpolated into a string would lose its settings and commands. Swift prefers a string where either
  /// type would do.
  @available(*, deprecated, message: "this loses its settings: add it with +, or say .description")
  package mutating func appendInterpolation(_ message: ErrorMessage) { appendLiteral(message.description) }
}

extension ErrorMessage: Hashable, Codable {
  /// Whether both messages read the same.
  public static func == (left: ErrorMessage, right: ErrorMessage) -> Bool {
    left.description == right.description
  }

  /// Hashes what ``==(_:_:)`` compares.
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
