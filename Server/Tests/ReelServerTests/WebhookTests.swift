import Foundation
import HTTPTypes
import Logging
import Reel
import ReelTesting
import Synchronization
import Testing

@testable import ReelServer

/// A clock that a test sets.
private final class SetClock: WallClock {
  private let time = Mutex(Date(timeIntervalSince1970: 1_800_000_000))
  private let passed = Mutex(ContinuousClock.now)
  func now() -> Date { time.withLock { $0 } }
  func set(_ seconds: Double) { time.withLock { $0 += seconds } }
  func pass(_ seconds: Double) {
    set(seconds)
    passed.withLock { $0 += .seconds(seconds) }
  }
  var instant: ContinuousClock.Instant { passed.withLock { $0 } }
}

/// An outbox in a folder of its own, and a webhook whose answers a test determines.
private final class TestWebhook: HTTPTransport {
  let folder = FileManager.default.temporaryDirectory.appendingPathComponent("events-\(UUID())").path
  let clock = SetClock()
  let metrics = ServerMetrics()
  private let disk = DiskThreads(count: 2)
  private let heard = Mutex<[String]>([])
  /// How the body of a successful answer continues after its first byte: true, it breaks off; false, it never ends.
  /// With nil there is no body.
  let isCut = Mutex<Bool?>(nil)
  /// Called before each answer.
  let onCall = Mutex<(@Sendable () -> Void)?>(nil)
  private let answers = Mutex<[String: (status: Int, retryAfter: String?)]>([:])

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  func outbox() throws -> EventOutbox { try EventOutbox(folder: folder, clock: clock) }

  func delivery() throws -> WebhookDelivery {
    let secret = try #require(WebhookSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
    return WebhookDelivery(
      try outbox(),
      to: try Webhook("https://app.example/hook?key=1", secret: secret, transport: self, clock: clock),
      disk: disk, metrics: metrics, logger: Logger(label: "test"), now: { [clock] in clock.instant })
  }

  /// Sets the answer to events whose id begins with `id`. All others are answered with 204.
  func answer(_ id: String, _ status: Int?, retryAfter: String? = nil) {
    answers.withLock { $0[id] = status.map { ($0, retryAfter) } }
  }

  /// Returns the ids of the events that arrived since the last call.
  func came() -> [String] {
    heard.withLock { heard in
      defer { heard = [] }
      return heard
    }
  }

  func send(_ call: HTTPCall) async throws(HTTPFailure) -> HTTPReply {
    #expect(call.origin.description + call.target == "https://app.example/hook?key=1")
    let id = call.fields[.webhookID] ?? ""
    heard.withLock { $0.append(id) }
    onCall.withLock { $0 }?()
    guard let answer = answers.withLock({ $0.first { id.hasPrefix($0.key) }?.value }) else {
      return HTTPReply(status: .noContent)
    }
    guard answer.status > 0 else { throw .unreachable("no such host") }
    var fields: HTTPFields = [:]
    fields[.retryAfter] = answer.retryAfter
    return HTTPReply(status: HTTPResponse.Status(code: answer.status), fields: fields)
  }

  func fetch<Value: Sendable>(
    _ call: HTTPCall, into initial: Value,
    _ update: @escaping @Sendable (inout Value, UnsafeRawBufferPointer) -> Void
  ) async throws(HTTPFailure) -> (reply: HTTPReply, value: Value) {
    let reply = try await send(call)
    var value = initial
    guard let isCut = isCut.withLock({ $0 }), reply.isSuccess else { return (reply, value) }
    [UInt8(ascii: "x")].withUnsafeBytes { update(&value, $0) }
    if isCut { throw .broken("cut off") }
    try? await Task.sleep(for: .seconds(3_600))
    throw .cancelled
  }

  func published(_ post: Post) -> IngestEvent {
    IngestEvent(
      sequence: 1, at: clock.now(),
      body: .postPublished(FileReference(number: 1, path: SourcePath("upload")), post))
  }

  func restored(_ post: Post) -> IngestEvent {
    IngestEvent(sequence: 1, at: clock.now(), body: .postRestored(post))
  }
}

@Suite struct WebhookTests {
  private let webhook = TestWebhook()

