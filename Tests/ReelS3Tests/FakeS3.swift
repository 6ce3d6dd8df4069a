import Foundation
import FoundationEssentials
import HTTPTypes
import ReelCore
import ReelCrypto
import ReelHTTPFakes
import Synchronization

@testable import ReelRemoteStorage

/// An in-memory bucket that implements enough of the protocol: it checks what arrives against what was signed, keeps
/// names apart, assembles parts, and honors create-if-absent. It checks no signature; the published vectors and a real
/// server do.
final class FakeS3: Sendable {
  struct Object: Sendable {
    var bytes: [UInt8]
    var type: String
    var checksum: String?
    var tag: String
    var caching: String?
    /// The size of each part in bytes; empty for an object stored by a single PUT.
    var parts: [Int] = []
    /// Whether the object has a CRC-64/NVME.
    var hasSum = false
  }
  struct Upload: Sendable {
    let name: String
    let type: String
    var hasSum = false
    /// The checksum algorithm that the upload was created with.
    var algorithm: String?
    var parts: [Int: [UInt8]] = [:]
  }
  /// A version in a versioned bucket, or a delete marker that hides the others.
  struct Version: Sendable {
    let id: String
    let name: String
    var isMarker = false
    var keptUntil: String?
    var isHeld = false
  }
  struct Bucket: Sendable {
    /// Ordered from the oldest.
    var versions: [Version] = []
    var objects: [String: Object] = [:]
    var uploads: [String: Upload] = [:]
    var begun = 0
  }

  let bucket = Mutex(Bucket())
  /// Whether ListParts and HEAD report checksums, as Amazon does; without them, the tags still contain the MD5.
  let tellsChecksums: Bool
  /// Whether the bucket answers like moto 5.2: replies are named `…Response`, only HEAD reports checksums, a multipart
  /// object's checksum is composite but lacks the number of parts, and any bytes are accepted.
  let isLikeMoto: Bool
  /// Whether removed objects are kept as versions.
  let keepsVersions: Bool
  /// What the bucket verifies of what arrives, and what it accepts unsigned.
  let checking: Checking
  let damage: Damage?
  /// The number of objects per page of a listing.
  let pageSize: Int
  let listing: Listing

  enum Checking: CaseIterable {
    /// The signed digest must match the bytes.
    case signed
    /// As `signed`, but an unsigned body is accepted.
    case signedIfAny
    /// Also verifies CRC-64/NVME, but never reports it (OpenStack Swift).
    case sums
    /// Keeps the CRC of the whole object and reports it (Amazon).
    case sumsOfTheWhole
    /// As `sumsOfTheWhole`, but refuses a part without the checksum that its upload was created with (MinIO).
    case sumsDemanded
    /// Verifies nothing. Its tag is the MD5 of the current bytes of the whole object (`rclone serve s3`).
    case nothing
    /// As `nothing`, but the tag is that of the MD5s of the parts.
    case nothingOfParts
  }

  /// Whether it keeps CRC-64/NVMEs and reports them.
  private var keepsSums: Bool { [.sumsOfTheWhole, .sumsDemanded].contains(checking) }

  /// When one bit of each large object is flipped.
  enum Damage: CaseIterable {
    /// In its second part, before the store verifies it.
    case onTheWay
    /// In the stored bytes; from then on the store's replies describe those.
    case atRest
  }

  /// How listings paginate: as Amazon's do, or as those of stores that support tokens only in part or not at all.
  enum Listing: CaseIterable { case byToken, byName, byMarker, notAtAll }
  /// Sees each call first; a reply that it returns is the bucket's.
  private let interference: @Sendable (ScriptedTransport.Sent) async throws(HTTPFailure) -> HTTPReply?

  init(
    tellsChecksums: Bool = true, isLikeMoto: Bool = false, keepsVersions: Bool = false, pageSize: Int = 1000,
    listing: Listing = .byToken, checking: Checking = .signed, damage: Damage? = nil,
    interference: @escaping @Sendable (ScriptedTransport.Sent) async throws(HTTPFailure) -> HTTPReply? = {
      _ in nil
    }
  ) {
    self.tellsChecksums = tellsChecksums
    self.isLikeMoto = isLikeMoto
    self.keepsVersions = keepsVersions
    self.pageSize = pageSize
    self.listing = listing
    (self.checking, self.damage) = (checking, damage)
    self.interference = interference
  }

