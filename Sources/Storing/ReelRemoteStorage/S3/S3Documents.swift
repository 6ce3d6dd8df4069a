import CExpat
import ReelCore
import ReelCrypto

/// A part as the store reports it.
struct StoredPart: Sendable, Hashable {
  let number: Int
  let etag: String
  let size: Int64
  /// The SHA-256 in Base64; nil if the store keeps none.
  var checksum: String?
  /// The CRC-64/NVME in Base64; nil if the store keeps none.
  var crc64: String?
}

/// An object as it appears in a list of the bucket.
struct ListedObject: Sendable, Hashable {
  /// The name, including the store's prefix.
  let name: String
  let size: Int64
  /// The ETag as listed: with or without quotation marks, or weak; empty if there is none.
  let etag: String
}

/// A page of a bucket's list of objects.
struct S3ListPage: Sendable, Hashable {
  var objects: [ListedObject] = []
  /// Whether no further page follows.
  let isWhole: Bool
  /// Where the next page begins; nil if that is unknown.
  var next: S3ListPosition?
}

/// Where a page of a list begins.
enum S3ListPosition: Sendable, Hashable {
  /// The token given by the previous page.
  case token(String)
  /// After the last name of the previous page, for a store that gives no token.
  case after(String)

  /// Such a store may know only the older ListObjects, where the parameter is called marker.
  var query: [(String, String)] {
    switch self {
    case .token(let token): [("continuation-token", token)]
    case .after(let name): [("start-after", name), ("marker", name)]
    }
  }

  /// A text from which ``init(text:)`` restores the position.
  var text: String {
    switch self {
    case .token(let token): "t" + token
    case .after(let name): "a" + name
    }
  }

  init?(text: String) {
    switch text.first {
    case "t": self = .token(String(text.dropFirst()))
    case "a": self = .after(String(text.dropFirst()))
    default: return nil
    }
  }
}

/// A part that is in the store, as CompleteMultipartUpload lists it.
struct SentPart: Sendable, Hashable {
  let number: Int
  let etag: String
  /// Nil if it was not needed.
  let sha256: [UInt8]?
  /// Nil if the store is not told it.
  var crc64: UInt64?
  /// Whether the store has compared the bytes with what they should be.
  var isChecked = false
}

/// An unfinished upload as the store lists it.
struct StoredUpload: Sendable {
  /// The algorithm of its checksums; nil if the store keeps none, or does not say.
  var algorithm: String?
  var parts: [Int: StoredPart] = [:]
}

/// The XML of the multipart operations (AWS, "Amazon S3 API Reference"). Where the names of Amazon's lists end in
/// `Result`, those of some stores end in `Response`.
enum S3Documents {
  static func uploadID(_ body: [UInt8]) -> String? { XMLNode(parsing: body)?["UploadId"] }

  /// A listed upload, and when it was begun, as the store writes that.
  struct ListedUpload: Hashable, Sendable {
    let id: String
    let begun: String
  }

  /// Whether the body looks like a complete answer to ListMultipartUploads. It may not be valid XML, as a name in it
  /// may contain characters that XML can't.
  static func isWholeListOfUploads(_ body: [UInt8]) -> Bool {
    let head = String(decoding: body.prefix(1 << 10), as: UTF8.self)
    let tail = String(decoding: body.suffix(1 << 7), as: UTF8.self)
    return head.contains("<ListMultipartUploads") && tail.contains("</ListMultipartUploads")
  }

  /// Returns the uploads of exactly `name` in an answer to ListMultipartUploads, and the query for the next page.
  static func uploads(
    of name: String, in body: [UInt8]
  ) -> (uploads: [ListedUpload], next: [(String, String)]?)? {
    guard let list = XMLNode(parsing: body), list.name.hasPrefix("ListMultipartUploads") else { return nil }
    let isEncoded = list["EncodingType"] == "url"
    let uploads = list.all("Upload").filter { $0["Key"].flatMap { Self.name($0, isEncoded) } == name }
      .compactMap { upload in
        upload["UploadId"].map { ListedUpload(id: $0, begun: upload["Initiated"] ?? "") }
      }
    guard list.isTrue("IsTruncated"), let key = list.text("NextKeyMarker") else { return (uploads, nil) }
    return (
      uploads,
      [("key-marker", Self.name(key, isEncoded) ?? key)]
        + (list.text("NextUploadIdMarker").map { [("upload-id-marker", $0)] } ?? [])
    )
  }