  /// The example is from the tests of Standard Webhooks.
  @Test func signsAsTheStandardDoes() throws {
    let secret = try #require(WebhookSecret(" whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n"))
    #expect(
      secret.signature(
        of: Array(#"{"test": 2432232314}"#.utf8), id: "msg_p5jXN8AQM9LWM0D4loKWxJek", at: 1_614_265_330)
        == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
    for bad in ["MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_MfKQ9r8G", "whsec_%", ""] {
      #expect(WebhookSecret(bad) == nil, "\(bad)")
    }
  }

  @Test func eventsAreKeptUntilTheyAreTaken() async throws {
    let (first, second) = (Post.sample(1), Post.sample(2))
    let outbox = try webhook.outbox()
    #expect(
      try outbox.add([webhook.published(first), webhook.published(second), webhook.restored(first)]) == 3)
    // An event about a file or a run is not an event of a post.
    #expect(
      try outbox.add([
        IngestEvent(
          sequence: 1, at: webhook.clock.now(),
          body: .fileDuplicate(FileReference(number: 1, path: SourcePath("a")), FileDuplicate(post: first)))
      ]) == 0)
    let oldest = try #require(try outbox.waiting().first)
    let body = try #require(try outbox.body(of: oldest))
    struct Sent: Decodable {
      let type, timestamp: String
      let data: IngestEvent
    }
    let sent = try JSONDecoder().decode(Sent.self, from: Data(body))
    #expect(sent.type == "post.published" && sent.data.post?.id == first.id)
    #expect(sent.timestamp == "2027-01-15T08:00:00.000Z")
    // A clock that is set back changes no order, and another process finds the events.
    webhook.clock.set(-86_400)
    _ = try webhook.outbox().add([webhook.restored(second)])
    let delivery = try webhook.delivery()
    var schedule = DeliverySchedule()
    while await delivery.deliver(by: &schedule) {}
    let came = webhook.came()
    #expect(Set(came).count == 4 && came.count == 4)
    for post in [first, second] {
      let own = came.filter { $0.contains("\(post.id)") }
      #expect(own.count == 2 && own.first == "post_published_\(post.id)")
    }
    #expect(try outbox.waiting().isEmpty)
  }

  /// As on a disk that has become read-only.
  @Test func whatWasTakenAndCannotBeRemovedIsNotSentAgain() async throws {
    let (first, second) = (Post.sample(1), Post.sample(2))
    let outbox = try webhook.outbox()
    try outbox.add([webhook.published(first)])
    let path = "\(webhook.folder)/\(try #require(outbox.waiting().first).fileName)"
    // A folder can't be removed as a file is.
    webhook.onCall.withLock {
      $0 = {
        unlink(path)
        mkdir(path, 0o700)
      }
    }
    let delivery = try webhook.delivery()
    var schedule = DeliverySchedule()
    while await delivery.deliver(by: &schedule) {}
    webhook.onCall.withLock { $0 = nil }
    #expect(webhook.came() == ["post_published_\(first.id)"])
    // Later events don't wait for that one, not even those of the same post.
    try outbox.add([webhook.published(second), webhook.restored(first)])
    for _ in 0..<5 {
      webhook.clock.pass(60)
      while await delivery.deliver(by: &schedule) {}
    }
    let came = webhook.came()
    #expect(came.count == 2 && came.contains("post_published_\(second.id)"))
    #expect(!came.contains("post_published_\(first.id)"))
    #expect(try outbox.waiting().count == 1)
    rmdir(path)
    try Data().write(to: URL(filePath: path))
    _ = await delivery.deliver(by: &schedule)
    #expect(try webhook.came().isEmpty && outbox.waiting().isEmpty)
  }

  @Test(arguments: [true, false])
  func aSuccessIsOneHoweverItsBodyEnds(isCut: Bool) async throws {
    let outbox = try webhook.outbox()
    try outbox.add([webhook.published(.sample())])
    webhook.isCut.withLock { $0 = isCut }
    let delivery = try webhook.delivery()
    var schedule = DeliverySchedule()
    while await delivery.deliver(by: &schedule) {}
    #expect(try webhook.came().count == 1 && outbox.waiting().isEmpty)
  }

