import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOEmbedded
import Reel
import ReelTesting
import Testing

@testable import ReelServer

/// A server without its network: requests are handed to its door.
private final class TestServer: Sendable {
  let uploads = TestUploads()
  let store: UploadStore
  let catalog = MemoryCatalog()
  private let key: AccessKey
  private let door: Door

  init(maxSize: Int64 = 1_000, room: Int64 = .max, uploader: any Uploader = MemoryUploader()) throws {
    store = try uploads.open { _ throws(Problem) in room }
    key = try #require(AccessKey("0123456789abcdef0123456789abcdef"))
    let (prober, metrics) = (ScriptedProber(), ServerMetrics())
    let judge = Judge(
      IngestServices(prober: prober, uploader: uploader, catalog: catalog), store, maxSize: maxSize,
      posters: .none, atOnce: 2, metrics: metrics, logger: Logger(label: "test"))
    let receiver = Receiver(
      store: store, judge: judge,
      reader: BodyReader(pace: SenderPace(least: 1, patience: .seconds(600)), metrics: metrics),
      prober: prober,
      maxSize: maxSize)
    door = Door(
      access: Access(key: key, origins: []), plain: PlainDoor(receiver: receiver, publicURL: ""),
      tus: TusDoor(receiver: receiver, publicURL: ""), draft: DraftDoor(receiver: receiver, publicURL: ""),
      catalog: catalog, metrics: metrics, publicURL: "")
  }

  /// Returns the path of a new address for one upload.
  func address() -> String {
    UploadTicket(author: "ada", maxSize: nil, expires: store.now + 3_600).path(signedWith: key)
  }

  func ask(
    _ method: HTTPRequest.Method, _ path: String, _ headers: HTTPFields = [:], _ body: String = ""
  ) async -> Response {
    var fields = headers
    fields[.authorization] = "Bearer 0123456789abcdef0123456789abcdef"
    if !body.isEmpty, fields[.contentLength] == nil, fields[.transferEncoding] == nil {
      fields[.contentLength] = "\(body.utf8.count)"
    }
    let head = HTTPRequest(
      method: method, scheme: "http", authority: "localhost", path: path, headerFields: fields)
    return await door.respond(
      to: Request(head: head, body: RequestBody(buffer: ByteBuffer(string: body))),
      context: ServerContext(
        source: ApplicationRequestContextSource(channel: EmbeddedChannel(), logger: Logger(label: "test"))))
  }

  func tus(
    _ method: HTTPRequest.Method, _ path: String, _ headers: HTTPFields = [:], _ body: String = ""
  ) async -> Response {
    var fields = headers
    fields[.tusResumable] = "1.0.0"
    if !body.isEmpty { fields[.contentType] = Tus.contentType }
    return await ask(method, path, fields, body)
  }

  func draft(
    _ method: HTTPRequest.Method, _ path: String, _ headers: HTTPFields, _ body: String = ""
  ) async -> Response {
    var fields = headers
    fields[.uploadDraftInteropVersion] = "6"
    if method == .patch { fields[.contentType] = Draft.partType }
    return await ask(method, path, fields, body)
  }

  func left() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: uploads.folder).filter { $0 != ".lock" }
  }

  func posts() async throws -> [Post] {
    try await catalog.newestPosts(matching: PostFilter(), before: nil, limit: 10).posts
  }
}

@Suite struct DoorTests {
  private static let formType = "multipart/form-data; boundary=b"
  private static let form =
    "--b\r\nContent-Disposition: form-data; name=v; filename=a.mp4\r\n\r\na video\r\n--b--\r\n"

  private static func field(_ name: String, _ value: String) -> String {
    "--b\r\nContent-Disposition: form-data; name=\(name)\r\n\r\n\(value)\r\n"
  }