  func transport() -> ScriptedTransport {
    ScriptedTransport { [self] sent async throws(HTTPFailure) in
      if let reply = try await interference(sent) { return reply }
      return answer(damaged(sent))
    }
  }

  static let store = try? S3Store(
    bucket: "bucket", prefix: "a/b", endpoint: HTTPAddress(parsing: "https://s3.test"))

  func answer(_ sent: ScriptedTransport.Sent) -> HTTPReply {
    let parts = sent.call.target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let query = parts.count < 2 ? [:] : Self.query(parts[1])
    let path = parts[0].dropFirst("/bucket".count)
    if !isLikeMoto, let refusal = mismatch(sent) { return refusal }
    if path.isEmpty || path == "/" {
      if query["versions"] != nil { return versions(query["prefix"] ?? "") }
      return query["uploads"] != nil ? uploads(query["prefix"] ?? "") : objects(query)
    }
    return answer(sent, String(path.dropFirst()), query)
  }

  private func damaged(_ sent: ScriptedTransport.Sent) -> ScriptedTransport.Sent {
    guard damage == .onTheWay, sent.call.target.contains("partNumber=2"), sent.body.count > 1000 else {
      return sent
    }
    var body = sent.body
    body[777] ^= 4
    return ScriptedTransport.Sent(call: sent.call, body: body)
  }

  private func mismatch(_ sent: ScriptedTransport.Sent) -> HTTPReply? {
    if [.nothing, .nothingOfParts].contains(checking) { return nil }
    let signed = sent.call.fields[.contentSHA256]
    if checking == .signed || signed != SignatureV4.unsignedPayload,
      signed != Hexadecimal.text(SHA256.hash(data: sent.body))
    {
      return Self.error(400, "XAmzContentSHA256Mismatch")
    }
    if let told = sent.call.fields[.checksumSHA256], told != Self.checksum(sent.body) {
      return Self.error(400, "BadDigest")
    }
    if checking == .sums || keepsSums, let told = sent.call.fields[.checksumCRC64],
      told != Self.sum(sent.body)
    {
      return Self.error(400, "BadDigest")
    }
    return nil
  }

  /// The suffix of the root element in replies about multipart uploads.
  private var ending: String { isLikeMoto ? "Response" : "Result" }

  private func answer(_ sent: ScriptedTransport.Sent, _ name: String, _ query: [String: String]) -> HTTPReply
  {
    let id = query["uploadId"]
    switch (sent.call.method, id) {
    case (.post, nil): return begin(name, sent)
    case (.put, let id?): return part(id, Int(query["partNumber"] ?? "") ?? 0, sent)
    case (.get, let id?): return parts(id)
    case (.post, let id?): return complete(id, sent)
    case (.delete, let id?):
      return Self.empty(bucket.withLock { $0.uploads.removeValue(forKey: id) } == nil ? 404 : 204)
    case (.put, nil): return put(name, sent)
    case (.delete, nil): return delete(name)
    case (.head, nil) where query["versionId"] != nil: return version(name, query["versionId"] ?? "")
    default: return get(name, isHead: sent.call.method == .head)
    }
  }

  // MARK: Objects

  private func delete(_ name: String) -> HTTPReply {
    let marker = bucket.withLock { bucket -> String? in
      bucket.objects[name] = nil
      return keepsVersions ? Self.addVersion(of: name, isMarker: true, to: &bucket) : nil
    }
    guard let marker else { return Self.empty(204) }
    return Self.empty(204, fields: [.deleteMarker: "true", .versionID: marker])
  }

  @discardableResult
  private static func addVersion(of name: String, isMarker: Bool = false, to bucket: inout Bucket) -> String {
    let id = "\(isMarker ? "m" : "v")\(bucket.versions.count + 1)"
    bucket.versions.append(Version(id: id, name: name, isMarker: isMarker))
    return id
  }

  /// Answers ListObjectVersions.
  private func versions(_ prefix: String) -> HTTPReply {
    let found = bucket.withLock { $0.versions }.filter { $0.name.hasPrefix(prefix) }
    let listed = found.reversed().map { version in
      let kind = version.isMarker ? "DeleteMarker" : "Version"
      return "<\(kind)><Key>\(xmlEscaped(version.name))</Key><VersionId>\(version.id)</VersionId></\(kind)>"
    }
    return Self.xml(
      "<ListVersionsResult>\(listed.joined())<IsTruncated>false</IsTruncated></ListVersionsResult>")
  }