  @Test func oneThatIsAwayIsAskedWithOneEvent() async throws {
    let posts = (0..<20).map { Post.sample($0) }
    try webhook.outbox().add(posts.map(webhook.published))
    let delivery = try webhook.delivery()
    var schedule = DeliverySchedule()
    webhook.answer("", 0)
    #expect(await delivery.deliver(by: &schedule) == false)
    // These were under way at the same time.
    #expect((1...4).contains(webhook.came().count))
    // Tries follow after 1, 2, 4, … 60 s, each with another event, since a single event may be to blame.
    var asked: Set<String> = []
    let pauses: [Double] = [1, 2, 4, 8, 16, 32, 60, 60]
    for pause in pauses {
      webhook.clock.pass(pause - 0.5)
      #expect(await delivery.deliver(by: &schedule) == false)
      #expect(webhook.came().isEmpty)
      webhook.clock.pass(0.5)
      #expect(await delivery.deliver(by: &schedule) == false)
      let came = webhook.came()
      #expect(came.count == 1)
      asked.formUnion(came)
    }
    #expect(asked.count == pauses.count)
    // Pauses do not depend on the machine's wall clock.
    webhook.clock.set(-86_400)
    webhook.clock.pass(60)
    _ = await delivery.deliver(by: &schedule)
    #expect(webhook.came().count == 1)
    // The webhook may state the pause itself, within reason.
    webhook.answer("", 503, retryAfter: "600")
    webhook.clock.pass(60)
    _ = await delivery.deliver(by: &schedule)
    webhook.clock.pass(599)
    _ = await delivery.deliver(by: &schedule)
    #expect(webhook.came().count == 1)
    webhook.answer("", nil)
    webhook.clock.pass(1)
    while await delivery.deliver(by: &schedule) {}
    // The events that met the outage follow a little later.
    webhook.clock.pass(5)
    while await delivery.deliver(by: &schedule) {}
    let came = webhook.came()
    #expect(Set(came) == Set(posts.map { "post_published_\($0.id)" }) && came.count == posts.count)
  }

  /// A gateway's 502 for one event must not delay the others.
  @Test func oneThatMakesItFailStandsInNobodysWay() async throws {
    let posts = (0..<6).map { Post.sample($0) }
    try webhook.outbox().add(posts.map(webhook.published))
    let delivery = try webhook.delivery()
    var schedule = DeliverySchedule()
    let bad = "post_published_\(posts[0].id)"
    webhook.answer(bad, 502)
    var came: [String] = []
    for _ in 0..<20 {
      while await delivery.deliver(by: &schedule) {}
      came += webhook.came()
      webhook.clock.pass(1)
    }
    #expect(Set(came) == Set(posts.map { "post_published_\($0.id)" }))
    #expect(came.filter { $0 != bad }.count == 5)
    // Like a refused event, it is set aside once others were accepted for days.
    for number in 10..<30 {
      webhook.clock.pass(6 * 3_600)
      try webhook.outbox().add([webhook.published(.sample(number))])
      for _ in 0..<4 {
        while await delivery.deliver(by: &schedule) {}
        webhook.clock.pass(60)
      }
    }
    #expect(try webhook.outbox().setAside().map(\.id) == [bad])
    #expect(try webhook.outbox().waiting().isEmpty)
  }

  @Test func whatIsRefusedStandsInNobodysWay() async throws {
    let (bad, good, later) = (Post.sample(1), Post.sample(2), Post.sample(3))
    let outbox = try webhook.outbox()
    try outbox.add([webhook.published(bad), webhook.published(good)])
    let delivery = try webhook.delivery()
    var schedule = DeliverySchedule()
    let name = "post_published_\(bad.id)"
    webhook.answer(name, 500)
    while await delivery.deliver(by: &schedule) {}
    #expect(Set(webhook.came()) == [name, "post_published_\(good.id)"])
    // Tries follow after 5, 15, … s, and finally every hour. Together with the first, which may end after the other
    // event's delivery, these are too few for the webhook to count as one that accepts nothing.
    for pause in [5, 15, 45, 135, 405, 1_215, 3_600] as [Double] {
      webhook.clock.pass(pause - 1)
      _ = await delivery.deliver(by: &schedule)
      #expect(webhook.came().isEmpty)
      webhook.clock.pass(1)
      _ = await delivery.deliver(by: &schedule)
      #expect(webhook.came() == [name])
    }
    // It is set aside after three days, unless nothing else was accepted meanwhile: then the event is not to blame.
    webhook.clock.pass(4 * 86_400)
    _ = await delivery.deliver(by: &schedule)
    #expect(try webhook.came() == [name] && outbox.report().map { $0.prefix(7) } == ["waiting"])
    try outbox.add([webhook.published(later)])
    while await delivery.deliver(by: &schedule) {}
    webhook.clock.pass(3_600)
    _ = await delivery.deliver(by: &schedule)
    #expect(webhook.came() == ["post_published_\(later.id)", name])
    #expect(try outbox.waiting().isEmpty)
    // Later events of that post wait behind it.
    try outbox.add([webhook.restored(bad), webhook.restored(later)])
    while await delivery.deliver(by: &schedule) {}
    #expect(webhook.came().count == 1)
    #expect(try outbox.report().count == 2 && outbox.report().allSatisfy { $0.hasPrefix("set aside\t") })
    // They are delivered in order once an operator requests it.
    webhook.answer(name, nil)
    #expect(try outbox.replay() == 2)
    while await delivery.deliver(by: &schedule) {}
    let came = webhook.came()
    #expect(came.count == 2 && came.first == name)
    #expect(try outbox.report().isEmpty)
  }

