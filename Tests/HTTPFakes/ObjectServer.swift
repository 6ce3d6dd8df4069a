import FoundationEssentials
import Glibc
import ReelCore
import Synchronization

/// A server on this machine whose files can be read by range, and listed like those of a bucket: as much of S3, and of
/// any web server, as a reader needs. It checks no signature.
package final class ObjectServer: Sendable {
  /// The contents of an object.
  package enum Content: Sendable {
    case bytes([UInt8])
    /// A file, which may have holes.
    case file(String)
  }
  package struct Object: Sendable {
    package var content: Content
    package var tag: String
    package init(_ content: Content, tag: String) { (self.content, self.tag) = (content, tag) }
    /// Nil for a file.
    package var bytes: [UInt8]? { if case .bytes(let bytes) = content { bytes } else { nil } }
  }
  private struct State: Sendable {
    var objects: [String: Object] = [:]
    var sent = 0
  }
  private let state: Mutex<State>
  private let server: LoopbackServer

  /// - Parameters:
  ///   - objects: by their paths, without the first slash; in a bucket `BUCKET/NAME`.
  ///   - pageSize: the number of objects in a page of a listing.
  ///   - interference: called with each request first; an action that it returns is the reply.
  package static func start(
    _ objects: [String: Object], pageSize: Int = 1000, tls: TLSIdentity? = nil,
    interference: @escaping @Sendable (ReceivedRequest) -> ServerAction? = { _ in nil }
  ) async throws -> ObjectServer {
    let shared = Shared()
    let server = try await LoopbackServer.start(tls: tls, keepsBodies: false) { request in
      if let action = interference(request) { return action }
      return shared.server?.answer(request, pageSize) ?? .close
    }
    let made = ObjectServer(objects, server)
    shared.set(made)
    return made
  }

  private final class Shared: Sendable {
    private let held = Mutex<Weak>(Weak())
    private struct Weak: Sendable { weak var server: ObjectServer? }
    var server: ObjectServer? { held.withLock { $0.server } }
    func set(_ server: ObjectServer) { held.withLock { $0.server = server } }
  }

  private init(_ objects: [String: Object], _ server: LoopbackServer) {
    state = Mutex(State(objects: objects))
    self.server = server
  }

  package var port: Int { server.port }
  package var requests: [ReceivedRequest] { server.requests }
  /// The number of bytes of files that were sent.
  package var sent: Int { state.withLock { $0.sent } }

  package func stop() async { await server.stop() }

  /// Puts an object there, or removes it.
  package func set(_ object: Object?, at path: String) { state.withLock { $0.objects[path] = object } }

  // MARK: Answers

  private func answer(_ request: ReceivedRequest, _ pageSize: Int) -> ServerAction {
    let parts = request.target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let path = String(parts[0].dropFirst()).removingPercentEncoding ?? ""
    let query = parts.count < 2 ? [:] : Self.query(parts[1])
    if query["list-type"] != nil { return list(path, query, pageSize) }
    guard let object = state.withLock({ $0.objects[path] }) else {
      return .reply(404, body: Array("<Error><Code>NoSuchKey</Code></Error>".utf8))
    }
    return give(object, request)
  }

  private func give(_ object: Object, _ request: ReceivedRequest) -> ServerAction {
    let size = Self.size(object.content)
    let fields = [("ETag", object.tag), ("Accept-Ranges", "bytes")]
    if let wanted = request.header("If-Match"), wanted != object.tag {
      return .reply(412, body: Array("<Error><Code>PreconditionFailed</Code></Error>".utf8))
    }
    guard let text = request.header("Range") else {
      return .reply(200, headers: fields + [("Content-Length", "\(size)")])
    }
    let ends = text.dropFirst("bytes=".count).split(separator: "-").compactMap { Int($0) }
    guard ends.count == 2, ends[0] < size else {
      return .reply(416, headers: [("Content-Range", "bytes */\(size)")])
    }
    let range = ends[0]..<min(size, ends[1] + 1)
    let bytes = Self.bytes(object.content, range)
    state.withLock { $0.sent += bytes.count }
    return .reply(
      206, headers: fields + [("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)")],
      body: bytes)
  }

  /// ListObjectsV2, with percent-encoded names; the token is the last name of the previous page.
  private func list(_ bucket: String, _ query: [String: String], _ pageSize: Int) -> ServerAction {
    let folder = bucket.hasSuffix("/") ? bucket : bucket + "/"
    let after = query["continuation-token"] ?? ""
    let found = state.withLock { $0.objects }.compactMap { path, object -> (name: String, Object)? in
      guard path.hasPrefix(folder) else { return nil }
      let name = String(path.dropFirst(folder.count))
      let isLater = Array(after.utf8).lexicographicallyPrecedes(Array(name.utf8))
      return name.hasPrefix(query["prefix"] ?? "") && isLater ? (name, object) : nil
    }.sorted { Array($0.name.utf8).lexicographicallyPrecedes(Array($1.name.utf8)) }
    let page = found.prefix(pageSize)
    let isWhole = page.count == found.count
    let listed = page.map { name, object in
      "<Contents><Key>\(PercentEncoding.encode(name.utf8, sparing: PercentEncoding.unreserved + "/"))</Key>"
        + "<LastModified>2026-11-23T10:00:00.000Z</LastModified><ETag>\(object.tag.replacing("\"", with: "&quot;"))</ETag>"
        + "<Size>\(Self.size(object.content))</Size></Contents>"
    }
    let token = isWhole ? "" : "<NextContinuationToken>\(page.last?.name ?? "")</NextContinuationToken>"
    return .reply(
      200,
      body: Array(
        ("<ListBucketResult><EncodingType>url</EncodingType>\(listed.joined())"
          + "<IsTruncated>\(!isWhole)</IsTruncated>\(token)</ListBucketResult>").utf8))
  }

  private static func query(_ text: Substring) -> [String: String] {
    text.split(separator: "&").reduce(into: [:]) { query, pair in
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      query[String(parts[0])] = parts.count < 2 ? "" : String(parts[1]).removingPercentEncoding ?? ""
    }
  }

  // MARK: Contents

  private static func size(_ content: Content) -> Int {
    switch content {
    case .bytes(let bytes): return bytes.count
    case .file(let path):
      var status = stat()
      return stat(path, &status) == 0 ? Int(status.st_size) : 0
    }
  }

  private static func bytes(_ content: Content, _ range: Range<Int>) -> [UInt8] {
    switch content {
    case .bytes(let bytes): return Array(bytes[range])
    case .file(let path):
      let descriptor = open(path, O_RDONLY | O_CLOEXEC)
      defer { close(descriptor) }
      return [UInt8](unsafeUninitializedCapacity: range.count) { buffer, filled in
        filled = max(0, pread(descriptor, buffer.baseAddress, range.count, off_t(range.lowerBound)))
      }
    }
  }
}
