import FoundationEssentials
import ReelCore

/// A line that an adapter wrote, as far as it keeps to the protocol. Nothing in it is believed yet.
enum AdapterLine: Hashable, Sendable {
  /// So many bytes have been sent.
  case progress(sent: Int64)
  /// All bytes are in the store, and nobody sees them yet.
  case staged
  /// It is done.
  case result(AdapterResult)
  /// It is not.
  case error(UploadError.Code, message: String, retryAfter: Double?)

  /// Reads one line without its newline.
  /// - Throws: ``AdapterViolation`` when it is not a line of the protocol.
  init(parsing line: some Collection<UInt8>) throws(AdapterViolation) {
    let fields: Fields
    do {
      fields = try JSONDecoder().decode(Fields.self, from: Data(line))
    } catch {
      throw AdapterViolation("what it wrote is not a line of the protocol", quoting: line)
    }
    switch fields.type {
    case "progress":
      guard let sent = fields.sent, sent >= 0 else { throw AdapterViolation("its progress has no \"sent\"") }
      self = .progress(sent: sent)
    case "staged": self = .staged
    case "result": self = .result(AdapterResult(fields))
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

  /// What an adapter can know. The others are ours to find out.
  static let tellable: Set<UploadError.Code> = [
    .interrupted, .unavailable, .denied, .rejected, .tooLarge, .alreadyExists, .sourceUnreadable,
    .verificationFailed, .storeFull, .storeUnusable,
  ]

  /// Everything that may stand in a line.
  fileprivate struct Fields: Decodable {
    let type: String
    var sent: Int64?
    var `protocol`: Int?
    var atomicCreate: Bool?
    var durable: Bool?
    var found: Bool?
    var size: Int64?
    var digest: String?
    var url: String?
    var code: String?
    var message: String?
    var retryAfter: Double?
  }
}

/// What a `result` line says.
struct AdapterResult: Hashable, Sendable {
  let version: Int?
  let atomicCreate: Bool?
  let durable: Bool?
  let found: Bool?
  let size: Int64?
  let digest: String?
  let url: String?

  fileprivate init(_ fields: AdapterLine.Fields) {
    version = fields.protocol
    atomicCreate = fields.atomicCreate
    durable = fields.durable
    found = fields.found
    size = fields.size
    digest = fields.digest
    url = fields.url
  }
}

/// How an adapter broke the protocol; a part of a sentence.
struct AdapterViolation: Error, Hashable {
  let words: String
  /// What the adapter wrote, whole: secrets are cut out of it before it is cut short.
  let quote: String?

  init(_ words: String) { (self.words, quote) = (words, nil) }

  init(_ words: String, quoting bytes: some Collection<UInt8>) {
    (self.words, quote) = (words, String(decoding: bytes, as: UTF8.self))
  }
}
