import ReelCore

/// A record of what each fixture was when somebody looked at it and accepted it.
package struct LockFile: Hashable, Sendable {
  /// By path, relative to the folder that holds the lock file.
  package var entries: [SourcePath: LockEntry]
  package var tolerances: LockTolerances

  package init(entries: [SourcePath: LockEntry] = [:], tolerances: LockTolerances = LockTolerances()) {
    self.entries = entries
    self.tolerances = tolerances
  }
}

package struct LockEntry: Hashable, Sendable {
  /// Nil if its bytes could not be read.
  package var digest: ContentDigest?
  /// In bytes.
  package var size: Int64?
  package var facts: [String: String]
  package var reader: ReaderVersion
  /// The rules that it broke, sorted; none for a file that passed.
  package var broken: [String]

  package init(
    digest: ContentDigest?, size: Int64?, facts: [String: String], reader: ReaderVersion, broken: [String]
  ) {
    self.digest = digest
    self.size = size
    self.facts = facts
    self.reader = reader
    self.broken = broken
  }

  /// Creates an entry from a file's facts and a policy's findings about it.
  package init(_ facts: FixtureFacts, findings: [Finding], reader: ReaderVersion) {
    let broken = findings.filter { $0.severity == .error && $0.state != .unverified }.map(\.rule)
    self.init(
      digest: facts.digest, size: facts.size, facts: LockedFacts.facts(of: facts.reading), reader: reader,
      broken: Set(broken).sorted())
  }
}

/// How far a value may be from the locked one, as another FFmpeg rounds differently.
package struct LockTolerances: Hashable, Sendable {
  /// In seconds, at least 0.
  package var duration: Double
  /// As a fraction of the value, at least 0; for frame rates and bit rates.
  package var rate: Double

  package init(duration: Double = 0.05, rate: Double = 0.0001) {
    self.duration = duration
    self.rate = rate
  }

  /// Whether `old` and `new` count as equal for the fact `key`.
  func admits(_ key: String, _ old: String, _ new: String) -> Bool {
    if old == new { return true }
    switch key {
    case "duration", "presentDuration":
      return close(Quantity.number(old), Quantity.number(new), .absolute(duration))
    case "video.frameRate": return close(Quantity.rate(old), Quantity.rate(new), .relative(rate))
    case "bitRate", "video.bitRate":
      // A bit rate that is computed from a duration is as inexact as the duration.
      return close(Quantity.number(old), Quantity.number(new), .relative(max(rate, 0.05)))
    default: return false
    }
  }

  private func close(_ old: Double?, _ new: Double?, _ tolerance: Tolerance) -> Bool {
    guard let old, let new else { return false }
    return tolerance.admits(new, for: old, usually: .usual)
  }
}

/// A line of a lock file that can't be parsed.
package struct LockError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Counted from 1; nil if the error concerns the file as a whole.
  package let line: Int?
  package let message: String

  package init(line: Int? = nil, _ message: String) {
    self.line = line
    self.message = message
  }

  /// `line 3: …`
  package var description: String { (line.map { "line \($0): " } ?? "") + message }
}

extension LockError {
  fileprivate static let isNone =
    "it is not a lock file; name another, or move it away and run `reel lock DIR`"
}

extension LockFile {
  /// Parses the output of ``LockText``. Accepts any bytes: returns a lock or throws.
  ///
  /// - Throws: ``LockError``.
  package init(text bytes: [UInt8]) throws(LockError) {
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    guard
      let text = String(validating: bytes.starts(with: mark) ? bytes.dropFirst(3) : bytes[...], as: UTF8.self)
    else { throw LockError(LockError.isNone) }
    var reader = LockReader()
    let lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
    for (index, line) in lines.enumerated() { try reader.take(line, number: index + 1) }
    self = try reader.finish()
  }
}

private struct LockReader {
  private var lock = LockFile()
  private var hasHeading = false
  private var hasEnded = false
  /// Whether the format is version 1, which has no last line.
  private var isVersion1 = false
  private var path: SourcePath?
  private var start = 0
  private var pairs: [String: String] = [:]

  mutating func take(_ line: Substring, number: Int) throws(LockError) {
    if line.hasPrefix("<<<<<<<") || line.hasPrefix("=======") || line.hasPrefix(">>>>>>>") {
      throw LockError(
        line: number,
        "it has an unresolved merge conflict; take one side (`git checkout --ours LOCK`), and let `reel lock DIR --force` "
          + "write what differs from it; deleting the file would lose its tolerances")
    }
    let text = line.drop { $0 == " " }
    if text.isEmpty || text.hasPrefix("#") { return }
    guard hasHeading else { return try takeHeading(text, number) }
    guard !hasEnded else { throw LockError(line: number, "nothing may follow the line \"\(LockText.end)\"") }
    if line == LockText.end {
      try endEntry()
      hasEnded = true
    } else if line.hasPrefix("file ") {
      try endEntry()
      try beginEntry(line.dropFirst(5), number)
    } else {
      try takePair(text, number)
    }
  }