  private func version(_ name: String, _ id: String) -> HTTPReply {
    guard let version = bucket.withLock({ $0.versions.first { $0.id == id && $0.name == name } }) else {
      return Self.empty(404)
    }
    var fields: HTTPFields = [.versionID: id]
    fields[.retainUntil] = version.keptUntil
    if version.isHeld { fields[.legalHold] = "ON" }
    return Self.empty(200, fields: fields)
  }

  private func put(_ name: String, _ sent: ScriptedTransport.Sent) -> HTTPReply {
    let isNew = bucket.withLock { bucket in
      guard bucket.objects[name] == nil || sent.call.fields[.ifNoneMatch] != "*" else { return false }
      bucket.objects[name] = Object(
        bytes: sent.body, type: sent.call.fields[.contentType] ?? "",
        checksum: isLikeMoto ? nil : sent.call.fields[.checksumSHA256], tag: Self.tag(sent.body),
        caching: sent.call.fields[.cacheControl])
      if keepsVersions { Self.addVersion(of: name, to: &bucket) }
      return true
    }
    guard isNew else { return Self.error(412, "PreconditionFailed") }
    var fields: HTTPFields = [.eTag: Self.tag(sent.body)]
    if tellsChecksums, !isLikeMoto { fields[.checksumSHA256] = Self.checksum(sent.body) }
    return HTTPReply(status: .ok, fields: fields)
  }

  /// Answers ListObjectsV2; the token is the last name of the page before.
  private func objects(_ query: [String: String]) -> HTTPReply {
    let most = min(pageSize, Int(query["max-keys"] ?? "") ?? pageSize)
    let after =
      switch listing {
      case .byToken: query["continuation-token"]?.dropFirst("token+/=".count).description ?? ""
      case .byName: query["start-after"] ?? ""
      case .byMarker: query["marker"] ?? ""
      case .notAtAll: ""
      }
    let found = bucket.withLock { $0.objects }.filter {
      $0.key.hasPrefix(query["prefix"] ?? "") && $0.key > after
    }.sorted { $0.key < $1.key }
    let listed = found.prefix(most).map { name, object in
      "<Contents><Key>\(xmlEscaped(name))</Key><ETag>\(xmlEscaped(object.tag))</ETag>"
        + "<Size>\(object.bytes.count)</Size></Contents>"
    }
    let isWhole = found.count <= most
    let token = listing != .byToken ? "" : found.prefix(most).last.map { "token+/=" + $0.key } ?? ""
    return Self.xml(
      "<ListBucketResult>\(listed.joined())<IsTruncated>\(!isWhole)</IsTruncated>"
        + (token.isEmpty || isWhole
          ? "" : "<NextContinuationToken>\(xmlEscaped(token))</NextContinuationToken>")
        + "</ListBucketResult>")
  }

  private func get(_ name: String, isHead: Bool) -> HTTPReply {
    guard let object = bucket.withLock({ $0.objects[name] }) else {
      return isHead ? Self.empty(404) : Self.error(404, "NoSuchKey")
    }
    var fields: HTTPFields = [
      .contentLength: "\(object.bytes.count)", .contentType: object.type, .eTag: tag(of: object),
    ]
    if object.hasSum {
      fields[.checksumCRC64] = Self.sum(object.bytes)
      fields[.checksumType] = "FULL_OBJECT"
    } else if tellsChecksums {
      fields[.checksumSHA256] = object.checksum
    }
    return HTTPReply(status: .ok, fields: fields, body: isHead ? [] : object.bytes)
  }

  private func tag(of object: Object) -> String {
    if checking == .nothing { return Self.tag(object.bytes) }
    if damage != .atRest || object.parts.isEmpty { return object.tag }
    var rest = object.bytes[...]
    let sums = object.parts.flatMap { size in
      defer { rest = rest.dropFirst(size) }
      return Insecure.MD5.hash(data: Array(rest.prefix(size)))
    }
    return "\"\(Hexadecimal.text(Insecure.MD5.hash(data: sums)))-\(object.parts.count)\""
  }

  // MARK: Uploads

