import Glibc
import ReelCore

/// Words the messages about an adapter: they contain its name, but none of its secrets.
struct AdapterWording: Sendable {
  let program: AdapterProgram
  let environment: AdapterEnvironment

  private var who: String { "the adapter \(program.name)" }

  /// Returns the result, or throws the reason why there is none.
  func verdict(
    _ ending: AdapterDialogue.Ending?, _ end: AdapterProcess.End, _ failure: UploadError?, errors: String?
  ) throws(UploadError) -> AdapterFields {
    if let failure { throw failure }
    switch ending {
    case .result(let result):
      guard end != .unknown else {
        throw UploadError(
          .storeUnusable,
          "\(who) gave its result, but its exit status was lost: something in this process reaps children that it did "
            + "not start; make it wait only for its own")
      }
      guard end == .exited(0) else {
        throw UploadError(.interrupted, "\(who) gave its result and then \(words(end)): \(hint(errors))")
      }
      return result
    case .failure(let code, let message, let retryAfter):
      throw UploadError(code, "\(who) says: \(clean(message))", retryAfter: retryAfter)
    case nil:
      // As in a shell: 126 is a command that may not be executed, 127 one that was not found.
      let isBroken = end == .exited(126) || end == .exited(127)
      throw UploadError(
        isBroken ? .storeUnusable : .interrupted, "\(who) \(words(end)) without a result: \(hint(errors))")
    }
  }

  private func words(_ end: AdapterProcess.End) -> String {
    switch end {
    case .exited(let code): "ended with exit code \(code)"
    case .signalled: "was ended by a signal"
    case .unknown: "ended in an unknown way"
    }
  }

  private func hint(_ errors: String?) -> String {
    guard let errors else { return "it wrote nothing to its standard error either" }
    return "the last that it wrote was \"\(clean(errors))\""
  }

  /// The adapter's own words, made harmless and without the values that were passed to it.
  func clean(_ text: String) -> String {
    AdapterText.sentence(environment.withoutSecrets(text))
  }

  /// An adapter that breaks the protocol does so for every file, so the store is unusable.
  func breach(_ breach: AdapterViolation) -> UploadError {
    UploadError(
      .storeUnusable,
      "\(who) breaks the protocol: " + breach.words + "\(quoted(breach.quote)); "
        + "`reel uploader check` shows what it should do")
  }

  func silent(for time: Duration) -> UploadError {
    UploadError(
      .interrupted,
      "\(who) reported no progress for \(Int((time / .seconds(1)).rounded())) s and was stopped: make it report its "
        + "progress, or give it more time with \(setting: .adapterDeadline)")
  }

  var cancelled: UploadError {
    UploadError(.cancelled, "cancelled while \(who) was at work; it was ended")
  }

  func removesNothing(_ key: ObjectKey) -> UploadError {
    UploadError(
      .rejected,
      "\(who) removes nothing, so \(key) stays in its store, and viewers who have its address see it: remove it there"
    )
  }

  /// What the adapter says remains in its store.
  func remains(of key: ObjectKey, _ text: String) -> String {
    "\(who) has removed \(key), and says: \(clean(text))"
  }

  /// The adapter could not be started.
  func notStarted(_ error: SystemError) -> UploadError {
    switch error.code {
    case ENOENT:
      UploadError(
        .storeUnusable,
        "\(who) can't be started: there is no such file, or the program named in its first line is missing")
    case EACCES:
      UploadError(.storeUnusable, "\(who) can't be started: it may not be executed; see `chmod +x`")
    case ENOEXEC:
      UploadError(
        .storeUnusable,
        "\(who) can't be started: it is not a program; a script begins with a line like #!/bin/sh")
    case ECHILD:
      UploadError(
        .storeUnusable,
        "\(who) can't be started: this process ignores SIGCHLD, so that how an adapter ends would be lost; give that "
          + "signal its default disposition")
    case EMFILE, ENFILE, EAGAIN, ENOMEM:
      UploadError(.unavailable, "\(who) can't be started (\(error)): use fewer \(setting: .uploads)")
    default: UploadError(.storeUnusable, "\(who) can't be started (\(error))")
    }
  }

  /// The adapter claims something that can't be true.
  /// - Parameter quote: the adapter's own words, in full.
  func wrong(_ claim: String, quoting quote: String? = nil) -> UploadError {
    UploadError(.verificationFailed, "\(who) made a claim that can't be true: \(claim)\(quoted(quote))")
  }

