import HTTPTypes
import Testing

@testable import ReelServer

@Suite struct SizeTextTests {
  @Test(
    arguments: [
      ("1", 1), ("500MB", 500_000_000), ("2 GiB", 2 << 30), ("7kb", 7_000), ("9223372036854775807", .max),
    ] as [(String, Int64)])
  func isASize(text: String, bytes: Int64) { #expect(SizeText.bytes(text) == bytes) }

  @Test(arguments: ["", "0", "-1", "MB", "1.5GB", "9223372036854775808", "99999999TB", "5 parsecs", "١MB"])
  func isNoSize(text: String) { #expect(SizeText.bytes(text) == nil) }

  @Test(
    arguments: [(999, "999 bytes"), (1_000, "1 kB"), (500_000_000, "500 MB"), (4_000_000_000, "4 GB")]
      as [(Int64, String)])
  func isSaid(bytes: Int64, text: String) { #expect(SizeText.text(bytes) == text) }

  @Test(
    arguments: [
      ("90", 90), ("90s", 90), ("15m", 900), ("1.5h", 5_400), ("24h", 86_400), ("7d", 604_800),
      ("8w", 4_838_400),
    ] as [(String, Int64)])
  func isATime(text: String, seconds: Int64) { #expect(TimeText.seconds(text) == seconds) }

  @Test(arguments: [
    "", "s", "0s", "0.5", "-1h", "1e3", "1.5.0h", ".5h", "5.h", "5y", "inf", "9223372036854775807d", "4000d",
  ])
  func isNoTime(text: String) { #expect(TimeText.seconds(text) == nil) }
}

@Suite struct UploadIDTests {
  @Test func readsItselfAndNothingElse() {
    let id = UploadID()
    #expect(UploadID(id.description) == id)
    #expect(UploadID() != id)
    for text in [
      "", "..", "../../etc/passwd0000000000000000", String(repeating: "A", count: 32), id.description + "0",
    ] {
      #expect(UploadID(text) == nil)
    }
  }
}

@Suite struct UploadMetadataTests {
  @Test func readsPairs() throws {
    let metadata = try UploadMetadata(parsing: "filename d29ybGQ=,is_confidential, caption w7w=")
    #expect(metadata["filename"] == "world")
    #expect(metadata["is_confidential"]?.isEmpty == true)
    #expect(metadata["caption"] == "ü")
    #expect(metadata["author"] == nil)
    #expect(try UploadMetadata(parsing: "").values.isEmpty)
  }

  @Test(arguments: ["a b c", "a ?", "a YQ==,a YQ==", String(repeating: "a", count: 9_000), " "])
  func refuses(header: String) {
    #expect(throws: Problem.self) { _ = try UploadMetadata(parsing: header) }
  }
}

@Suite struct PartChecksumTests {
  @Test func comparesWhatWasSaid() throws {
    // The example of tus 1.0, "hello world".
    let checksum = try PartChecksum(parsing: "sha1 Kq5sNclPz7QV2+lfQIuc6R7oRu0=")
    var hash = checksum.algorithm.hasher()
    Array("hello world".utf8).withUnsafeBytes { hash.update(bufferPointer: $0) }
    #expect(hash.digestBytes() == checksum.digest)
  }

  @Test(arguments: ["", "sha1", "sha1 YQ==", "crc32 YQ==", "SHA1 Kq5sNclPz7QV2+lfQIuc6R7oRu0=", "sha256 ?"])
  func refuses(header: String) {
    #expect(throws: Problem.self) { _ = try PartChecksum(parsing: header) }
  }
}

@Suite struct TusHeadersTests {
  private static let part: HTTPFields = [
    .tusResumable: "1.0.0", .contentType: Tus.contentType, .uploadOffset: "7", .contentLength: "5",
  ]

  @Test func readsAPart() throws {
    let part = try Tus.Part(Self.part)
    #expect(part.offset == 7 && part.length == 5 && part.checksum == nil)
  }

  @Test(
    arguments: [
      (HTTPField.Name.tusResumable, "0.2.2", 412), (.tusResumable, nil, 412),
      (.contentType, "video/mp4", 415),
      (.contentType, nil, 415), (.uploadOffset, nil, 400), (.uploadOffset, "-1", 400),
      (.uploadOffset, "+1", 400),
      (.uploadOffset, "1e3", 400), (.uploadOffset, "9223372036854775808", 400), (.contentLength, "five", 400),
      (.uploadChecksum, "sha1 no", 400),
    ] as [(HTTPField.Name, String?, Int)])
  func refusesAPart(name: HTTPField.Name, value: String?, status: Int) {
    var headers = Self.part
    headers[name] = value
    #expect { _ = try Tus.Part(headers) } throws: { ($0 as? Problem)?.status == status }
  }

  @Test func readsACreation() throws {
    let creation = try Tus.Creation([
      .tusResumable: "1.0.0", .uploadLength: "100", .uploadMetadata: "caption aGk=", .contentLength: "0",
    ])
    #expect(creation.length == 100 && creation.metadata["caption"] == "hi")
  }

  @Test func aTypeHasParametersAndCapitals() throws {
    var headers = Self.part
    headers[.contentType] = "Application/Offset+Octet-Stream; charset=utf-8"
    _ = try Tus.Part(headers)
  }

  @Test func refusesABodyThatIsNoUpload() {
    let headers: HTTPFields = [
      .tusResumable: "1.0.0", .uploadLength: "100", .contentLength: "5", .contentType: "text/plain",
    ]
    #expect { _ = try Tus.Creation(headers) } throws: { ($0 as? Problem)?.status == 415 }
    #expect { _ = try Tus.Creation([.tusResumable: "1.0.0", .uploadDeferLength: "1"]) } throws: {
      ($0 as? Problem)?.status == 400
    }
  }

  @Test(arguments: [
    ("return=representation", true), ("respond-async, return=representation", true),
    ("Return=Representation; foo", true), ("return=minimal", false), ("", false),
  ])
  func readsPreferences(header: String, isPreferred: Bool) {
    #expect(([.prefer: header] as HTTPFields).prefers("return=representation") == isPreferred)
  }
}

@Suite struct SenderPaceTests {
  private static let pace = SenderPace(least: 500, patience: .seconds(30))

  @Test(
    arguments: [
      (0, 10, 10, false), (0, 31, 31, true), (1, 29, 29, false), (16_000, 31, 1, false),
      (15_000, 31, 1, true),
      (1_000_000, 600, 31, true), (600_000, 1_000, 1, false),
    ] as [(Int64, Int, Int, Bool)])
  func judges(received: Int64, elapsed: Int, silence: Int, isTooSlow: Bool) {
    #expect(
      Self.pace.isTooSlow(received: received, elapsed: .seconds(elapsed), silence: .seconds(silence))
        == isTooSlow)
  }

  /// The time that the server's disk takes does not count against the sender.
  @Test func whatIsBeingWrittenIsNotTheSendersTime() {
    let begun = ContinuousClock.now
    var progress = SenderProgress(begun: begun)
    progress.noteArrival(of: 1_000, at: begun + .seconds(1))
    #expect(!progress.isTooSlow(by: Self.pace, at: begun + .seconds(500)))
    progress.noteWritten(at: begun + .seconds(500))
    #expect(!progress.isTooSlow(by: Self.pace, at: begun + .seconds(502)))
    #expect(progress.isTooSlow(by: Self.pace, at: begun + .seconds(531)))
    progress.noteArrival(of: 14_000, at: begun + .seconds(529))
    progress.noteWritten(at: begun + .seconds(529))
    #expect(!progress.isTooSlow(by: Self.pace, at: begun + .seconds(529)))
    #expect(progress.isTooSlow(by: Self.pace, at: begun + .seconds(540)))
    #expect(progress.received == 15_000)
  }
}

@Suite struct DraftHeadersTests {
  @Test(
    arguments: [
      ([.uploadDraftInteropVersion: "6", .uploadComplete: "?1", .contentLength: "5"], true, 0, true, 5),
      ([.uploadDraftInteropVersion: "5", .uploadComplete: "?0", .contentLength: "5"], true, 0, false, nil),
      ([.uploadDraftInteropVersion: "3", .uploadIncomplete: "?0", .contentLength: "5"], true, 0, true, 5),
      ([.uploadDraftInteropVersion: "3", .uploadIncomplete: "?1", .uploadLength: "9"], true, 0, false, 9),
      ([.uploadDraftInteropVersion: "3", .uploadOffset: "4", .contentLength: "5"], false, 4, true, 9),
      (
        [
          .uploadDraftInteropVersion: "6", .uploadOffset: "4", .uploadComplete: "?1", .contentLength: "5",
          .contentType: Draft.partType,
        ], false, 4, true, 9
      ),
    ] as [(HTTPFields, Bool, Int64, Bool, Int64?)])
  func readsAPart(headers: HTTPFields, isCreation: Bool, offset: Int64, completes: Bool, total: Int64?) throws
  {
    let part = try Draft.Part(headers, isCreation: isCreation)
    #expect(part.offset == offset && part.completes == completes && part.total == total)
  }

  @Test(
    arguments: [
      ([.uploadDraftInteropVersion: "4", .uploadComplete: "?1"], true, 400),
      ([.uploadDraftInteropVersion: "6", .uploadComplete: "1"], true, 400),
      ([.uploadDraftInteropVersion: "6", .uploadComplete: "?1", .uploadOffset: "4"], true, 400),
      ([.uploadDraftInteropVersion: "6", .uploadComplete: "?1"], false, 400),
      ([.uploadDraftInteropVersion: "6", .uploadOffset: "4"], false, 415),
      (
        [.uploadDraftInteropVersion: "6", .uploadComplete: "?1", .contentLength: "5", .uploadLength: "6"],
        true, 400
      ),
      (
        [.uploadDraftInteropVersion: "5", .uploadOffset: "9223372036854775807", .contentLength: "5"], false,
        400
      ),
    ] as [(HTTPFields, Bool, Int)])
  func refusesAPart(headers: HTTPFields, isCreation: Bool, status: Int) {
    #expect { _ = try Draft.Part(headers, isCreation: isCreation) } throws: {
      ($0 as? Problem)?.status == status
    }
  }

  @Test func saysWhereAnUploadStands() {
    #expect(Draft.headers(.v3, offset: 4, isComplete: false)[.uploadIncomplete] == "?1")
    #expect(Draft.headers(.v6, offset: 4, isComplete: true)[.uploadComplete] == "?1")
  }
}

@Suite struct MultipartParserTests {
  private static let form =
    "preamble\r\n--b0\r\nContent-Disposition: form-data; name=\"caption\"\r\n\r\nHi; ü\r\n--b0\r\n"
    + "content-disposition: form-data; name=video; filename=\"a.mp4\"\r\nContent-Type: video/mp4\r\n\r\n"
    + "\r\n--b\r\r\n-\r\n--b1\r\n\r\n--b0--\r\nepilogue"

  /// Returns the contents of the parts, parsed in pieces of `size` bytes.
  private func parts(_ text: String, by size: Int) throws -> [String] {
    var parser = MultipartParser(boundary: "b0")
    var parts: [String] = []
    let bytes = Array(text.utf8)
    for start in stride(from: 0, to: bytes.count, by: size) {
      for event in try parser.parse(bytes[start..<min(start + size, bytes.count)]) {
        switch event {
        case .part(let name, let isFile): parts.append("\(name) \(isFile): ")
        case .bytes(let bytes): parts[parts.count - 1] += String(decoding: bytes, as: Unicode.ASCII.self)
        case .end: parts.append("end")
        }
      }
    }
    return parts + (parser.isAtEnd ? [] : ["cut off"])
  }

  @Test func readsAFormInWhateverPieces() throws {
    let whole = try parts(Self.form, by: .max >> 1)
    #expect(whole.count == 3 && whole[1] == "video true: \r\n--b\r\r\n-\r\n--b1\r\n" && whole[2] == "end")
    for size in 1...Self.form.utf8.count { #expect(try parts(Self.form, by: size) == whole, "\(size)") }
  }

  @Test func noticesAnEndThatIsMissing() throws {
    let cut = String(Self.form.prefix { $0 != "\u{1}" }.dropLast("--\r\nepilogue".count))
    #expect(try parts(cut, by: 7).last == "cut off")
  }

  @Test(arguments: [
    String(repeating: "x", count: 9_000), "--b0\r\nContent-Type: text/plain\r\n\r\n",
    "--b0\r\n" + String(repeating: "x", count: 9_000),
  ])
  func refuses(text: String) {
    #expect(throws: Problem.self) { _ = try parts(text, by: 100) }
  }

  @Test(
    arguments: [
      ("multipart/form-data; boundary=b0", "b0"),
      ("Multipart/Form-Data;charset=utf-8; boundary=\"b 0\"", "b 0"),
      ("multipart/form-data;\tboundary = b0", "b0"),
      ("multipart/form-data; x=\"; boundary=no\"; boundary=b0", "b0"),
      ("multipart/mixed; boundary=b0", nil), ("video/mp4", nil), (nil, nil),
    ] as [(String?, String?)])
  func findsTheBoundary(type: String?, boundary: String?) throws {
    #expect(try MultipartParser.boundary(of: type) == boundary)
  }

  @Test(arguments: [
    "multipart/form-data", "multipart/form-data; boundary=", "MULTIPART/form-data; boundary=\"\"",
  ])
  func wantsABoundary(type: String) {
    #expect(throws: Problem.self) { _ = try MultipartParser.boundary(of: type) }
  }

  @Test(
    arguments: [
      (#"Content-Disposition:form-data; name="a"; filename="b""#, "a true"),
      ("content-disposition:\tForm-Data;NAME=a;FILENAME=b", "a true"),
      (#"Content-Disposition: form-data ; name = "a" ; filename = "b" "#, "a true"),
      ("Content-Disposition: form-data; name=a; filename*=UTF-8''b", "a true"),
      (#"Content-Disposition: form-data; filename="x;name=caption;y"; name="a""#, "a true"),
      (#"Content-Disposition: form-data; name="a"; x="; filename=b""#, "a false"),
      (#"Content-Disposition: form-data; name="a\"; filename=\\b""#, "a\"; filename=\\b false"),
      ("X-Content-Disposition: form-data; name=b\r\nContent-Disposition: form-data; name=a", "a false"),
    ])
  func readsTheHeadOfAPart(head: String, part: String) throws {
    #expect(try parts("--b0\r\n\(head)\r\n\r\n\r\n--b0--", by: 7) == ["\(part): ", "end"])
  }
}
