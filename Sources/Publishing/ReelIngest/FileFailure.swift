import ReelCore

/// Why a file was not published, or why a run could not continue.
public struct FileFailure: ReelError, Codable {
  /// The failure code, for programs.
  public let code: Code
  /// What went wrong and what to do; one sentence for people, without the file's path.
  public let text: ErrorMessage
  /// ``text`` as a string, with settings in backquotes.
  public var message: String { text.description }
  /// The error of the layer that failed, such as an `UploadError`. Nil if there was none, and in an event read from
  /// JSON.
  public let cause: (any Error)?

  private enum CodingKeys: String, CodingKey { case code, message }

  /// Creates a failure. `message` is shown after the file's path.
  public init(code: Code, message: ErrorMessage, cause: (any Error)? = nil) {
    self.code = code
    text = message
    self.cause = cause
  }

  /// Creates a failure from plain text that names no setting.
  @_disfavoredOverload
  public init(code: Code, message: String, cause: (any Error)? = nil) {
    self.init(code: code, message: ErrorMessage(message), cause: cause)
  }

  /// Reads a code and a message.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    code = try container.decode(Code.self, forKey: .code)
    text = try container.decode(ErrorMessage.self, forKey: .message)
    cause = nil
  }

  /// Writes what ``init(from:)`` reads.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(code, forKey: .code)
    try container.encode(text, forKey: .message)
  }
}

extension FileFailure: Hashable {
  /// Whether code and message are equal; the causes are not compared.
  public static func == (left: FileFailure, right: FileFailure) -> Bool {
    left.code == right.code && left.message == right.message
  }

  /// Hashes what ``==(_:_:)`` compares.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(code)
    hasher.combine(message)
  }
}

extension FileFailure {
  /// What failed, by layer. ``rawValue`` is the code in events and reports.
  ///
  /// A code read from JSON is attributed to the first layer that has it. Two codes are equal if their raw values are.
  public enum Code: Sendable {
    /// The file could not be opened, or its sidecar could not be used.
    case source(SourceError.Code)
    /// The file could not be read as media.
    case probe(ProbeError.Code)
    /// The file could not be stored.
    case upload(UploadError.Code)
    /// No poster could be made, and one was required.
    case poster(PosterError.Code)
    /// The catalog could not answer.
    case catalog(CatalogError.Code)
    /// The run was cancelled before the file was done; the file did not fail.
    case cancelled
    /// A code that this version does not know.
    case other(String)
  }
}

extension FileFailure.Code: RawRepresentable, Hashable, Codable, ExpressibleByStringLiteral,
  CustomStringConvertible
{
  private static let (catalogPrefix, posterPrefix) = ("catalog.", "poster.")
  private static let cancelledText = ProbeError.Code.cancelled.rawValue

  /// The layer's own code, prefixed with `catalog.` or `poster.` for these two layers.
  public var rawValue: String {
    switch self {
    case .source(let code): code.rawValue
    case .probe(let code): code.rawValue
    case .upload(let code): code.rawValue
    case .poster(let code): Self.posterPrefix + code.rawValue
    case .catalog(let code): Self.catalogPrefix + code.rawValue
    case .cancelled: Self.cancelledText
    case .other(let text): text
    }
  }

  /// The code with that raw value.
  public init(rawValue: String) {
    if rawValue == Self.cancelledText {
      self = .cancelled
    } else if let code = SourceError.Code(rawValue: rawValue) {
      self = .source(code)
    } else if let code = ProbeError.Code(rawValue: rawValue) {
      self = .probe(code)
    } else if let code = UploadError.Code(rawValue: rawValue) {
      self = .upload(code)
    } else if let code = CatalogError.Code(rawValue, after: Self.catalogPrefix) {
      self = .catalog(code)
    } else if let code = PosterError.Code(rawValue, after: Self.posterPrefix) {
      self = .poster(code)
    } else {
      self = .other(rawValue)
    }
  }

  /// The code with that raw value.
  public init(stringLiteral: String) { self.init(rawValue: stringLiteral) }

  /// ``rawValue``.
  public var description: String { rawValue }

  /// Whether both have the same raw value.
  public static func == (left: Self, right: Self) -> Bool { left.rawValue == right.rawValue }

  /// Hashes the raw value.
  public func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }
}

extension RawRepresentable where RawValue == String {
  fileprivate init?(_ text: String, after prefix: String) {
    guard text.hasPrefix(prefix) else { return nil }
    self.init(rawValue: String(text.dropFirst(prefix.count)))
  }
}