  @Test(
    arguments: [
      (.post, [:], "", 400), (.put, [.contentLength: "0"], "", 400),
      (.put, [.transferEncoding: "chunked"], "", 400),
      (.post, [.contentType: "multipart/form-data"], form, 400),
      (.post, [.contentType: "multipart/form-data; boundary="], form, 400),
      (.put, [.contentEncoding: "gzip"], "packed", 415),
      (
        .post, [.contentType: formType],
        "--b\r\nContent-Disposition: form-data; name=v; filename=\"\"\r\n\r\n\r\n--b--\r\n", 400
      ),
      (.post, [.contentType: formType], field("caption", "Hi") + "--b--\r\n", 400),
      (.post, [.contentType: formType], field("author", "bob") + field("author", "eve") + form, 400),
    ] as [(HTTPRequest.Method, HTTPFields, String, Int)])
  func whatIsNoVideoLeavesAnAddressGood(
    method: HTTPRequest.Method, headers: HTTPFields, body: String, status: Int
  ) async throws {
    let server = try TestServer()
    let address = server.address()
    let answer = await server.ask(method, address, headers, body)
    #expect(answer.status.code == status)
    #expect(answer.headers[.acceptEncoding] == (status == 415 ? "identity" : nil))
    #expect(try server.left().isEmpty)
    #expect(await server.ask(.put, address, [:], "a video").status == .created)
  }

  /// An author that is too long for shared catalogs could not be looked up, and its upload would be judged every minute
  /// forever.
  @Test func anAuthorIsNoLongerThanCatalogsTake() async throws {
    let server = try TestServer()
    for (length, put, sign) in [(2_000, 201, 201), (2_001, 400, 400)] {
      let author = String(repeating: "a", count: length)
      #expect(await server.ask(.put, "/videos?author=\(author)", [:], "a video").status.code == put)
      #expect(await server.ask(.post, "/uploads?author=\(author)").status.code == sign)
    }
  }

  @Test func aFieldWithoutAChosenFileIsNone() async throws {
    let server = try TestServer()
    let empty = "--b\r\nContent-Disposition: form-data; name=w; filename=\"\"\r\n\r\n\r\n"
    let answer = await server.ask(.post, "/videos", [.contentType: Self.formType], empty + Self.form)
    #expect(answer.status == .created)
    #expect(try await server.posts().first?.size == 7)
  }

  @Test func aFormThatCannotFitIsRefusedByItsLength() async throws {
    let server = try TestServer(maxSize: 1_000)
    // A form with 1,000 bytes of video may have this much besides. A body that is shorter than stated is a 400.
    for (length, status) in [(66_537, 413), (66_536, 400)] {
      let headers: HTTPFields = [.contentType: Self.formType, .contentLength: "\(length)"]
      #expect(await server.ask(.post, server.address(), headers, Self.form).status.code == status)
    }
    let small = try TestServer(maxSize: .max, room: 2 << 20)
    let headers: HTTPFields = [.contentType: Self.formType, .contentLength: "\(3 << 20)"]
    #expect(await small.ask(.post, "/videos", headers).status.code == 507)
    #expect(try server.left().isEmpty && small.left().isEmpty)
  }

  @Test func partsOfAVideoAreNoUploads() async throws {
    let server = try TestServer()
    let refused: [HTTPFields] = [
      [.uploadLength: "7", .uploadConcat: "partial"], [.uploadConcat: "final;/uploads/a /uploads/b"],
      [.uploadDeferLength: "1"], [.uploadLength: "7", .trailer: "Upload-Checksum"],
    ]
    for headers in refused {
      #expect(await server.tus(.post, "/uploads", headers, "a video").status == .badRequest)
      #expect(try server.left().isEmpty)
    }
    #expect(await server.tus(.post, "/uploads", [.uploadLength: "7"], "a video").status == .created)
  }