  mutating func finish() throws(LockError) -> LockFile {
    guard hasHeading else {
      throw LockError(LockError.isNone)
    }
    guard hasEnded || isVersion1 else {
      throw LockError(
        "its end is missing: it was cut off; bring it back whole, or move it away and run `reel lock DIR`")
    }
    try endEntry()
    return lock
  }

  private mutating func takeHeading(_ text: Substring, _ number: Int) throws(LockError) {
    isVersion1 = text == LockText.headingOfVersion1
    guard text == LockText.heading || isVersion1 else {
      let isOurs = text.hasPrefix("reel-lock ")
      throw LockError(
        line: number,
        isOurs
          ? "it is of another version (\(text.dropFirst(10).prefix(20))) than this one; get a newer reel"
          : LockError.isNone)
    }
    hasHeading = true
  }

  private mutating func beginEntry(_ name: Substring, _ number: Int) throws(LockError) {
    guard let bytes = LockText.Escapes.bytes(name), !bytes.isEmpty else {
      throw LockError(line: number, "this path can't be read")
    }
    let named = SourcePath(bytes: bytes)
    guard lock.entries[named] == nil else { throw LockError(line: number, "this file appears twice") }
    (path, start, pairs) = (named, number, [:])
  }

  private mutating func takePair(_ text: Substring, _ number: Int) throws(LockError) {
    guard let sign = text.firstRange(of: " = "), let bytes = LockText.Escapes.bytes(text[sign.upperBound...]),
      let value = String(validating: bytes, as: UTF8.self)
    else { throw LockError(line: number, "this is not `key = value`") }
    let key = String(text[..<sign.lowerBound])
    if path == nil {
      try takeTolerance(key, value, number)
    } else if pairs.updateValue(value, forKey: key) != nil {
      throw LockError(line: number, "this key appears twice")
    }
  }

  private mutating func takeTolerance(_ key: String, _ value: String, _ number: Int) throws(LockError) {
    switch (key, Quantity.tolerance(value)) {
    case ("tolerance.duration", .absolute(let seconds)): lock.tolerances.duration = seconds
    case ("tolerance.rate", .relative(let part)): lock.tolerances.rate = part
    case ("tolerance.duration", _), ("tolerance.rate", _):
      let example = key == "tolerance.rate" ? "0.01%" : "0.05s"
      throw LockError(line: number, "\"\(value)\" is not a valid \(key), such as \(example)")
    default:
      throw LockError(
        line: number,
        "there is no \"\(key)\"; only tolerance.duration and tolerance.rate may appear before the first file"
      )
    }
  }

  private mutating func endEntry() throws(LockError) {
    guard let path else { return }
    func take(_ key: String) throws(LockError) -> String {
      guard let value = pairs.removeValue(forKey: key) else {
        throw LockError(
          line: start,
          "the entry that begins here has no \(key); bring back an older lock, and run `reel lock DIR --force`"
        )
      }
      return value
    }
    let (digest, size) = (try take("sha256"), try take("size"))
    let (verdict, reader) = (try take("verdict"), try take("read-by"))
    guard digest == "unknown" || ContentDigest(hex: digest) != nil else {
      throw LockError(line: start, "its sha256 is not a SHA-256")
    }
    lock.entries[path] = LockEntry(
      digest: ContentDigest(hex: digest), size: Int64(size), facts: pairs, reader: Self.reader(reader),
      broken: try Self.broken(verdict, start))
    self.path = nil
  }

  private static func broken(_ verdict: String, _ line: Int) throws(LockError) -> [String] {
    if verdict == "pass" { return [] }
    let words = verdict.split(separator: " ").map(String.init)
    guard words.first == "broken", words.count > 1 else {
      throw LockError(line: line, "its verdict is neither pass nor broken with the rules")
    }
    return Array(words.dropFirst())
  }

  private static func reader(_ text: String) -> ReaderVersion {
    let parts = text.split(separator: ",", maxSplits: 1).map {
      $0.split(separator: " ").last.map(String.init) ?? ""
    }
    return ReaderVersion(reel: parts.first ?? "", ffmpeg: parts.count > 1 ? parts[1] : "")
  }
}
