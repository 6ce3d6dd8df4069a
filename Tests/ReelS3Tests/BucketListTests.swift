import HTTPTypes
import ReelCore
import ReelHTTPFakes
import ReelStorage
import ReelTestSupport
import Synchronization
import Testing

@testable import ReelRemoteStorage

/// Listings of a bucket from stores that paginate in their own way or without end.
@Suite(.shortTime) struct BucketListTests {
  private static let names = (0..<5).map { "v\($0).mp4" }

  private func fake(_ edit: @escaping @Sendable (String, HTTPCall) -> String) -> ScriptedTransport {
    let fake = FakeS3(pageSize: 2)
    fake.bucket.withLock { bucket in
      for name in Self.names {
        bucket.objects["a/b/" + name] = FakeS3.Object(bytes: [1], type: "", tag: FakeS3.tag([1]))
      }
    }
    return ScriptedTransport { sent in
      let reply = fake.answer(sent)
      return HTTPReply(
        status: reply.status, fields: reply.fields,
        body: Array(edit(String(decoding: reply.body, as: UTF8.self), sent.call).utf8))
    }
  }

  @Test(
    "a listing is read to its end, however the store paginates it",
    arguments: ["as Amazon's", "True", "no IsTruncated", "white space", "an empty page", "a token always"])
  func whole(_ dialect: String) async throws {
    let hasBeenEmpty = Mutex(false)
    let transport = fake { body, call in
      switch dialect {
      case "True": return body.replacing(">true<", with: ">True<")
      case "no IsTruncated":
        return body.replacing("<IsTruncated>true</IsTruncated>", with: "")
          .replacing("<IsTruncated>false</IsTruncated>", with: "")
      case "white space": return "\n" + body.replacing(">true<", with: "> true <")
      case "a token always":
        return body.replacing(
          ">false</IsTruncated>",
          with: ">false</IsTruncated><NextContinuationToken>token+/=a/b/v4.mp4</NextContinuationToken>")
      case "an empty page":
        // This page has no names yet, only a continuation token.
        let isFirst = hasBeenEmpty.withLock { has in
          defer { has = true }
          return !has
        }
        guard isFirst else { return body }
        return
          "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>token+/=</NextContinuationToken>"
          + "</ListBucketResult>"
      default: return body
      }
    }
    #expect(try await uploader(transport).allNames() == Self.names)
  }

  @Test("a listing continues after its last name where the token is empty")
  func emptyToken() async throws {
    let fake = FakeS3(pageSize: 2, listing: .byName)
    fake.bucket.withLock { bucket in
      for name in Self.names {
        bucket.objects["a/b/" + name] = FakeS3.Object(bytes: [1], type: "", tag: FakeS3.tag([1]))
      }
    }
    let transport = ScriptedTransport { sent in
      let body = String(decoding: fake.answer(sent).body, as: UTF8.self)
      return FakeS3.xml(
        body.replacing("</ListBucketResult>", with: "<NextContinuationToken/></ListBucketResult>"))
    }
    #expect(try await uploader(transport).allNames() == Self.names)
  }

  @Test(
    "a listing whose objects have no size or name is rejected, but the store can still be used",
    arguments: ["Size", "Key"])
  func unreadable(_ element: String) async throws {
    let transport = fake { body, _ in
      body.replacing("<\(element)>", with: "<Other>").replacing("</\(element)>", with: "</Other>")
    }
    let store = try uploader(transport)
    try await store.prepare()
    let error = await #expect(throws: UploadError.self) { _ = try await store.allNames() }
    #expect(error?.code == .interrupted && error?.message.contains("without its name or its size") == true)
  }

  /// How a store that ignores continuation tokens answers.
  enum Endless: CaseIterable { case freshTokens, threeTokens, sameToken, emptyPages }

  @Test("a listing without an end is reported as such", arguments: Endless.allCases)
  func endless(_ endless: Endless) async throws {
    let count = Mutex(0)
    let transport = fake { body, call in
      let number = count.withLock { count in
        count += 1
        return count
      }
      let token =
        switch endless {
        case .freshTokens, .emptyPages: "t\(number)"
        case .threeTokens: "t\(number % 3)"
        case .sameToken: "t"
        }
      let listed =
        endless == .emptyPages
        ? ""
        : "<Contents><Key>a/b/v0.mp4</Key><Size>1</Size></Contents><Contents><Key>a/b/v1.mp4</Key><Size>1</Size></Contents>"
      return "<ListBucketResult>\(listed)<IsTruncated>true</IsTruncated>"
        + "<NextContinuationToken>\(token)</NextContinuationToken></ListBucketResult>"
    }
    let error = await #expect(throws: UploadError.self) { _ = try await uploader(transport).allNames() }
    #expect(error?.code == .rejected, "\(error?.message ?? "")")
    #expect(transport.calls.count <= (endless == .emptyPages ? 110 : 3))
    let files = S3Files(
      try #require(FakeS3.store), transport: transport,
      credentials: FixedCredentials(SignatureV4Tests.s3Key), clock: StoppedClock())
    await #expect(throws: UploadError.self) { _ = try await files.list("") }
  }

  @Test("the list of unfinished uploads is read to its end, newest first")
  func uploads() async throws {
    let upload = { @Sendable (id: String, day: Int) in
      "<Upload><Key>a/b/a.mp4</Key><UploadId>\(id)</UploadId><Initiated>2026-01-0\(day)T00:00:00Z</Initiated></Upload>"
    }
    let transport = ScriptedTransport { sent in
      let isFirst = !sent.call.target.contains("key-marker=")
      let page =
        isFirst
        ? upload("1", 1) + upload("3", 3)
          + "<IsTruncated>True</IsTruncated><NextKeyMarker>a/b/a.mp4</NextKeyMarker>"
        : upload("2", 2) + "<IsTruncated>false</IsTruncated>"
      return FakeS3.xml("<ListMultipartUploadsResult>\(page)</ListMultipartUploadsResult>")
    }
    let client = S3Client(
      try #require(FakeS3.store), transport: transport, credentials: FixedCredentials(SignatureV4Tests.s3Key),
      clock: StoppedClock())
    #expect(try await client.openUploads(of: #require(ObjectKey("a.mp4"))) == ["3", "2", "1"])
  }