  private func begin(_ name: String, _ sent: ScriptedTransport.Sent) -> HTTPReply {
    let id = bucket.withLock { bucket in
      bucket.begun += 1
      let id = "upload+\(bucket.begun)/="
      bucket.uploads[id] = Upload(
        name: name, type: sent.call.fields[.contentType] ?? "",
        hasSum: keepsSums && sent.call.fields[.checksumAlgorithm] == "CRC64NVME",
        algorithm: sent.call.fields[.checksumAlgorithm])
      return id
    }
    return Self.xml(
      "<InitiateMultipartUploadResult><UploadId>\(id)</UploadId></InitiateMultipartUploadResult>")
  }

  private func part(_ id: String, _ number: Int, _ sent: ScriptedTransport.Sent) -> HTTPReply {
    if let source = sent.call.fields[.init("x-amz-copy-source") ?? .range] {
      return copiedPart(id, number, of: source, sent.call.fields)
    }
    return bucket.withLock { bucket in
      guard let upload = bucket.uploads[id] else { return Self.error(404, "NoSuchUpload") }
      if checking == .sumsDemanded, !sent.call.fields.hasSum(of: upload.algorithm) {
        return Self.error(400, "InvalidArgument")
      }
      bucket.uploads[id]?.parts[number] = sent.body
      var fields: HTTPFields = [.eTag: Self.tag(sent.body)]
      if upload.hasSum { fields[.checksumCRC64] = Self.sum(sent.body) }
      return HTTPReply(status: .ok, fields: fields)
    }
  }

  private func tellsDigests(of upload: Upload) -> Bool {
    !isLikeMoto && !upload.hasSum && (tellsChecksums || keepsSums && upload.algorithm == "SHA256")
  }

  /// Answers UploadPartCopy from this bucket.
  private func copiedPart(_ id: String, _ number: Int, of source: String, _ fields: HTTPFields) -> HTTPReply {
    let field = { (name: String) in HTTPField.Name(name).flatMap { fields[$0] } }
    let name = (source.removingPercentEncoding ?? "").dropFirst("bucket/".count).description
    let ends = field("x-amz-copy-source-range")?.dropFirst("bytes=".count).split(separator: "-").compactMap {
      Int($0)
    }
    return bucket.withLock { bucket in
      guard let object = bucket.objects[name], let first = ends?.first, let last = ends?.last,
        object.bytes.indices.contains(last)
      else { return Self.error(404, "NoSuchKey") }
      guard field("x-amz-copy-source-if-match") == object.tag else {
        return Self.error(412, "PreconditionFailed")
      }
      guard let upload = bucket.uploads[id] else { return Self.error(404, "NoSuchUpload") }
      let bytes = Array(object.bytes[first...last])
      bucket.uploads[id]?.parts[number] = bytes
      let checksum =
        (tellsDigests(of: upload) ? "<ChecksumSHA256>\(Self.checksum(bytes))</ChecksumSHA256>" : "")
        + (upload.hasSum ? "<ChecksumCRC64NVME>\(Self.sum(bytes))</ChecksumCRC64NVME>" : "")
      return Self.xml(
        "<CopyPart\(ending)><ETag>\(xmlEscaped(Self.tag(bytes)))</ETag>\(checksum)</CopyPart\(ending)>")
    }
  }

  private func parts(_ id: String) -> HTTPReply {
    guard let upload = bucket.withLock({ $0.uploads[id] }) else { return Self.error(404, "NoSuchUpload") }
    let listed = upload.parts.sorted { $0.key < $1.key }.map { number, bytes in
      "<Part><PartNumber>\(number)</PartNumber><ETag>\(xmlEscaped(Self.tag(bytes)))</ETag><Size>\(bytes.count)</Size>"
        + (upload.hasSum ? "<ChecksumCRC64NVME>\(Self.sum(bytes))</ChecksumCRC64NVME>" : "")
        + (tellsDigests(of: upload) ? "<ChecksumSHA256>\(Self.checksum(bytes))</ChecksumSHA256>" : "")
        + "</Part>"
    }
    let algorithm =
      upload.hasSum || tellsDigests(of: upload)
      ? upload.algorithm.map { "<ChecksumAlgorithm>\($0)</ChecksumAlgorithm>" } : nil
    return Self.xml(
      "<ListParts\(ending)>\(listed.joined())<IsTruncated>false</IsTruncated>\(algorithm ?? "")"
        + "</ListParts\(ending)>")
  }