  /// Returns the versions of exactly `name` in an answer to ListObjectVersions, without delete markers, the newest
  /// first; nil if it is no such answer.
  static func versions(of name: String, in body: [UInt8]) -> [String]? {
    guard let list = XMLNode(parsing: body), list.name.hasPrefix("ListVersions") else { return nil }
    let isEncoded = list["EncodingType"] == "url"
    return list.all("Version").filter { $0["Key"].flatMap { Self.name($0, isEncoded) } == name }
      .compactMap { $0["VersionId"] }
  }

  private static func name(_ key: String, _ isEncoded: Bool) -> String? {
    isEncoded ? PercentEncoding.decode(key.replacing("+", with: " ")[...]) : key
  }

  /// Returns the parts in an answer to ListParts, the algorithm of their checksums, and where the next page begins.
  static func parts(_ body: [UInt8]) -> (parts: [StoredPart], algorithm: String?, next: Int?)? {
    guard let list = XMLNode(parsing: body), list.name.hasPrefix("ListParts") else { return nil }
    let parts = list.all("Part").compactMap { part -> StoredPart? in
      guard let number = part["PartNumber"].flatMap({ Int64(digits: $0) }).flatMap(Int.init(exactly:)),
        let size = part["Size"].flatMap({ Int64(digits: $0) }),
        let etag = part["ETag"]
      else { return nil }
      return StoredPart(
        number: number, etag: etag, size: size, checksum: part["ChecksumSHA256"],
        crc64: part["ChecksumCRC64NVME"])
    }
    let next =
      list.isTrue("IsTruncated")
      ? list.text("NextPartNumberMarker").flatMap { Int64(digits: $0) }.flatMap(Int.init(exactly:))
        ?? parts.last?.number : nil
    return (parts, list["ChecksumAlgorithm"], next)
  }

  /// Whether the body is an answer to ListObjectsV2, or to its predecessor.
  static func isPage(_ body: [UInt8]) -> Bool { XMLNode(parsing: body)?.name == "ListBucketResult" }

  /// Parses such an answer; nil if it is none, or lacks an object's name or size.
  static func page(_ body: [UInt8]) -> S3ListPage? {
    guard let list = XMLNode(parsing: body), list.name == "ListBucketResult" else { return nil }
    let isEncoded = list["EncodingType"] == "url"
    let token = list.text("NextContinuationToken")
    // A token implies a next page only if IsTruncated does not say otherwise: some stores always send one.
    let isTold = list.text("IsTruncated")?.lowercased() == "false"
    var page = S3ListPage(isWhole: isTold || !list.isTrue("IsTruncated") && token == nil)
    for object in list.all("Contents") {
      // Skipping an unreadable object would hide it.
      guard let name = object["Key"].flatMap({ name($0, isEncoded) }),
        let size = object["Size"].flatMap({ Int64(digits: $0) })
      else { return nil }
      page.objects.append(
        ListedObject(name: name, size: size, etag: object["ETag"] ?? ""))
    }
    if !page.isWhole {
      page.next = token.map { .token($0) } ?? page.objects.last.map { .after($0.name) }
    }
    return page
  }

  /// Returns the body of a CompleteMultipartUpload.
  static func completion(_ parts: [SentPart], withChecksums: Bool = true) -> [UInt8] {
    let listed = parts.map { part in
      return
        "<Part><PartNumber>\(part.number)</PartNumber><ETag>\(xmlEscaped(part.etag))</ETag>"
        + (withChecksums ? checksum(part) : "") + "</Part>"
    }
    return Array(
      ("<?xml version=\"1.0\" encoding=\"UTF-8\"?><CompleteMultipartUpload "
        + "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\(listed.joined())</CompleteMultipartUpload>")
        .utf8)
  }

  private static func checksum(_ part: SentPart) -> String {
    if let sum = part.crc64 { return "<ChecksumCRC64NVME>\(CRC64.text(of: sum))</ChecksumCRC64NVME>" }
    return part.sha256.map { "<ChecksumSHA256>\(Base64.text($0))</ChecksumSHA256>" } ?? ""
  }
}

extension CRC64 {
  /// Formats a sum as S3 does.
  static func text(of sum: UInt64) -> String { Base64.text(bytes(of: sum)) }
}

/// An element of a small XML document, such as a store's reply.
struct XMLNode: Sendable, Hashable {
  /// The name without its namespace prefix.
  let name: String
  var text = ""
  var children: [XMLNode] = []

  /// The text of the first child of that name, without surrounding white space; nil if there is none.
  subscript(_ name: String) -> String? {
    children.first { $0.name == name }.map { $0.text.trimmingWhiteSpace() }
  }

