import HTTPTypes
import ReelCore
import ReelCrypto
import ReelHTTPFakes
import ReelStorage
import Synchronization
import Testing

@testable import ReelRemoteStorage

@Suite struct TusReadTests {
  @Test(
    "a read-back has the time that its length needs",
    arguments: [(0, 120), (1 << 20, 184), (100 << 30, 6_553_720)] as [(Int64, Int64)])
  func patience(_ length: Int64, _ seconds: Int64) async throws {
    let transport = ScriptedTransport { sent in
      guard sent.call.method == .head else { return HTTPReply(status: .ok) }
      return HTTPReply(
        status: .ok, fields: [.tusResumable: "1.0.0", .uploadOffset: "\(length)", .uploadLength: "\(length)"])
    }
    let (uploader, key) = try await stored(transport)
    // The reply is empty; unless the length is 0, it is truncated and proves nothing.
    var code: UploadError.Code?
    do throws(UploadError) { _ = try await uploader.readBack(key) } catch { code = error.code }
    #expect(code == (length == 0 ? nil : .interrupted))
    #expect(transport.calls.map(\.call.method) == [.head, .get])
    #expect(transport.calls.last?.call.patience == .seconds(seconds))
  }

  @Test("where no length is known, the limit is an hour")
  func unknown() async throws {
    let transport = ScriptedTransport { sent in
      sent.call.method == .head
        ? HTTPReply(status: .gone, fields: [.tusResumable: "1.0.0"]) : HTTPReply(status: .ok)
    }
    let (uploader, key) = try await stored(transport, publicBaseURL: "https://cdn.example/")
    _ = try await uploader.readBack(key)
    #expect(transport.calls.last?.call.patience == .seconds(3600))
  }

  /// How the viewers' address reveals the length where HEAD does not.
  struct Look: Sendable {
    var status: Int
    var range: String?
    var length: String?
    /// The expected size; nil if it can't be known.
    var size: Int64?
  }

  @Test(
    "a file that was passed on is not missing where HEAD does not report its length",
    arguments: [
      Look(status: 206, range: "bytes 0-0/9", length: "1", size: 9), Look(status: 200, length: "9", size: 9),
      Look(status: 416, range: "bytes */0", size: 0), Look(status: 206, range: "bytes 0-0/*", length: "1"),
      Look(status: 206, length: "1"), Look(status: 200, range: "bytes 0-0/*", length: "1"), Look(status: 200),
      Look(status: 416, length: "5"), Look(status: 404, length: "5"),
    ])
  func lengthless(_ look: Look) async throws {
    let transport = ScriptedTransport { sent in
      guard sent.call.origin.host == "cdn.example" else {
        return HTTPReply(status: .gone, fields: [.tusResumable: "1.0.0"])
      }
      if sent.call.method == .head { return HTTPReply(status: .ok) }
      var fields = HTTPFields()
      (fields[.contentRange], fields[.contentLength]) = (look.range, look.length)
      return HTTPReply(status: .init(code: look.status), fields: fields)
    }
    let (uploader, key) = try await stored(transport, publicBaseURL: "https://cdn.example/")
    var (size, code): (Int64?, UploadError.Code?) = (nil, nil)
    do throws(UploadError) { size = try await uploader.find(key)?.size } catch { code = error.code }
    #expect(size == look.size && code == (look.size == nil ? .interrupted : nil))
    #expect(transport.calls.map(\.call.method) == [.head, .head, .get])
    #expect(transport.calls.last?.call.fields[.range] == "bytes=0-0")
  }

  @Test("a video that was passed on before its last reply was lost is not sent again")
  func handedOn() async throws {
    let source = TestSource(size: 9)
    let begun = Mutex(0)
    let transport = ScriptedTransport { sent async throws(HTTPFailure) in
      if sent.call.origin.host == "cdn.example" {
        if sent.call.method == .head { return HTTPReply(status: .ok) }
        return sent.call.fields[.range] == nil
          ? HTTPReply(status: .ok, body: source.bytes)
          : HTTPReply(status: .partialContent, fields: [.contentRange: "bytes 0-0/9"])
      }
      var fields: HTTPFields = [.tusResumable: "1.0.0"]
      switch sent.call.method {
      case .options:
        (fields[.tusVersion], fields[.tusExtension]) = ("1.0.0", "creation")
        return HTTPReply(status: .noContent, fields: fields)
      case .post:
        begun.withLock { $0 += 1 }
        fields[.location] = "/files/1"
        return HTTPReply(status: .created, fields: fields)
      case .patch: throw .broken("a test")
      default: return HTTPReply(status: .gone, fields: fields)
      }
    }
    let key = try #require(ObjectKey("k.mp4"))
    let uploader = RetryingUploader(
      base: TusUploader(
        try #require(TusEndpoint("tus+https://host.example/files/")), transport: transport,
        checkpoints: MemoryCheckpoints(), addresses: TusAddresses(publicBaseURL: "https://cdn.example/")),
      policy: RetryPolicy(firstDelay: .zero, longestDelay: .zero))
    let stored = try await uploader.upload(source.upload, to: key) { _ in }
    #expect(stored.size == 9 && stored.digest == source.digest)
    #expect(begun.withLock { $0 } == 1)
  }

