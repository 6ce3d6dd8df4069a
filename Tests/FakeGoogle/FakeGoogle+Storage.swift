import Foundation
import ReelCrypto
import ReelHTTPFakes
import ReelRemoteStorage

extension FakeGoogle {
  package struct Object: Sendable {
    package var bytes: [UInt8]
    package var contentType: String
    package var metadata: [String: String]
    package var generation: Int
    /// What is reported about the object if its bytes are not kept.
    package var told: (length: Int, crc32c: String?)?

    package init(bytes: [UInt8], contentType: String, metadata: [String: String], generation: Int) {
      (self.bytes, self.contentType) = (bytes, contentType)
      (self.metadata, self.generation) = (metadata, generation)
    }
  }

  package struct Kept: Sendable {
    let name: String
    let generation: Int
  }
  /// When soft-deleted objects will be gone for good.
  package static let hardDeleteTime = "2099-01-02T03:04:05.678Z"

  package struct Session: Sendable {
    let name: String
    let contentType: String
    let metadata: [String: String]
    let crc32c: String?
    let generationMatch: Int?
    /// The number of bytes that arrived.
    var length = 0
    var bytes: [UInt8] = []
    /// The generation of the object that it became.
    package var generation: Int?
  }

  /// The size of which a part must be a multiple.
  static let granule = 256 << 10
  /// The size to a multiple of which a part that was cut off is kept. In the real service it is that of parts.
  package static let kept = 64 << 10

  func storage(_ path: String, _ request: ReceivedRequest, _ state: inout State) -> ServerAction {
    let uploads = "/upload/storage/v1/b/\(Self.bucket)/o"
    let objects = "/storage/v1/b/\(Self.bucket)/o"
    if path == uploads {
      if let id = request.query("upload_id") { return session(id, request, &state) }
      return begin(request, &state)
    }
    if path == objects { return list(request, state) }
    guard path.hasPrefix(objects + "/"),
      let name = path.dropFirst(objects.count + 1).removingPercentEncoding
    else { return .error(404, "notFound", "The specified bucket does not exist.") }
    return object(name, request, &state)
  }

  // MARK: Objects

  private func list(_ request: ReceivedRequest, _ state: State) -> ServerAction {
    let prefix = request.query("prefix") ?? ""
    if request.query("softDeleted") == "true" {
      let kept = (state.kept ?? []).filter { $0.name.hasPrefix(prefix) }.map { kept in
        [
          "name": kept.name, "generation": "\(kept.generation)", "softDeleteTime": "2098-12-26T03:04:05Z",
          "hardDeleteTime": Self.hardDeleteTime,
        ]
      }
      return .json(["kind": "storage#objects", "items": kept])
    }
    let names = state.objects.keys.filter {
      $0.hasPrefix(prefix) && !$0.dropFirst(prefix.count).contains("/")
    }.sorted()
    let start = request.query("pageToken").flatMap { Int($0) } ?? 0
    let limit = min(3, request.query("maxResults").flatMap { Int($0) } ?? 3)
    var page: [String: Any] = ["kind": "storage#objects"]
    if names.count > start { page["items"] = names[start...].prefix(limit).map { ["name": $0] } }
    if names.count > start + limit { page["nextPageToken"] = "\(start + limit)" }
    return .json(page)
  }

  private func object(
    _ name: String, _ request: ReceivedRequest, _ state: inout State
  ) -> ServerAction {
    guard let object = state.objects[name] else {
      return .error(404, "notFound", "No such object: \(Self.bucket)/\(name)")
    }
    if let wanted = request.query("ifGenerationMatch"), wanted != "\(object.generation)" {
      return .error(
        412, "conditionNotMet", "At least one of the pre-conditions you specified did not hold.")
    }
    switch request.method {
    case "DELETE":
      state.kept?.append(Kept(name: name, generation: object.generation))
      state.objects[name] = nil
      return .reply(204)
    case "GET" where request.query("alt") == "media": return .reply(200, body: object.bytes)
    case "GET": return .json(Self.resource(name, object))
    default: return .error(405, "methodNotAllowed", "")
    }
  }

  static func resource(_ name: String, _ object: Object) -> [String: Any] {
    var resource: [String: Any] = [
      "kind": "storage#object", "name": name, "bucket": bucket, "generation": "\(object.generation)",
      "contentType": object.contentType, "metadata": object.metadata,
    ]
    if let told = object.told {
      resource["size"] = "\(told.length)"
      resource["crc32c"] = told.crc32c
      return resource
    }
    var crc = CRC32C()
    crc.update(object.bytes)
    resource["size"] = "\(object.bytes.count)"
    resource["crc32c"] = crc.text
    resource["md5Hash"] = Data(Insecure.MD5.hash(data: object.bytes)).base64EncodedString()
    return resource
  }