  /// `reel-serve events` does so in a process of its own, while the server looks for what it may deliver.
  @Test func eventsAreReplayedAndAddedWhileTheServerLooks() async throws {
    let (server, operators) = (try webhook.outbox(), try webhook.outbox())
    let posts = (0..<50).map { Post.sample($0) }
    for round in 0..<15 {
      try server.add(posts.flatMap { [webhook.published($0), webhook.restored($0)] })
      try server.setAside(server.waiting().filter { $0.type == "post.published" })
      #expect(try server.deliverable().isEmpty && server.waiting().count == 50)
      try await withThrowingTaskGroup(of: Int.self) { group in
        group.addTask { try operators.replay() }
        group.addTask { [event = webhook.published(.sample(50))] in try operators.add([event]) }
        for _ in 0..<20 {
          _ = try server.deliverable()
          try server.tidy()
        }
        let counts = try await group.reduce(into: []) { $0.append($1) }
        #expect(counts.sorted() == [1, 100])
      }
      #expect(try server.setAside().isEmpty, "round \(round)")
      #expect(try server.deliverable().count == 101)
      for event in try server.waiting() { try server.remove(event) }
    }
  }

  @Test func twoReplaysAtOnceTakeEachEventBack() async throws {
    let (one, other) = (try webhook.outbox(), try webhook.outbox())
    for _ in 0..<10 {
      try one.add((0..<100).map { webhook.published(.sample($0)) })
      try one.setAside(one.waiting())
      async let first = one.replay()
      async let second = other.replay()
      let counts = try await [first, second]
      #expect(try counts.reduce(0, +) == 100 && one.setAside().isEmpty)
      for event in try one.waiting() { try one.remove(event) }
    }
  }

  @Test func aClockThatWasSetBackPutsNoEventBeforeOneThatWasSetAside() throws {
    let outbox = try webhook.outbox()
    try outbox.add([webhook.published(.sample())])
    try outbox.setAside(outbox.waiting())
    webhook.clock.set(-3_600)
    let later = try webhook.outbox()
    try later.add([webhook.restored(.sample())])
    #expect(try later.deliverable().isEmpty && later.waiting().count == 1)
  }

  @Test func onlyWhatWasLeftLongAgoIsTidiedAway() throws {
    let outbox = try webhook.outbox()
    let (left, fresh) = (
      "\(webhook.folder)/.1_post.published_a.json", "\(webhook.folder)/.2_post.published_b.json"
    )
    for path in [left, fresh] { try Data().write(to: URL(filePath: path)) }
    var times = [timeval(), timeval()]
    for index in times.indices { times[index].tv_sec = time(nil) - 7200 }
    utimes(left, times)
    try outbox.tidy()
    #expect(!FileManager.default.fileExists(atPath: left) && FileManager.default.fileExists(atPath: fresh))
  }

  /// A wrong path or a bad release: one event is tried now and then, and none is given up.
  @Test func oneThatTakesNothingIsLeftInPeace() async throws {
    try webhook.outbox().add((0..<200).map { webhook.published(.sample($0)) })
    let delivery = try webhook.delivery()
    var schedule = DeliverySchedule()
    webhook.answer("", 404)
    for _ in 0..<3_600 {
      _ = await delivery.deliver(by: &schedule)
      webhook.clock.pass(1)
    }
    #expect((10...120).contains(webhook.came().count))
    webhook.clock.pass(5 * 86_400)
    for _ in 0..<3_600 {
      _ = await delivery.deliver(by: &schedule)
      webhook.clock.pass(1)
    }
    #expect(try webhook.outbox().setAside().isEmpty)
    webhook.answer("", nil)
    _ = webhook.came()
    webhook.clock.pass(3_600)
    while await delivery.deliver(by: &schedule) {}
    #expect(webhook.came().count == 200)
  }