  private func client(_ transport: ScriptedTransport) throws -> S3Client {
    S3Client(
      try #require(FakeS3.store), transport: transport, credentials: FixedCredentials(SignatureV4Tests.s3Key),
      clock: StoppedClock())
  }

  /// A page of unfinished uploads with `names` verbatim.
  private static func uploads(_ names: [String], _ more: String = "") -> HTTPReply {
    let listed = names.enumerated().map { number, name in
      "<Upload><Key>\(name)</Key><UploadId>\(number)</UploadId></Upload>"
    }
    return FakeS3.xml("<ListMultipartUploadsResult>\(more)\(listed.joined())</ListMultipartUploadsResult>")
  }

  @Test(
    "unfinished uploads under other keys do no harm, even with long names or names that are invalid in XML")
  func uploadsOfOthers() async throws {
    let long = String(repeating: "x", count: 2 << 20)
    let transport = ScriptedTransport { sent in
      guard sent.call.target.contains("encoding-type=url") else { return Self.uploads(["other\u{1} x"]) }
      return sent.call.target.contains("key-marker=other%01%20x")
        ? Self.uploads(
          ["a%2Fb%2Fa.mp4", "a%252Fb%252Fa.mp4", "%ZZ"],
          "<EncodingType>url</EncodingType><IsTruncated>false</IsTruncated>")
        : Self.uploads(
          ["other%01+x"],
          "<EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>"
            + "<NextKeyMarker>other%01+x</NextKeyMarker><Owner>\(long)</Owner>")
    }
    #expect(try await client(transport).openUploads(of: #require(ObjectKey("a.mp4"))) == ["0"])
    #expect(transport.calls.count == 2)
  }

  @Test("unfinished uploads are requested unencoded from a store that does not know `encoding-type`")
  func unencodedUploads() async throws {
    let transport = ScriptedTransport { sent in
      sent.call.target.contains("encoding-type=")
        ? FakeS3.error(400, "InvalidArgument") : Self.uploads(["a%2Fb%2Fa.mp4", "a/b/a.mp4"])
    }
    #expect(try await client(transport).openUploads(of: #require(ObjectKey("a.mp4"))) == ["1"])
  }

  @Test("a list of unfinished uploads that is never valid XML is unavailable and does not prevent storing")
  func unreadableUploads() async throws {
    let key = try #require(ObjectKey("a.mp4"))
    let count = Mutex(0)
    let fake = FakeS3 { sent in
      guard sent.call.method == .get, sent.call.target.contains("uploads=") else { return nil }
      count.withLock { $0 += 1 }
      return Self.uploads(["other\u{1}", "a/b/a.mp4"])
    }
    let client = try client(fake.transport())
    #expect(try await client.openUploads(of: key) == nil)
    #expect(count.withLock { $0 } == 3)
    _ = try await uploader(fake.transport()).upload(TestSource(size: 11 << 20).upload, to: key) { _ in }
    #expect(fake.bucket.withLock { $0.objects.count == 1 && $0.uploads.isEmpty })
  }

  @Test(
    "a list of unfinished uploads that is invalid once is requested again; a truncated one is left to a later retry"
  )
  func damagedUploads() async throws {
    let key = try #require(ObjectKey("a.mp4"))
    let count = Mutex(0)
    let damaged = ScriptedTransport { _ in
      let isFirst = count.withLock { count in
        count += 1
        return count == 1
      }
      return Self.uploads([isFirst ? "a/b/\u{1}.mp4" : "a/b/a.mp4"])
    }
    #expect(try await client(damaged).openUploads(of: key) == ["0"])
    let cut = ScriptedTransport { _ in FakeS3.xml("<ListMultipartUploadsResult><Upload>") }
    let error = await #expect(throws: UploadError.self) { _ = try await client(cut).openUploads(of: key) }
    #expect(error?.code == .interrupted && cut.calls.count == 1)
  }

  @Test("a listing may contain far more than the one name that was requested")
  func manyForOne() async throws {
    let long = String(repeating: "x", count: 2 << 20)
    let transport = ScriptedTransport { _ in
      FakeS3.xml("<ListBucketResult><Contents><Key>\(long)</Key><Size>1</Size></Contents></ListBucketResult>")
    }
    try await uploader(transport).prepare()
  }

  @Test("a list of parts ends, too, whatever its markers say")
  func endlessParts() async throws {
    let count = Mutex(0)
    let fake = FakeS3 { sent in
      guard sent.call.method == .get, sent.call.target.contains("uploadId=") else { return nil }
      let number = count.withLock { count in
        count += 1
        return count
      }
      return FakeS3.xml(
        "<ListPartsResult><IsTruncated>true</IsTruncated><NextPartNumberMarker>\(number % 3)</NextPartNumberMarker>"
          + "</ListPartsResult>")
    }
    fake.bucket.withLock { $0.uploads["u"] = FakeS3.Upload(name: "a/b/a.mp4", type: "") }
    _ = try await uploader(fake.transport()).upload(
      TestSource(size: 11 << 20).upload, to: try #require(ObjectKey("a.mp4"))
    ) { _ in }
    #expect(count.withLock { $0 } <= 4)
  }
}
