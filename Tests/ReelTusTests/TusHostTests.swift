import HTTPTypes
import ReelCore
import ReelCrypto
import ReelHTTPFakes
import ReelStorage
import ReelTestSupport
import Synchronization
import Testing

@testable import ReelRemoteStorage

/// Where a server may redirect uploads, and what numbers it may send.
@Suite(.shortTime) struct TusHostTests {
  private let key: ObjectKey
  private let source = TestSource(size: 9).upload

  init() throws { key = try #require(ObjectKey("k.mp4")) }

  /// A server that accepts everything and names `location` as the place of each upload.
  private func server(_ location: String) -> ScriptedTransport {
    ScriptedTransport { sent in
      var fields: HTTPFields = [.tusResumable: "1.0.0"]
      switch sent.call.method {
      case .options:
        fields[.tusVersion] = "1.0.0"
        fields[.tusExtension] = "creation,termination"
      case .post:
        fields[.location] = location
        return HTTPReply(status: .created, fields: fields)
      case .patch: fields[.uploadOffset] = "\(sent.body.count)"
      default: (fields[.uploadOffset], fields[.uploadLength]) = ("0", "9")
      }
      return HTTPReply(status: .noContent, fields: fields)
    }
  }

  private func uploader(
    _ transport: ScriptedTransport, endpoint: String = "tus+https://host.example/files/",
    hosts: Set<String> = [], checkpoints: any UploadCheckpoints = MemoryCheckpoints()
  ) throws -> TusUploader {
    TusUploader(
      try #require(TusEndpoint(endpoint)), transport: transport, token: Secret("t0ken"),
      checkpoints: checkpoints,
      uploadHosts: hosts)
  }

  @Test(
    "nothing is sent to a host other than the configured one, and the message names it",
    arguments: [
      ("https://evil.example/files/1", "https://evil.example"), ("//evil.example/1", "https://evil.example"),
      ("https://host.example:8443/files/1", "https://host.example:8443"),
      ("https://127.0.0.1:9200/index/_doc", "https://127.0.0.1:9200"),
      ("https://169.254.169.254/latest", "https://169.254.169.254"), ("https://[::1]/x", "https://[::1]"),
      ("https://host.example.evil.example/1", "https://host.example.evil.example"),
      ("https://localhost/1", "https://localhost"),
    ])
  func otherHosts(_ location: String, _ origin: String) async throws {
    let transport = server(location)
    let error = await #expect(throws: UploadError.self) {
      _ = try await uploader(transport).upload(source, to: key) { _ in }
    }
    #expect(error?.code == .storeUnusable && error?.message.contains("another host, \(origin)") == true)
    #expect(error?.message.contains("`uploadHosts`") == true)
    #expect(transport.calls.allSatisfy { $0.call.origin.description == "https://host.example" })
    #expect(transport.calls.allSatisfy { $0.body.isEmpty })
  }

  /// Cloudflare Stream: every part but the last has at least 5 MiB and is a multiple of 256 KiB.
  @Test(
    "a server that stores each part separately accepts the parts",
    arguments: [9, 8 << 20, 20 << 20, 29 << 20 + 1])
  func partSizes(_ size: Int) async throws {
    let offset = Mutex(0)
    let source = TestSource(size: size)
    let transport = ScriptedTransport { sent in
      var fields: HTTPFields = [.tusResumable: "1.0.0", .uploadLength: "\(size)"]
      switch sent.call.method {
      case .options:
        fields[.tusVersion] = "1.0.0"
        fields[.tusExtension] = "creation"
      case .post:
        fields[.location] = "/files/1"
        return HTTPReply(status: .created, fields: fields)
      case .patch:
        let end = offset.withLock {
          $0 += sent.body.count
          return $0
        }
        guard end == size || sent.body.count >= 5 << 20 && sent.body.count % (256 << 10) == 0 else {
          return HTTPReply(status: .badRequest, fields: fields)
        }
        fields[.uploadOffset] = "\(end)"
      default: fields[.uploadOffset] = "\(offset.withLock { $0 })"
      }
      return HTTPReply(status: .noContent, fields: fields)
    }
    let stored = try await uploader(transport).upload(source.upload, to: key) { _ in }
    #expect(stored.size == Int64(size) && offset.withLock { $0 } == size)
  }