  @Test func whatIsSentSaysNothingOfTheUpload() throws {
    let event = IngestEvent(
      sequence: 1, at: webhook.clock.now(),
      body: .postPublished(FileReference(number: 1, path: SourcePath("/srv/uploads/secret/whole")), .sample())
    )
    let line = String(decoding: try JSONEncoder().encode(event.withoutUpload), as: UTF8.self)
    #expect(!line.contains("secret") && line.contains(Post.sample().video.rawValue))
  }

  @Test(arguments: ["?a b", "?a\r\nX: y", "?ü", "?a#b", "#b"])
  func aQueryIsOneOrTheServerDoesNotStart(query: String) throws {
    let secret = try #require(WebhookSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
    #expect(throws: (any Error).self) {
      try Webhook(
        "https://app.example/hook" + query, secret: secret, transport: webhook, clock: webhook.clock)
    }
  }

  @Test func linesOfReelsEventsMayBeAdded() throws {
    let outbox = try webhook.outbox()
    let encoder = JSONEncoder()
    let lines = try [webhook.published(.sample()), webhook.restored(.sample())].map {
      String(decoding: try encoder.encode($0), as: UTF8.self)
    }
    #expect(try outbox.add(lines: lines + [""]) == 2)
    #expect(throws: StartFailure.self) { try outbox.add(lines: [lines[0], "no event"]) }
    #expect(try outbox.waiting().count == 2)
    #expect(throws: StartFailure.self) { try EventOutbox.existing(inLibrary: webhook.folder) }
  }

  /// If the verdict were kept without its event, the post would never be reported.
  @Test func aPostIsToldBeforeItsVerdictIsKept() async throws {
    let uploads = TestUploads()
    let store = try uploads.open()
    let outbox = try webhook.outbox()
    // The catalog decides which events are sent again.
    let library = webhook.folder + "-library"
    defer { try? FileManager.default.removeItem(atPath: library) }
    let catalog = try await SQLiteCatalog.open(library: try await LibraryFolder.prepare(at: library))
    let judge = Judge(
      IngestServices(prober: ScriptedProber(), uploader: MemoryUploader(), catalog: catalog), store,
      maxSize: 1_000, posters: .none, atOnce: 1, outbox: outbox, metrics: webhook.metrics,
      logger: Logger(label: "test"))
    let id = try await uploads.upload("a video", of: 7, in: store)
    try FileManager.default.moveItem(atPath: webhook.folder, toPath: webhook.folder + ".away")
    guard case .unwritten = await judge.judgement(of: try store.find(id)) else {
      Issue.record("a verdict")
      return
    }
    #expect(try await store.find(id).state.verdict == nil)
    #expect(try FileManager.default.contentsOfDirectory(atPath: webhook.folder + ".away") == ["aside"])
    await #expect(throws: Problem.self) { try await judge.concludeUnwritten(id) }
    try FileManager.default.moveItem(atPath: webhook.folder + ".away", toPath: webhook.folder)
    guard case .verdict(let verdict) = await judge.judgement(of: try store.find(id)) else {
      Issue.record("no verdict")
      return
    }
    #expect(verdict.word == .published)
    let posts = try outbox.waiting().map(\.post)
    #expect(posts == [verdict.post?.id.description])
    // The post is reported even if its upload is gone meanwhile.
    let other = try await uploads.upload("another video", of: 13, in: store)
    try FileManager.default.moveItem(atPath: webhook.folder, toPath: webhook.folder + ".away")
    guard case .unwritten = await judge.judgement(of: try store.find(other)) else {
      Issue.record("a verdict")
      return
    }
    try FileManager.default.moveItem(atPath: webhook.folder + ".away", toPath: webhook.folder)
    try await store.remove(other)
    await judge.concludeUnwritten()
    #expect(try outbox.waiting().count == 2)
    await judge.concludeUnwritten()
    #expect(try outbox.waiting().count == 2)
    try await catalog.close()
  }
}