  /// The outcome of a removal, which depends on the server's abilities and on what viewers find afterwards.
  enum Removal: Hashable, Sendable {
    case gone
    case remaining(String)
    case refused(UploadError.Code, String)
  }

  @Test(
    "a removal is done when the server confirms it or viewers find nothing; otherwise the message says what remains where",
    arguments: [
      ("creation,termination", 204, 404, .gone), ("creation,termination", 204, 403, .gone),
      ("creation,termination", 204, 503, .gone),
      ("creation,termination", 204, 200, .remaining("https://cdn.example/k.mp4 still answers")),
      ("creation,termination", 404, 404, .gone),
      (
        "creation,termination", 404, 200,
        .refused(.rejected, "it is at https://cdn.example/k.mp4: remove it there")
      ),
      (
        "creation,termination", 404, 403,
        .remaining("https://cdn.example/k.mp4 does not say whether it has it")
      ),
      ("creation,termination", 404, 503, .refused(.unavailable, "503")),
      ("creation,termination", 500, 404, .refused(.unavailable, "500")),
      ("creation", 204, 404, .refused(.rejected, "no termination extension), so k.mp4 stays there")),
      ("creation", 404, 404, .gone),
      ("creation", 404, 200, .refused(.rejected, "it is at https://cdn.example/k.mp4: remove it there")),
    ] as [(String, Int, Int, Removal)])
  func removing(_ extensions: String, _ upload: Int, _ viewers: Int, _ expected: Removal) async throws {
    let transport = ScriptedTransport { sent in
      if sent.call.origin.host == "cdn.example" { return HTTPReply(status: .init(code: viewers)) }
      var fields: HTTPFields = [.tusResumable: "1.0.0"]
      switch sent.call.method {
      case .options: (fields[.tusVersion], fields[.tusExtension]) = ("1.0.0", extensions)
      case .head where upload < 300:
        (fields[.uploadOffset], fields[.uploadLength]) = ("9", "9")
        return HTTPReply(status: .ok, fields: fields)
      default: return HTTPReply(status: .init(code: upload), fields: fields)
      }
      return HTTPReply(status: .noContent, fields: fields)
    }
    let (uploader, key) = try await stored(transport, publicBaseURL: "https://cdn.example/")
    func check(_ words: String, _ said: String) {
      #expect(said.contains(words), "\(said)")
    }
    do throws(UploadError) {
      let removal = try await uploader.remove(key)
      switch expected {
      case .gone: #expect(removal.isGone, "\(removal)")
      case .remaining(let words): check(words, removal.remains ?? "nothing")
      case .refused: Issue.record("it was removed: \(removal)")
      }
      // The upload is forgotten.
      let asked = transport.calls.count
      #expect(try await uploader.remove(key) == .gone && transport.calls.count == asked)
    } catch {
      guard case .refused(let code, let words) = expected else { throw error }
      #expect(error.code == code)
      check(words, error.message)
    }
    #expect(uploader.traits.removes == extensions.contains("termination"))
  }

  /// An uploader with a checkpoint of a completed upload.
  private func stored(
    _ transport: ScriptedTransport, publicBaseURL: String? = nil
  ) async throws -> (TusUploader, ObjectKey) {
    let endpoint = try #require(TusEndpoint("tus+https://host.example/files/"))
    let key = try #require(ObjectKey("k.mp4"))
    let digest = try #require(ContentDigest(sha256: SHA256.hash(data: [UInt8]())))
    let place = TusUploadState(
      TusURL(origin: HTTPOrigin(isSecure: true, host: "host.example"), target: "/files/1"), through: 0,
      prefix: digest)
    let checkpoints = MemoryCheckpoints()
    let checkpoint = try #require(UploadCheckpoint(place.text, of: digest))
    #expect(try await checkpoints.exchange(nil, for: checkpoint, of: key, in: endpoint.destination))
    return (
      TusUploader(
        endpoint, transport: transport, checkpoints: checkpoints,
        addresses: TusAddresses(publicBaseURL: publicBaseURL)), key
    )
  }
}
