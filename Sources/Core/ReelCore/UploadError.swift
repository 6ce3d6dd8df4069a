/// Why a store could not store, find or remove an object.
public struct UploadError: ReelError, Hashable, Sendable, Codable {
  /// Error codes for programs.
  public enum Code: String, Codable, Sendable, CaseIterable {
    /// The connection or the transfer broke.
    case interrupted
    /// The store is busy or down.
    case unavailable
    /// No permission.
    case denied
    /// The store refused this object, for reasons that only the store knows. It may refuse others, too, or accept
    /// this one tomorrow.
    case rejected
    /// The object is larger than the store accepts, or than a server in front of it lets through.
    case tooLarge
    /// An object already exists under this key. The caller must find out whether it is ours.
    case alreadyExists
    /// An object already exists under this key, and it is not ours.
    case conflict
    /// The bytes changed while they were read.
    case sourceChanged
    /// The source could not be read.
    case sourceUnreadable
    /// What the store holds differs from what was sent.
    case verificationFailed
    /// The store is full.
    case storeFull
    /// The store does not exist, is not a folder, or cannot be written to.
    case storeUnusable
    /// The task was cancelled.
    case cancelled

    /// Whether the same upload may succeed a moment later.
    public var isWorthARetry: Bool { self == .interrupted || self == .unavailable }

    /// Whether every other file would fail in the same way, so that the run ends.
    public var endsTheRun: Bool { self == .storeUnusable }
  }
  /// The code, for programs.
  public let code: Code
  /// What went wrong, with which store, and what to do; one sentence for people.
  public private(set) var text: ErrorMessage
  /// ``text``, with settings in backquotes.
  public var message: String { text.description }
  /// How long the store asked us to wait, in seconds; nil if it did not ask.
  public let retryAfter: Double?
  /// How many seconds the store showed no sign of life (accepted no byte, sent no answer) before it was abandoned;
  /// nil if it failed for another reason. It informs the decision to retry, and is not encoded.
  public private(set) var silence: Double?
  /// A name under which the upload left an object that must not count: it differs from what was sent, or may not
  /// survive a power cut. The process that holds the name must first give it up durably, and only then remove the
  /// object; until then another machine that takes this one for dead may publish what it finds there. Nil if
  /// nothing was left. It is not encoded.
  public internal(set) var standing: ObjectKey?
  /// Whether Reel itself found that the file exceeds what the store says it accepts. A store's refusal of an object
  /// does not count: a quota, a rule or a proxy refuses good files, too. It is not encoded.
  package private(set) var isOfTheFile = false

  /// The error of a source that must not be read; nil for any other error. It is not encoded.
  package private(set) var sourceError: SourceError?

  /// What happened to an object that was sent completely; nil if it was not. It is not encoded.
  package private(set) var whole: Whole?

  /// An object that was sent completely, in vain: a retry has to send all of it again.
  package enum Whole: Sendable {
    /// The store said that it accepted the object, but does not show it; it may do so later.
    case notShown
    /// The store had the parts, but could not assemble them.
    case notPutTogether
  }

  private enum CodingKeys: String, CodingKey {
    case code, retryAfter
    case text = "message"
  }

  /// Creates an error. `retryAfter` and `silence` are in seconds; nil if the store asked for no pause, or was not
  /// silent.
  public init(_ code: Code, _ message: ErrorMessage, retryAfter: Double? = nil, silence: Double? = nil) {
    self.code = code
    text = message
    self.retryAfter = retryAfter
    self.silence = silence
  }

  /// Creates an error that the file itself causes.
  package init(ofTheFile code: Code, _ message: ErrorMessage) {
    self.init(code, message)
    isOfTheFile = true
  }

  /// Returns the error for a source that must not be read.
  package static func refusing(_ source: SourceError) -> UploadError {
    var error = UploadError(.rejected, source.text)
    error.sourceError = source
    return error
  }

  /// Creates an error whose message is plain text and names no setting.
  @_disfavoredOverload
  public init(_ code: Code, _ message: String, retryAfter: Double? = nil, silence: Double? = nil) {
    self.init(code, ErrorMessage(message), retryAfter: retryAfter, silence: silence)
  }
}

extension UploadError {
  /// Returns this error for an upload that left an object under `key`.
  public func leaving(_ key: ObjectKey) -> UploadError {
    var error = self
    error.standing = key
    return error
  }

  /// Returns this error for an object that was sent completely.
  package func ofWhole(_ whole: Whole) -> UploadError {
    var error = self
    error.whole = whole
    return error
  }

  /// Returns this error with `advice` appended to its sentence.
  package func adding(_ advice: ErrorMessage) -> UploadError {
    var error = self
    error.text = text + "; " + advice
    return error
  }

  /// Whether the same upload, under the same name, may succeed a moment later.
  package var isWorthARetry: Bool { code.isWorthARetry && standing == nil }

  /// Returns this error with its text as `wording` phrases it.
  package func worded(_ wording: (ErrorMessage) -> String) -> UploadError {
    var error = self
    error.text = ErrorMessage(wording(text))
    return error
  }
}