  func all(_ name: String) -> [XMLNode] { children.filter { $0.name == name } }

  /// Returns the text of the first child of that name; nil if there is none, or it is empty.
  func text(_ name: String) -> String? { self[name].flatMap { $0.isEmpty ? nil : $0 } }

  /// Whether the first child of that name is true; some stores write it with a capital letter.
  func isTrue(_ name: String) -> Bool { self[name]?.lowercased() == "true" }

  /// Parses a whole document with expat. Nil if it is malformed, nested deeper than a reply ever is, or has a document
  /// type declaration: no store sends one, and no entity should be expanded or fetched.
  init?(parsing bytes: [UInt8]) {
    guard case .success(let root) = Self.parse(bytes) else { return nil }
    self = root
  }

  /// Why a document is not read.
  enum Refusal: Error, Hashable {
    case malformed
    /// What follows it was not read.
    case doctype, tooDeep
  }

  static func parse(_ bytes: [UInt8]) -> Result<XMLNode, Refusal> {
    let builder = TreeBuilder()
    // Some stores send spaces to keep a connection alive until the answer is ready; expat accepts none before the
    // XML declaration.
    let isWhole = builder.parse(bytes.drop { [0x20, 0x09, 0x0A, 0x0D].contains($0) })
    if let refusal = builder.refusal { return .failure(refusal) }
    return isWhole ? builder.root.map { .success($0) } ?? .failure(.malformed) : .failure(.malformed)
  }

  fileprivate init(name: String) { self.name = name }
}

/// Builds the tree from expat's calls. It is used for one parse, on one thread.
private final class TreeBuilder {
  private(set) var root: XMLNode?
  private(set) var refusal: XMLNode.Refusal?
  private var open: [XMLNode] = []
  private var parser: XML_Parser?
  private static let deepest = 32

  func parse(_ bytes: ArraySlice<UInt8>) -> Bool {
    guard let parser = XML_ParserCreate("UTF-8") else { return false }
    self.parser = parser
    defer {
      self.parser = nil
      XML_ParserFree(parser)
    }
    XML_SetUserData(parser, Unmanaged.passUnretained(self).toOpaque())
    XML_SetElementHandler(
      parser,
      { me, name, _ in TreeBuilder.of(me)?.start(name.map { String(cString: $0) } ?? "") },
      { me, _ in TreeBuilder.of(me)?.end() })
    XML_SetCharacterDataHandler(parser) { me, text, count in
      guard let text else { return }
      TreeBuilder.of(me)?.add(
        String(decoding: UnsafeRawBufferPointer(start: text, count: Int(count)), as: UTF8.self))
    }
    XML_SetStartDoctypeDeclHandler(parser) { me, _, _, _, _ in TreeBuilder.of(me)?.refuse(.doctype) }
    let status = bytes.withUnsafeBytes { buffer in
      XML_Parse(parser, buffer.bindMemory(to: CChar.self).baseAddress, Int32(clamping: buffer.count), 1)
    }
    return status == XML_STATUS_OK
  }

  /// Stops parsing: nothing more is read or expanded.
  private func refuse(_ why: XMLNode.Refusal) {
    refusal = refusal ?? why
    if let parser { XML_StopParser(parser, XML_Bool(XML_FALSE)) }
  }

  private static func of(_ me: UnsafeMutableRawPointer?) -> TreeBuilder? {
    me.map { Unmanaged<TreeBuilder>.fromOpaque($0).takeUnretainedValue() }
  }

  private func start(_ qualified: String) {
    if open.count >= Self.deepest { return refuse(.tooDeep) }
    open.append(XMLNode(name: qualified.split(separator: ":").last.map(String.init) ?? qualified))
  }

  private func end() {
    guard refusal == nil, let node = open.popLast() else { return }
    if open.isEmpty {
      root = node
    } else {
      open[open.count - 1].children.append(node)
    }
  }

  private func add(_ text: String) {
    guard refusal == nil, !open.isEmpty else { return }
    open[open.count - 1].text += text
  }
}

/// Escapes text for an element. (Quotation marks stay as they are: an ETag has two of them, and a completion should
/// be short.)
func xmlEscaped(_ text: String) -> String {
  text.reduce(into: "") { escaped, character in
    switch character {
    case "&": escaped += "&amp;"
    case "<": escaped += "&lt;"
    case ">": escaped += "&gt;"
    default: escaped.append(character)
    }
  }
}

extension StringProtocol {
  /// Returns the text without white space at its ends.
  func trimmingWhiteSpace() -> String { String(trimming(while: \.isWhitespace)) }
}