  @Test func anotherFileOfTheSameLengthIsAnotherUpload() async throws {
    let (server, words) = (try TestServer(), "filename YQ==,caption YQ==")
    let address = server.address()
    let first = await server.tus(.post, address, [.uploadLength: "7", .uploadMetadata: words])
    for (words, status) in [
      (words, 201), ("caption YQ==,filename YQ==", 201), ("filename Yg==,caption YQ==", 409), (nil, 409),
    ] as [(String?, Int)] {
      var headers: HTTPFields = [.uploadLength: "7"]
      headers[.uploadMetadata] = words
      let answer = await server.tus(.post, address, headers)
      #expect(answer.status.code == status)
      if status == 201 { #expect(answer.headers[.location] == first.headers[.location]) }
    }
  }

  @Test func whatWasGivenUpIsGoneAndItsAddressGood() async throws {
    let server = try TestServer()
    let address = server.address()
    let place = try #require(await server.tus(.post, address, [.uploadLength: "7"]).headers[.location])
    #expect(await server.tus(.patch, place, [.uploadOffset: "0"], "a vi").status == .noContent)
    #expect(await server.tus(.delete, place).status == .noContent)
    for method in [HTTPRequest.Method.head, .delete, .get] {
      #expect(await server.tus(method, place).status == .notFound)
    }
    #expect(await server.tus(.post, address, [.uploadLength: "8"], "a video!").status == .created)
    // Once there is a verdict, the address stays spent.
    #expect(await server.tus(.delete, place).status == .noContent)
    #expect(await server.tus(.head, place).status == .ok)
  }

  /// Its post must be reported. If the upload could be restarted, its address would make a second post.
  @Test(arguments: [false, true])
  func whatMayBeAPostIsNotGivenUp(byAnAddress: Bool) async throws {
    let server = try TestServer()
    let (id, later) = (UploadID(), server.store.now + 3_600)
    var state = server.uploads.state(7)
    state.rememberedUntil = byAnAddress ? later : nil
    _ = try await server.store.make(id, state)
    try await server.uploads.append("a video", to: id, in: server.store)
    #expect(await server.tus(.delete, "/uploads/\(id)").status == .locked)
    #expect(try await server.store.find(id).isComplete)
  }

  /// A client that asks for the offset of an upload that can't be judged just now may take the answer for a failure,
  /// and start over (tus-js-client does for every status but 423).
  @Test func whatCannotBeJudgedNowIsNotBegunAnew() async throws {
    let uploader = ScriptedUploader(base: MemoryUploader()) { _ throws(UploadError) in
      throw UploadError(.unavailable, "away")
    }
    let server = try TestServer(uploader: uploader)
    let place = try #require(
      await server.tus(.post, "/uploads", [.uploadLength: "7"]).headers[.location])
    #expect(await server.tus(.patch, place, [.uploadOffset: "0"], "a video").status == .serviceUnavailable)
    let head = await server.tus(.head, place)
    #expect(head.status == .locked && head.headers[.uploadOffset] == "7")
    #expect(head.headers[.retryAfter] == "10" && head.headers[.reelVerdict] == nil)
    #expect(await server.draft(.head, place, [:]).status == .serviceUnavailable)
    let again = await server.tus(.patch, place, [.uploadOffset: "7", .contentType: Tus.contentType])
    #expect(again.status == .serviceUnavailable)
  }

  @Test func aFormMayComeWithTheDraftsFields() async throws {
    let server = try TestServer()
    let headers: HTTPFields = [.contentType: Self.formType, .uploadComplete: "?1"]
    let answer = await server.draft(.post, "/videos?author=ada", headers, Self.form)
    #expect(answer.status == .created)
    #expect(try await server.posts().first?.size == 7)
  }

