import FoundationEssentials
import ReelCore

/// A request to an adapter: one line of JSON on its standard input (docs/command-uploader.md).
struct AdapterRequest: Encodable, Sendable {
  enum Verb: String, Encodable, Sendable, CaseIterable {
    case prepare, upload, find, remove, readBack
  }
  /// The version of the protocol that Reel speaks.
  static let version = 1

  let `protocol` = AdapterRequest.version
  let verb: Verb
  var store: String?
  var key: ObjectKey?
  var size: Int64?
  var digest: ContentDigest?
  var contentType: String?
  /// The rate, in bytes per second, that the user allows this upload.
  var limitRate: Int64?

  /// The request as one line of compact JSON with sorted keys, ending in a newline.
  func line() throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return Array(try encoder.encode(self)) + [UInt8(ascii: "\n")]
  }

  /// The reply to `staged`: make the object visible now.
  static let commit = Array("{\"commit\":true}\n".utf8)
}

/// A line of the protocol that an adapter wrote. None of its claims have been checked yet.
enum AdapterLine: Hashable, Sendable {
  /// The number of bytes sent so far.
  case progress(sent: Int64)
  /// All bytes are in the store, but not visible yet.
  case staged
  case result(AdapterFields)
  case error(UploadError.Code, message: String, retryAfter: Double?)

  /// Parses one line, without its newline.
  /// - Throws: ``AdapterViolation`` if it is not a line of the protocol.
  init(parsing line: some Collection<UInt8>) throws(AdapterViolation) {
    guard let fields = try? JSONDecoder().decode(AdapterFields.self, from: Data(line)) else {
      throw AdapterViolation("what it wrote is not a line of the protocol", quoting: line)
    }
    switch fields.type {
    case "progress":
      guard let sent = fields.sent, sent >= 0 else { throw AdapterViolation("its progress has no \"sent\"") }
      self = .progress(sent: sent)
    case "staged": self = .staged
    case "result": self = .result(fields)
    case "error":
      let code = fields.code.flatMap { UploadError.Code(rawValue: $0) }
      guard let code, Self.tellable.contains(code) else {
        throw AdapterViolation("its error has an unknown code", quoting: (fields.code ?? "").utf8)
      }
      let asked = fields.retryAfter.flatMap { $0.isFinite && (0...86_400).contains($0) ? $0 : nil }
      self = .error(code, message: fields.message ?? "no reason given", retryAfter: asked)
    default:
      throw AdapterViolation("a line has an unknown type", quoting: fields.type.utf8)
    }
  }

  /// The error codes that an adapter can know. Only Reel itself can determine the others.
  static let tellable: Set<UploadError.Code> = [
    .interrupted, .unavailable, .denied, .rejected, .tooLarge, .alreadyExists, .sourceUnreadable,
    .verificationFailed, .storeFull, .storeUnusable,
  ]
}

/// All fields that a line may have.
struct AdapterFields: Decodable, Hashable, Sendable {
  let type: String
  let sent: Int64?
  let `protocol`: Int?
  let atomicCreate: Bool?
  let durable: Bool?
  let removes: Bool?
  let remains: String?
  let found: Bool?
  let size: Int64?
  let digest: String?
  let url: String?
  let code: String?
  let message: String?
  let retryAfter: Double?
}

/// How an adapter broke the protocol, as part of a sentence.
struct AdapterViolation: Error, Hashable {
  let words: ErrorMessage
  /// The adapter's text in full: secrets have to be removed from it before it is shortened.
  let quote: String?

  init(_ words: ErrorMessage) { (self.words, quote) = (words, nil) }

  init(_ words: ErrorMessage, quoting bytes: some Collection<UInt8>) {
    (self.words, quote) = (words, String(decoding: bytes, as: UTF8.self))
  }
}

/// What an adapter may say, in which order. Pure: it is given lines, and returns what they mean.
struct AdapterDialogue: Sendable {
  /// What a line means for the request.
  enum Step: Hashable, Sendable {
    case nothing
    /// The number of bytes sent, more than ever before.
    case progress(Int64)
    /// The object is ready to be made visible; the adapter waits for the commit.
    case staged
    /// The last line.
    case end(Ending)
  }

  /// The outcome that the adapter reports.
  enum Ending: Hashable, Sendable {
    case result(AdapterFields)
    case failure(UploadError.Code, message: String, retryAfter: Double?)
  }

  private let verb: AdapterRequest.Verb
  private let size: Int64
  private var sent: Int64 = 0
  private var isStaged = false
  private(set) var ending: Ending?

  /// - Parameter size: the size in bytes of the object that is uploaded.
  init(_ verb: AdapterRequest.Verb, size: Int64 = 0) {
    self.verb = verb
    self.size = size
  }

  /// Handles one line.
  /// - Throws: ``AdapterViolation`` if the line is not allowed, or not at this point.
  mutating func take(_ line: AdapterLine) throws(AdapterViolation) -> Step {
    guard ending == nil else { throw AdapterViolation("it kept writing after its result") }
    switch line {
    case .progress(let now): return try progress(now)
    case .staged:
      guard verb == .upload, !isStaged else {
        throw AdapterViolation("\"staged\" may be sent only once, and only in an upload")
      }
      isStaged = true
      return .staged
    case .result(let result):
      guard verb != .upload || isStaged else {
        throw AdapterViolation(
          "it reported a result before it was told to commit: \"staged\" must come first")
      }
      return end(.result(result))
    case .error(let code, let message, let retryAfter):
      return end(.failure(code, message: message, retryAfter: retryAfter))
    }
  }

  private mutating func progress(_ now: Int64) throws(AdapterViolation) -> Step {
    guard verb == .upload else { throw AdapterViolation("only an upload has progress") }
    guard now <= size else { throw AdapterViolation("it says it sent \(now) of \(size) bytes") }
    guard now > sent else { return .nothing }
    sent = now
    return .progress(now)
  }

  private mutating func end(_ ending: Ending) -> Step {
    self.ending = ending
    return .end(ending)
  }
}

/// Splits the output of a pipe into lines, within limits.
struct LineSplitter: Sendable {
  /// The greatest length of a line in bytes.
  static let longestLine = 64 << 10

  private let most: Int64
  private var total: Int64 = 0
  private var rest: [UInt8] = []

  /// - Parameter most: the greatest number of bytes in all.
  init(most: Int64) {
    self.most = most
  }

  /// Returns the lines that `chunk` completes, without their newlines; empty lines are left out.
  /// - Throws: ``AdapterViolation`` if a line or the output as a whole is too long.
  mutating func lines(in chunk: some Collection<UInt8>) throws(AdapterViolation) -> [[UInt8]] {
    total += Int64(chunk.count)
    guard total <= most else {
      throw AdapterViolation("it wrote more than \(most) bytes to its standard output")
    }
    rest += chunk
    var lines = rest.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map(Array.init)
    rest = lines.popLast() ?? []
    guard rest.count <= Self.longestLine, lines.allSatisfy({ $0.count <= Self.longestLine }) else {
      throw AdapterViolation("it wrote a line of more than \(Self.longestLine) bytes")
    }
    return lines.filter { !$0.isEmpty }
  }

  /// What follows the last newline: the adapter ended in the middle of a line, or left out the final newline.
  var unfinished: [UInt8] { rest }
}