  private func quoted(_ text: String?) -> String {
    text.map { ": " + AdapterText.quoted(environment.withoutSecrets($0)) } ?? ""
  }
}

/// Text from an adapter, made fit for a message.
enum AdapterText {
  /// At most `limit` characters on one line, without control characters and those that change the direction of text.
  static func sentence(_ text: some StringProtocol, limit: Int = 300) -> String {
    let scalars = text.unicodeScalars.map { scalar -> Unicode.Scalar in
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: " "
      default: scalar
      }
    }
    var line = String(String.UnicodeScalarView(scalars))
      .split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ")
    if line.count > limit { line = line.prefix(limit) + "…" }
    return line
  }

  /// The beginning of text that was not understood. Secrets have to be removed first: one that is cut off is no longer
  /// recognized.
  static func quoted(_ text: String) -> String { "\"" + sentence(text, limit: 80) + "\"" }
}

/// Checks what a result claims against the request; nothing is passed on unchecked.
struct AdapterClaims: Sendable {
  let wording: AdapterWording
  /// The prefix that turns a key into the address for viewers; nil if the adapter states the address.
  let publicBaseURL: String?

  /// The object that a result describes.
  /// - Parameter size: the size that it must have; nil if only the store knows.
  func object(
    _ key: ObjectKey, _ result: AdapterFields, size: Int64?
  ) throws(UploadError) -> StoredObject {
    guard let claimed = result.size, claimed >= 0 else {
      throw wording.wrong("it states no valid size of \(key)")
    }
    if let size, claimed != size {
      throw wording.wrong("it says that \(key) has \(claimed) bytes, but \(size) were sent")
    }
    var digest: ContentDigest?
    if let text = result.digest {
      guard let read = ContentDigest(hex: text) else {
        throw wording.wrong("the digest it gives for \(key) is not a SHA-256")
      }
      digest = read
    }
    return StoredObject(key: key, url: try address(of: key, result.url), size: claimed, digest: digest)
  }

  /// Whether the result says that the object exists.
  func isFound(_ result: AdapterFields) throws(UploadError) -> Bool {
    guard let found = result.found else {
      throw wording.breach(AdapterViolation("its answer does not say whether the object was \"found\""))
    }
    return found
  }

  private func address(of key: ObjectKey, _ claimed: String?) throws(UploadError) -> String {
    if let base = publicBaseURL { return base + (base.hasSuffix("/") ? "" : "/") + key.rawValue }
    guard let claimed else {
      throw wording.breach(
        AdapterViolation(
          "it gives no \"url\" that viewers can open, and there is no \(setting: .publicBaseURL)"))
    }
    guard Self.isAddress(claimed) else {
      throw wording.wrong("the address it gives for \(key) is not an address", quoting: claimed)
    }
    return claimed
  }

  /// Whether `text` is an http, https or file URL of printable ASCII, without a password in it.
  static func isAddress(_ text: String) -> Bool {
    let schemes = ["https://", "http://", "file://"]
    guard text.utf8.count <= 2048, let scheme = schemes.first(where: { text.lowercased().hasPrefix($0) }),
      text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !"\"<>\\^`{|}".utf8.contains($0) })
    else { return false }
    let rest = text.dropFirst(scheme.count)
    let host = rest.prefix { !"/?#".contains($0) }
    return !host.contains("@") && (scheme == "file://" || !host.isEmpty)
  }
}

/// How long an adapter may be silent, and how much it may write.
struct AdapterLimits: Hashable, Sendable {
  /// Without a line with news, or during a read-back a byte of the object, the adapter is ended after this time.
  var silence: Duration
  /// The greatest number of bytes on standard output, in all.
  var output: Int64
  /// The time between asking the adapter to end and killing it.
  var grace: Duration
  /// How long a commit that had begun when the run was cancelled may still take.
  var commitGrace: Duration = .seconds(10)

  /// The limits of a request that is not an upload.
  init(silence: Duration, grace: Duration) {
    self.silence = silence
    self.grace = grace
    output = Self.least
  }

  /// The limits of an upload of `size` bytes. An adapter that reports no progress gets the additional time that the
  /// upload would take at 256 KiB/s, or at the rate limit if that is lower.
  init(silence: Duration, size: Int64, limitRate: Int64?, grace: Duration) {
    self.grace = grace
    let rate = min(limitRate ?? .max, 256 << 10)
    self.silence = silence + .seconds(Double(size) / Double(max(1, rate)))
    output = Self.least + size >> 10
  }

  private static let least: Int64 = 1 << 20
}