  /// A whole upload needs nothing from the draft, but a part does.
  @Test(arguments: ["4", "7", "8", "x"]) func anotherVersionsWholeUploadIsTaken(version: String) async throws
  {
    let server = try TestServer()
    func put(_ headers: HTTPFields) async -> Int {
      await server.ask(
        .put, "/videos", headers.merging([.uploadDraftInteropVersion: version]), "a video"
      ).status.code
    }
    #expect(await put([.uploadComplete: "?0"]) == 400)
    #expect(await put([.uploadIncomplete: "?1"]) == 400)
    #expect(await put([.uploadComplete: "yes"]) == 400)
    #expect(await put([.uploadComplete: "?1"]) == 201)
    #expect(await put([:]) == 200)
    #expect(
      await server.ask(.put, server.address(), [.uploadDraftInteropVersion: version], "a video!").status
        == .created)
    #expect(
      await server.ask(.head, "/uploads/\(UploadID())", [.uploadDraftInteropVersion: version]).status
        == .badRequest)
  }

  @Test func aPartIsTheLastWhereThatIsSaid() async throws {
    let server = try TestServer()
    let begun = await server.draft(.post, "/videos", [.uploadComplete: "?0"], "a ")
    let place = try #require(begun.headers[.location])
    let part = await server.draft(.patch, place, [.uploadOffset: "2"], "vid")
    #expect(
      part.status == .created && part.headers[.uploadOffset] == "5" && part.headers[.uploadComplete] == "?0")
    let last = await server.draft(
      .patch, place, [.uploadOffset: "5", .uploadComplete: "?1", .uploadLength: "7"], "eo")
    #expect(last.status == .created)
    #expect(await server.draft(.head, place, [:]).headers[.uploadLength] == "7")
  }

  @Test func aLengthThatWasSaidOnceIsHeldTo() async throws {
    let server = try TestServer()
    let begun = await server.draft(.post, "/videos", [.uploadComplete: "?0"], "a ")
    let place = try #require(begun.headers[.location])
    func part(_ offset: Int, _ text: String, _ length: Int?, ends: Bool = false) async -> Int {
      var headers: HTTPFields = [.uploadOffset: "\(offset)", .uploadComplete: ends ? "?1" : "?0"]
      headers[.uploadLength] = length.map { "\($0)" }
      return await server.draft(.patch, place, headers, text).status.code
    }
    #expect(await part(2, "v", 1) == 400)
    #expect(await part(2, "v", 2_000) == 413)
    #expect(await part(2, "v", 7) == 201)
    #expect(await part(3, "i", 8) == 400)
    #expect(await part(3, "ideos", nil) == 413)
    #expect(await part(3, "id", nil, ends: true) == 400)
    #expect(
      try await server.store.find(#require(UploadID(place.dropFirst("/uploads/".count)))).state.length == 7)
  }

  @Test(
    arguments: [
      (.delete, "/videos", "POST, PUT, OPTIONS"), (.get, "/uploads", "POST"), (.post, "/posts", "GET, HEAD"),
      (.post, "/healthz", "GET, HEAD"), (.put, "/metrics", "GET, HEAD"),
      (.put, "/uploads/\(UploadID())", "HEAD, PATCH, DELETE, GET, OPTIONS"),
    ] as [(HTTPRequest.Method, String, String)])
  func aMethodThatIsNotTakenIsToldWhichAre(method: HTTPRequest.Method, path: String, allowed: String)
    async throws
  {
    let answer = await (try TestServer()).ask(method, path)
    #expect(answer.status == .methodNotAllowed && answer.headers[.allow] == allowed)
  }

  @Test func anAddressTakesWhatItTakes() async throws {
    let server = try TestServer()
    let answer = await server.ask(.delete, server.address())
    #expect(answer.status == .methodNotAllowed && answer.headers[.allow] == "GET, HEAD, POST, PUT, OPTIONS")
  }

  /// RFC 9110, 9.3.2.
  @Test func whatCanBeGotHasAHead() async throws {
    let server = try TestServer()
    for path in ["/posts", "/healthz", "/metrics", server.address()] {
      let (whole, head) = (await server.ask(.get, path), await server.ask(.head, path))
      #expect(head.status == .ok && head.body.contentLength == 0, "\(path)")
      #expect(head.headers[.contentType] == whole.headers[.contentType], "\(path)")
      // The numbers change between the two.
      let isSame = path == "/metrics" || head.headers[.contentLength] == whole.headers[.contentLength]
      #expect(isSame && head.headers[.contentLength] != nil, "\(path)")
    }
  }

  @Test(arguments: [(0, 507), (1 << 20 - 1, 507), (1 << 20, 200)] as [(Int64, Int)])
  func whereThereIsNoRoomItIsNotWell(room: Int64, status: Int) async throws {
    let server = try TestServer(room: room)
    #expect(await server.ask(.get, "/healthz").status.code == status)
    // An upload of unknown length needs the same room.
    let answer = await server.ask(.put, "/videos", [.transferEncoding: "chunked"], "a video")
    #expect(answer.status.code == (status == 200 ? 201 : 507))
  }

  @Test func whereTheFolderIsOutOfReachItIsNotWell() async throws {
    let server = try TestServer()
    try FileManager.default.removeItem(atPath: server.uploads.folder)
    #expect(await server.ask(.get, "/healthz").status == .serviceUnavailable)
  }

  @Test(arguments: ["close", "Close, TE", "keep-alive, close"])
  func whoWantsToCloseIsToldSo(value: String) async throws {
    let server = try TestServer()
    #expect(await server.ask(.get, "/healthz", [.connection: value]).headers[.connection] == "close")
    #expect(await server.ask(.get, "/healthz", [.connection: "keep-alive"]).headers[.connection] == nil)
  }
}