  // MARK: Sessions

  private func begin(_ request: ReceivedRequest, _ state: inout State) -> ServerAction {
    guard request.method == "POST", request.query("uploadType") == "resumable",
      let name = request.query("name"), request.json["name"] as? String == name,
      let type = request.json["contentType"] as? String,
      request.header("X-Upload-Content-Type") == type, request.header("X-Upload-Content-Length") != nil
    else { return .error(400, "invalid", "Bad Request") }
    // Like the real service, it does not check here whether the object exists: the end of the upload does.
    let id = "\(Self.sessionMark)\(UUID().uuidString)"
    state.sessions[id] = Session(
      name: name, contentType: type, metadata: request.json["metadata"] as? [String: String] ?? [:],
      crc32c: request.json["crc32c"] as? String,
      generationMatch: request.query("ifGenerationMatch").flatMap { Int($0) })
    return .reply(200, headers: [("Location", "\(origin)\(request.target)&upload_id=\(id)")])
  }

  private func session(
    _ id: String, _ request: ReceivedRequest, _ state: inout State
  ) -> ServerAction {
    guard var session = state.sessions[id] else { return .reply(404) }
    if request.method == "DELETE" {
      state.sessions[id] = nil
      return .reply(499)
    }
    if let generation = session.generation {
      guard let object = state.objects[session.name], object.generation == generation else {
        return .reply(410)
      }
      return .json(Self.resource(session.name, object))
    }
    guard request.method == "PUT", let range = Range(request.header("Content-Range")) else {
      return .error(400, "invalid", "Invalid request.")
    }
    if let first = range.first {
      guard first == session.length else {
        return .error(
          400, "invalid", "According to the Content-Range header, the upload offset does not match")
      }
      let isShort = request.body.count < range.count
      guard isShort || range.total == first + range.count || range.count % Self.granule == 0 else {
        return .error(400, "invalid", "The chunk is not a multiple of 256 KiB")
      }
      let kept = isShort ? request.body.count / Self.kept * Self.kept : request.body.count
      session.length += kept
      if keepsBytes { session.bytes += request.body.prefix(kept) }
      state.bytesKept += kept
    }
    state.sessions[id] = session
    if session.length < range.total ?? .max {
      let last = session.length - 1
      return .reply(308, headers: last < 0 ? [] : [("Range", "bytes=0-\(last)")])
    }
    return finish(id, session, &state)
  }

  private func finish(_ id: String, _ session: Session, _ state: inout State) -> ServerAction {
    if keepsBytes, let said = session.crc32c {
      var crc = CRC32C()
      crc.update(session.bytes)
      guard said == crc.text else {
        state.sessions[id] = nil
        return .error(
          400, "invalid", "Provided CRC32C \"\(said)\" doesn't match calculated CRC32C \"\(crc.text)\".")
      }
    }
    if session.generationMatch == 0, state.objects[session.name] != nil {
      state.sessions[id] = nil
      return .error(
        412, "conditionNotMet", "At least one of the pre-conditions you specified did not hold.")
    }
    let generation = state.tick()
    var object = Object(
      bytes: session.bytes, contentType: session.contentType, metadata: session.metadata,
      generation: generation)
    if !keepsBytes { object.told = (session.length, session.crc32c) }
    state.objects[session.name] = object
    state.sessions[id]?.generation = generation
    state.sessions[id]?.bytes = []
    return .json(Self.resource(session.name, object))
  }

  /// `bytes 0-41/100` or `bytes */100`.
  private struct Range {
    let first: Int?
    let count: Int
    /// Nil where it is not stated.
    let total: Int?

    init?(_ text: String?) {
      guard let text, text.hasPrefix("bytes ") else { return nil }
      let halves = text.dropFirst(6).split(separator: "/")
      guard halves.count == 2, Int(halves[1]) != nil || text == "bytes */*" else { return nil }
      total = Int(halves[1])
      if halves[0] == "*" {
        (first, count) = (nil, 0)
        return
      }
      let ends = halves[0].split(separator: "-").compactMap { Int($0) }
      guard ends.count == 2, let total, ends[0] <= ends[1], ends[1] < total else { return nil }
      (first, count) = (ends[0], ends[1] - ends[0] + 1)
    }
  }
}
