/// Why a store did not take, find or remove an object.
public struct UploadError: ReelError, Hashable, Sendable, Codable {
  /// For programs.
  public enum Code: String, Codable, Sendable, CaseIterable {
    /// The connection or the transfer broke.
    case interrupted
    /// The store is busy or down.
    case unavailable
    /// No permission.
    case denied
    /// The store does not take this object. Why, only the store knows: another one may fare no better, and this one may be
    /// taken tomorrow.
    case rejected
    /// Larger than the store takes, or than what stands before it lets through.
    case tooLarge
    /// An object is there under this key. The caller finds out whether it is ours.
    case alreadyExists
    /// An object is there under this key, and it is not ours.
    case conflict
    /// The bytes changed while they were read.
    case sourceChanged
    /// The source could not be read.
    case sourceUnreadable
    /// What the store holds is not what was sent.
    case verificationFailed
    /// No space left in the store.
    case storeFull
    /// The store is not there, is not a folder, or cannot be written.
    case storeUnusable
    /// The task was cancelled.
    case cancelled

    /// Whether the same upload may succeed a moment later.
    public var isWorthARetry: Bool { self == .interrupted || self == .unavailable }

    /// Whether no other file will fare better: the run ends.
    public var endsTheRun: Bool { self == .storeUnusable }
  }
  /// What it is, for programs.
  public let code: Code
  /// What went wrong, with which store, and what to do; one sentence for people.
  public private(set) var text: ErrorMessage
  /// ``text``, with settings in backquotes.
  public var message: String { text.description }
  /// How long the store asked us to wait, in seconds.
  public let retryAfter: Double?
  /// Seconds without any sign of life from the store (no byte taken, no answer) before it was given up; nil when that is
  /// not why. For whoever tries again; it is not encoded.
  public private(set) var silence: Double?
  /// A name under which the upload has left something that must not count: it differs from what was sent, or may not
  /// survive a power cut. Whoever holds the name gives it up first, durably, and removes the object only then: until then
  /// another machine, which thinks this one dead, may publish what it finds there. Nil where nothing stands; it is not
  /// encoded.
  public internal(set) var standing: ObjectKey?
  /// Whether Reel itself has found the file to be other than what the store says that it takes. A store's refusal of
  /// one object is not that: a quota, a rule or a proxy refuses good files, too. It is not encoded.
  package private(set) var isOfTheFile = false

  /// What became of an object all of which was sent; nil where it was not. It is not encoded.
  package private(set) var whole: Whole?

  /// An object all of which was sent, in vain: to try again is to send all of it again.
  package enum Whole: Sendable {
    /// The store has said that it took it, and shows none: it may do so later.
    case notShown
    /// The store had its parts, and could not use them.
    case notPutTogether
  }

  private enum CodingKeys: String, CodingKey {
    case code, retryAfter
    case text = "message"
  }

  /// An error. `retryAfter` is in seconds, nil when the store asked for no pause; `silence` too, nil when it was none.
  public init(_ code: Code, _ message: ErrorMessage, retryAfter: Double? = nil, silence: Double? = nil) {
    self.code = code
    text = message
    self.retryAfter = retryAfter
    self.silence = silence
  }

  /// An error that is the file's own.
  package init(ofTheFile code: Code, _ message: ErrorMessage) {
    self.init(code, message)
    isOfTheFile = true
  }

  /// An error with a message that is text and names no setting.
  @_disfavoredOverload
  public init(_ code: Code, _ message: String, retryAfter: Double? = nil, silence: Double? = nil) {
    self.init(code, ErrorMessage(message), retryAfter: retryAfter, silence: silence)
  }
}

extension UploadError {
  /// The same, of an upload that has left something under `key`.
  public func leaving(_ key: ObjectKey) -> UploadError {
    var error = self
    error.standing = key
    return error
  }

  /// The same, of an object all of which was sent.
  package func ofWhole(_ whole: Whole) -> UploadError {
    var error = self
    error.whole = whole
    return error
  }

  /// The same, with `advice` behind its sentence.
  package func adding(_ advice: ErrorMessage) -> UploadError {
    var error = self
    error.text = text + "; " + advice
    return error
  }

  /// Whether the same upload, to the same name, may succeed a moment later.
  package var isWorthARetry: Bool { code.isWorthARetry && standing == nil }

  /// The same, in the words that `wording` has for it.
  package func worded(_ wording: (ErrorMessage) -> String) -> UploadError {
    var error = self
    error.text = ErrorMessage(wording(text))
    return error
  }
}