  @Test(
    "where a proxy passes only POST, uploads and removals are sent as overridden POSTs",
    arguments: [403, 405, 501], [true, false])
  func methods(_ status: Int, isUnderstood: Bool) async throws {
    let server = server("https://host.example/files/1")
    let transport = ScriptedTransport { sent throws(HTTPFailure) in
      if [.patch, .delete].contains(sent.call.method) { return HTTPReply(status: .init(code: status)) }
      var call = sent.call
      if let method = call.fields[.methodOverride] {
        guard isUnderstood else { return HTTPReply(status: .badRequest, fields: [.tusResumable: "1.0.0"]) }
        call.method = method == "PATCH" ? .patch : .delete
      }
      return try await server.send(call)
    }
    let uploader = try uploader(transport)
    guard isUnderstood else {
      let error = await #expect(throws: UploadError.self) {
        _ = try await uploader.upload(source, to: key) { _ in }
      }
      #expect(error?.message.contains("\(status)") == true, "\(error?.message ?? "")")
      return
    }
    #expect(try await uploader.upload(source, to: key) { _ in }.size == 9)
    #expect(try await uploader.remove(key) == .gone)
    #expect(transport.calls.map(\.call.method) == [.options, .post, .patch, .post, .post])
  }

  /// Which status counts when a method is refused and the POST in its place gets another answer.
  @Test(arguments: [(204, false, 405), (413, true, 413), (404, true, 405), (405, true, 405)])
  func answersToOverriding(_ status: Int, isOfServer: Bool, heard: Int) async throws {
    let server = server("https://host.example/files/1")
    let transport = ScriptedTransport { sent throws(HTTPFailure) in
      if sent.call.method == .delete { return HTTPReply(status: .init(code: 405)) }
      if sent.call.fields[.methodOverride] == "DELETE" {
        return HTTPReply(status: .init(code: status), fields: isOfServer ? [.tusResumable: "1.0.0"] : [:])
      }
      return try await server.send(sent.call)
    }
    let uploader = try uploader(transport)
    _ = try await uploader.upload(source, to: key) { _ in }
    let error = await #expect(throws: UploadError.self) { _ = try await uploader.remove(key) }
    #expect(error?.message.contains("\(heard)") == true, "\(error?.message ?? "")")
  }

  @Test("a host in `uploadHosts` gets the bytes, but never the token")
  func namedHost() async throws {
    for (location, host) in [
      ("https://upload.example/1?sig=x", "Upload.example"),
      ("https://upload.example:8443/1", "upload.example:8443"),
    ] {
      let transport = server(location)
      _ = try await uploader(transport, hosts: [host]).upload(source, to: key) { _ in }
      let patch = try #require(transport.calls.first { $0.call.method == .patch })
      #expect(patch.call.origin.host == "upload.example" && patch.body.count == 9)
      for sent in transport.calls {
        #expect(sent.call.credentials.isEmpty == (sent.call.origin.host == "upload.example"))
      }
      // Another port is another server.
      await #expect(throws: UploadError.self) {
        _ = try await uploader(server("https://upload.example:1/1"), hosts: [host]).upload(source, to: key) {
          _ in
        }
      }
      // Never unencrypted if the configured server is encrypted.
      await #expect(throws: UploadError.self) {
        _ = try await uploader(server("http://upload.example/1"), hosts: [host]).upload(source, to: key) {
          _ in
        }
      }
    }
  }

  @Test("the server's own host needs no permission, however its location is written")
  func ownHost() async throws {
    for location in [
      "/files/1", "1", "https://host.example/files/1", "https://HOST.example:443/x/1", "//host.example/1",
    ] {
      let transport = server(location)
      _ = try await uploader(transport).upload(source, to: key) { _ in }
      #expect(transport.calls.contains { $0.call.method == .patch && $0.body.count == 9 }, "\(location)")
    }
  }

  @Test("an upload recorded at another host is not resumed there")
  func resumed() async throws {
    let checkpoints = MemoryCheckpoints()
    let empty = try #require(ContentDigest(sha256: SHA256.hash(data: [UInt8]())))
    let place = try #require(TusUploadState("tus1 0 \(empty.hex) https://evil.example/1"))
    let checkpoint = try #require(UploadCheckpoint(place.text, of: source.digest))
    let destination = try #require(TusEndpoint("tus+https://host.example/files/")).destination
    #expect(try await checkpoints.exchange(nil, for: checkpoint, of: key, in: destination))
    let transport = server("/files/2")
    let error = await #expect(throws: UploadError.self) {
      _ = try await uploader(transport, checkpoints: checkpoints).upload(source, to: key) { _ in }
    }
    #expect(error?.code == .storeUnusable && transport.calls.allSatisfy { $0.body.isEmpty })
    _ = try await uploader(transport, hosts: ["evil.example"], checkpoints: checkpoints)
      .upload(source, to: key) { _ in }
  }

  @Test("no offset or length traps or makes an incomplete upload look complete")
  func extremes() async throws {
    for text in Extremes.texts where !text.contains("\u{0}") {
      for kind in ["offset", "length", "max", "patch", "first"] {
        let transport = ScriptedTransport { sent in
          var fields: HTTPFields = [.tusResumable: "1.0.0"]
          switch sent.call.method {
          case .options:
            fields[.tusVersion] = "1.0.0"
            fields[.tusExtension] = "creation,termination,creation-with-upload"
            if kind == "max" { fields[.tusMaxSize] = text }
          case .post:
            fields[.location] = "/files/1"
            return HTTPReply(status: .created, fields: fields)
          case .patch: fields[.uploadOffset] = kind == "patch" ? text : "9"
          default:
            fields[.uploadOffset] = ["offset", "first"].contains(kind) ? text : "4"
            fields[.uploadLength] = kind == "length" ? text : kind == "offset" ? nil : "9"
          }
          return HTTPReply(status: .noContent, fields: fields)
        }
        let checkpoints = MemoryCheckpoints()
        let store = TusUploader(
          try #require(TusEndpoint("tus+https://host.example/files/")), transport: transport,
          checkpoints: checkpoints, partSize: 4)
        let object = try? await store.upload(source, to: key) { _ in }
        if object != nil {
          let sent = transport.calls.reduce(0) { $0 + $1.body.count }
          #expect(sent >= 9, "\(kind) \(text): \(sent) bytes were sent")
        }
        _ = try? await store.upload(source, to: key) { _ in }
        if let found = try? await store.find(key) { #expect(found.size >= 0) }
        _ = try? await store.readBack(key)
        for sent in transport.calls {
          #expect(
            HTTPTimeouts().limit(for: sent.call, at: nil, received: 0) <= .seconds(3600), "\(kind) \(text)")
        }
      }
    }
  }

  private final class StoredBytes: Sendable {
    let bytes = Mutex<[UInt8]>([])
  }

  /// A server behind a proxy that refuses requests with more than `most` bytes.
  private func narrow(_ most: Int, _ extensions: String = "creation,termination") -> (
    ScriptedTransport, StoredBytes
  ) {
    let store = StoredBytes()
    let transport = ScriptedTransport { sent in
      if sent.body.count > most {
        return HTTPReply(status: .contentTooLarge, body: Array("<html>nginx".utf8))
      }
      var fields: HTTPFields = [.tusResumable: "1.0.0"]
      switch sent.call.method {
      case .options: (fields[.tusVersion], fields[.tusExtension]) = ("1.0.0", extensions)
      case .post:
        store.bytes.withLock { $0 = sent.body }
        fields[.location] = "/files/1"
        fields[.uploadOffset] = "\(sent.body.count)"
        return HTTPReply(status: .created, fields: fields)
      case .patch:
        fields[.uploadOffset] = store.bytes.withLock { stored in
          if sent.call.fields[.uploadOffset] == "\(stored.count)" { stored += sent.body }
          return "\(stored.count)"
        }
      default:
        fields[.uploadOffset] = store.bytes.withLock { "\($0.count)" }
        fields[.uploadLength] = sent.call.method == .head ? "5000000" : nil
      }
      return HTTPReply(status: .noContent, fields: fields)
    }
    return (transport, store)
  }

  @Test(
    "where a proxy accepts no large parts, smaller ones are sent",
    arguments: [1 << 20, 100_000, 65_536],
    ["creation,termination", "creation,termination,creation-with-upload"])
  func smallerParts(_ most: Int, _ extensions: String) async throws {
    let (transport, stored) = narrow(most, extensions)
    let large = TestSource(size: 5_000_000)
    let store = try uploader(transport)
    _ = try await store.upload(large.upload, to: key) { _ in }
    #expect(stored.bytes.withLock { $0 } == large.bytes)
    let refused = transport.calls.filter { $0.body.count > most }.count
    #expect((1...8).contains(refused))
    // The limit is not probed again.
    _ = try await store.upload(large.upload, to: try #require(ObjectKey("l.mp4"))) { _ in }
    #expect(transport.calls.filter { $0.body.count > most }.count == refused)
  }

  @Test("a part sent in pieces resumes at the piece that failed")
  func brokenPieces() async throws {
    let (base, stored) = narrow(1 << 20)
    let broken = Mutex(false)
    let transport = ScriptedTransport { sent async throws(HTTPFailure) in
      let isFirst = broken.withLock { broken in
        defer { broken = broken || sent.call.fields[.uploadOffset] == "2097152" }
        return !broken
      }
      if isFirst, sent.call.fields[.uploadOffset] == "2097152" { throw HTTPFailure.broken("a test") }
      var call = sent.call
      call.body = .bytes(sent.body)
      return try await base.send(call)
    }
    let checkpoints = MemoryCheckpoints()
    let large = TestSource(size: 5_000_000)
    await #expect(throws: UploadError.self) {
      _ = try await uploader(transport, checkpoints: checkpoints).upload(large.upload, to: key) { _ in }
    }
    let sent = transport.calls.count
    _ = try await uploader(transport, checkpoints: checkpoints).upload(large.upload, to: key) { _ in }
    #expect(stored.bytes.withLock { $0 } == large.bytes)
    let again = transport.calls.dropFirst(sent).filter { $0.call.method == .patch }
    #expect(again.compactMap { $0.call.fields[.uploadOffset].flatMap { Int($0) } }.min() == 2_097_152)
  }

  @Test("if not even 64 KiB are accepted, the message names the proxy's limit")
  func tooNarrow() async throws {
    let (transport, _) = narrow(1000)
    let error = await #expect(throws: UploadError.self) {
      _ = try await uploader(transport).upload(TestSource(size: 5_000_000).upload, to: key) { _ in }
    }
    #expect(error?.code == .tooLarge && error?.isOfTheFile == false)
    #expect(error?.message.contains("in front of it") == true, "\(error?.message ?? "")")
  }

  @Test("a file above the limit that the server itself announces is the file's own problem")
  func announced() async throws {
    let transport = ScriptedTransport { _ in
      HTTPReply(
        status: .noContent,
        fields: [.tusResumable: "1.0.0", .tusVersion: "1.0.0", .tusExtension: "creation", .tusMaxSize: "8"])
    }
    let error = await #expect(throws: UploadError.self) {
      _ = try await uploader(transport).upload(source, to: key) { _ in }
    }
    #expect(error?.code == .tooLarge && error?.isOfTheFile == true)
  }

  @Test(
    "an unclear reply does not count as proof that an object is gone",
    arguments: [(200, true, "4", nil), (403, false, nil, nil), (204, true, "9", nil)]
      as [(Int, Bool, String?, String?)])
  func unclear(_ status: Int, _ isTus: Bool, _ offset: String?, _ length: String?) async throws {
    let checkpoints = MemoryCheckpoints()
    _ = try await TusUploader(
      try #require(TusEndpoint("tus+https://host.example/files/")), transport: server("/files/1"),
      checkpoints: checkpoints
    ).upload(source, to: key) { _ in }
    let transport = ScriptedTransport { sent in
      var fields: HTTPFields = [.tusResumable: "1.0.0", .tusVersion: "1.0.0", .tusExtension: "creation"]
      if sent.call.method == .options { return HTTPReply(status: .noContent, fields: fields) }
      if !isTus { fields = [:] }
      (fields[.uploadOffset], fields[.uploadLength]) = (offset, length)
      return HTTPReply(status: .init(code: status), fields: fields)
    }
    let store = TusUploader(
      try #require(TusEndpoint("tus+https://host.example/files/")), transport: transport,
      checkpoints: checkpoints)
    await #expect(throws: UploadError.self) { _ = try await store.find(key) }
    await #expect(throws: UploadError.self) { _ = try await store.readBack(key) }
  }

  @Test("403 from the server itself means that there is no object if Reel has no token")
  func forbidden() async throws {
    let checkpoints = MemoryCheckpoints()
    let endpoint = try #require(TusEndpoint("tus+https://host.example/files/"))
    _ = try await TusUploader(endpoint, transport: server("/files/1"), checkpoints: checkpoints)
      .upload(source, to: key) { _ in }
    let transport = ScriptedTransport { _ in HTTPReply(status: .forbidden, fields: [.tusResumable: "1.0.0"]) }
    #expect(try await TusUploader(endpoint, transport: transport, checkpoints: checkpoints).find(key) == nil)
  }
}