  private func uploads(_ prefix: String) -> HTTPReply {
    let found = bucket.withLock { $0.uploads }.filter { $0.value.name.hasPrefix(prefix) }.map { id, upload in
      "<Upload><Key>\(upload.name)</Key><UploadId>\(id)</UploadId><Initiated>\(id)</Initiated></Upload>"
    }
    return Self.xml("<ListMultipartUploadsResult>\(found.joined())</ListMultipartUploadsResult>")
  }

  private func complete(_ id: String, _ sent: ScriptedTransport.Sent) -> HTTPReply {
    guard let list = XMLNode(parsing: sent.body) else { return Self.error(400, "MalformedXML") }
    return bucket.withLock { bucket in
      guard let upload = bucket.uploads[id] else { return Self.error(404, "NoSuchUpload") }
      if bucket.objects[upload.name] != nil { return Self.error(412, "PreconditionFailed") }
      var (bytes, sizes): ([UInt8], [Int]) = ([], [])
      var (digests, sums): ([UInt8], [UInt8]) = ([], [])
      for part in list.all("Part") {
        let sentPart = upload.parts[Int(part["PartNumber"] ?? "") ?? 0]
        guard let sentPart, Self.tag(sentPart) == part["ETag"] else { return Self.error(400, "InvalidPart") }
        if checking == .sumsDemanded, upload.hasSum, part["ChecksumCRC64NVME"] != Self.sum(sentPart) {
          return Self.error(400, "InvalidPart")
        }
        bytes += sentPart
        sizes.append(sentPart.count)
        digests += SHA256.hash(data: sentPart)
        sums += Array(Insecure.MD5.hash(data: sentPart))
      }
      let count = "-\(list.all("Part").count)"
      let composite = Self.checksum(digests) + (isLikeMoto ? "" : count)
      if damage == .atRest { bytes[bytes.count / 2] ^= 32 }
      bucket.objects[upload.name] = Object(
        bytes: bytes, type: upload.type, checksum: composite,
        tag: "\"\(Hexadecimal.text(Insecure.MD5.hash(data: sums)))\(count)\"", parts: sizes,
        hasSum: upload.hasSum)
      if keepsVersions { Self.addVersion(of: upload.name, to: &bucket) }
      bucket.uploads[id] = nil
      let told =
        tellsChecksums && !isLikeMoto && !upload.hasSum ? "<ChecksumSHA256>\(composite)</ChecksumSHA256>" : ""
      return Self.xml("<CompleteMultipartUpload\(ending)>\(told)</CompleteMultipartUpload\(ending)>")
    }
  }

  // MARK: Replies

  static func error(_ status: Int, _ code: String, fields: HTTPFields = [:], more: String = "") -> HTTPReply {
    HTTPReply(
      status: .init(code: status), fields: fields,
      body: Array("<Error><Code>\(code)</Code><Message>words</Message>\(more)</Error>".utf8))
  }

  static func empty(_ status: Int, fields: HTTPFields = [:]) -> HTTPReply {
    HTTPReply(status: .init(code: status), fields: fields)
  }

  static func xml(_ text: String) -> HTTPReply { HTTPReply(status: .ok, body: Array(text.utf8)) }

  static func sum(_ bytes: [UInt8]) -> String {
    var sum = CRC64()
    sum.update(data: bytes)
    return Base64.text(sum.finalize())
  }

  static func checksum(_ bytes: [UInt8]) -> String { Base64.text(SHA256.hash(data: bytes)) }

  static func tag(_ bytes: [UInt8]) -> String { "\"\(Hexadecimal.text(Insecure.MD5.hash(data: bytes)))\"" }

  private static func query(_ text: Substring) -> [String: String] {
    text.split(separator: "&").reduce(into: [:]) { query, pair in
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      query[String(parts[0])] = parts.count < 2 ? "" : String(parts[1]).removingPercentEncoding ?? ""
    }
  }
}

extension HTTPFields {
  /// Whether a part with these fields may belong to an upload that was created with `algorithm`.
  fileprivate func hasSum(of algorithm: String?) -> Bool {
    switch algorithm {
    case "CRC64NVME": self[.checksumCRC64] != nil
    case "SHA256": self[.checksumSHA256] != nil && self[.checksumCRC64] == nil
    default: self[.checksumCRC64] == nil
    }
  }
}
