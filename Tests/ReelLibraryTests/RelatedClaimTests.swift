import Foundation
import ReelCore
import ReelTestServers
import ReelTestSupport
import Testing

@testable import ReelPostgres

/// Two concurrent transactions that would make two posts of one video. Each must notice the other, although neither is
/// blocked by a row of the other's.
@Suite(.besidePostgres, .shortTime) struct RelatedClaimTests {
  fileprivate static let gate = 4713
  private let sketch = Sketch()

  /// A database in which every insertion into `table` blocks until the gate is opened.
  private struct Scene {
    let database: TestDatabase
    let gatekeeper: PostgresConnection
    let one: PostgresCatalog
    let other: PostgresCatalog

    init() async throws {
      database = try await TestDatabase()
      (one, other) = (
        try await PostgresCatalog.open(try database.pool()),
        try await PostgresCatalog.open(try database.pool())
      )
      gatekeeper = try database.connect()
      // The stores exist already, so that nobody waits for a transaction that inserts one.
      try gatekeeper.execute(
        "INSERT INTO reel.destination (name) VALUES ('file:///media'), ('file:///other')")
    }

    func close(_ table: String) throws {
      try gatekeeper.execute(
        """
        CREATE FUNCTION public.stand_still() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          PERFORM pg_advisory_xact_lock(\(RelatedClaimTests.gate)); RETURN NULL;
        END $$;
        CREATE TRIGGER stand_still AFTER INSERT ON reel.\(table) FOR EACH ROW EXECUTE FUNCTION public.stand_still();
        """)
      try gatekeeper.execute("BEGIN; SELECT pg_advisory_xact_lock(\(RelatedClaimTests.gate))")
    }

    /// Runs both at once, the first slightly ahead.
    func race<One: Sendable, Other: Sendable>(
      _ first: @escaping @Sendable () throws -> One, _ second: @escaping @Sendable () throws -> Other
    ) throws -> (One, Other) {
      let watch = try database.connect()
      let ahead = Aside(first)
      try watch.wait(until: "\(PostgresConnection.waitingForAdvisory) = 1")
      let behind = Aside(second)
      // Until it waits as well, or has ended without noticing the first.
      while !behind.isOver,
        try watch.value("SELECT \(PostgresConnection.waitingForAdvisory)", as: Int.self) != 2
      {
        try Task.checkCancellation()
        usleep(5000)
      }
      try gatekeeper.execute("COMMIT")
      return (try ahead.value(), try behind.value())
    }

    func end() async throws {
      #expect(try await one.damage().isEmpty)
      try await one.close()
      try await other.close()
    }
  }

  @Test("of a file as it is, mended, and mended differently, only one is claimed at a time")
  func mended() async throws {
    let came = sketch.publication(by: "ann")
    func mended() -> ClaimRequest { sketch.request(sketch.publication(by: "ann"), arrived: came.digest) }
    for (first, second) in [
      (mended(), sketch.request(came)), (sketch.request(came), mended()), (mended(), mended()),
    ] {
      let scene = try await Scene()
      try scene.close("attempt")
      let (one, other) = (scene.one, scene.other)
      let (ahead, behind) = try scene.race(
        { try one.claim([first], noting: [])[0].get() }, { try other.claim([second], noting: [])[0].get() })
      #expect(ahead.intent != nil && behind.isHeld)
      try await scene.end()
    }
  }

  @Test("claims for the same files in different orders do not deadlock")
  func orders() async throws {
    let (scene, sketch) = (try await Scene(), sketch)
    let files = (0..<32).map { _ in (came: sketch.digest(), mended: sketch.publication()) }
    let asked = files.map { sketch.request($0.mended, arrived: $0.came) }
    let (one, other) = (scene.one, scene.other)
    for _ in 0..<20 {
      let first = Aside { try one.claim(asked, noting: []).map { try $0.get().intent } }
      let second = Aside { try other.claim(asked.reversed(), noting: []).map { try $0.get().intent } }
      let granted = try (first.value() + second.value()).compactMap(\.self)
      #expect(granted.count == 32)
      for intent in granted {
        try await one.release(intent, because: .retryLater)
        try await other.release(intent, because: .retryLater)
      }
    }
    try await scene.end()
  }

  /// A post of the video that was removed with its objects kept.
  private func removed(_ scene: Scene) async throws -> (post: Post, publication: Publication) {
    let publication = sketch.publication()
    let post = try #require(try await scene.one.publish(sketch.request(publication), with: sketch))
    let kept = Removal(at: Date(), keptUntil: Date() + 99)
    try scene.one.carryOut(.init(post.id, .removal(kept)))
    return (post, publication)
  }

  @Test("a video is published again or restored, but not both", arguments: [true, false])
  func restored(isClaimAhead: Bool) async throws {
    let scene = try await Scene()
    let (post, publication) = try await removed(scene)
    let begun = try scene.one.begin([PostChange(post.id, .restoration)])
    guard case .begun(let open)? = begun.first else {
      Issue.record("\(begun)")
      return
    }
    try scene.close(isClaimAhead ? "attempt" : "post")
    try await race(
      scene, open, with: sketch.request(publication, again: true), isClaimAhead: isClaimAhead)
  }

  /// Expects that either the change of a post or the claim wins, and that the other notices.
  private func race(_ scene: Scene, _ open: OpenChange, with request: ClaimRequest, isClaimAhead: Bool)
    async throws
  {
    let (one, other) = (scene.one, scene.other)
    let claim: @Sendable () throws -> Claim = { try other.claim([request], noting: [])[0].get() }
    let finish: @Sendable () throws -> Post? = { try one.finish([open])[0] }
    if isClaimAhead {
      let (claimed, finished) = try scene.race(claim, finish)
      #expect(claimed.intent != nil && finished == nil)
    } else {
      let (finished, claimed) = try scene.race(finish, claim)
      #expect(finished != nil && claimed.post?.post.id == open.post.id)
    }
    try await scene.end()
  }

  @Test("a video is published in a store or moved there, but not both", arguments: [true, false])
  func moved(isClaimAhead: Bool) async throws {
    let scene = try await Scene()
    let publication = sketch.publication()
    let post = try #require(try await scene.one.publish(sketch.request(publication), with: sketch))
    let there = "file:///other"
    let begun = try scene.one.begin([PostChange(post.id, .move(to: Destination(there)))])
    guard case .begun(let open)? = begun.first else {
      Issue.record("\(begun)")
      return
    }
    try scene.close(isClaimAhead ? "attempt" : "departure")
    try await race(
      scene, open, with: sketch.request(sketch.publication(publication.digest, to: there)),
      isClaimAhead: isClaimAhead)
  }

  @Test("of two posts of one video, only one can move to a store")
  func bothMoved() async throws {
    let scene = try await Scene()
    let (digest, there) = (sketch.digest(), Destination("file:///other"))
    var posts: [PostID] = []
    for store in ["file:///a", "file:///b"] {
      let request = sketch.request(sketch.publication(digest, to: store), again: true)
      posts.append(try #require(try await scene.one.publish(request, with: sketch)).id)
    }
    try scene.close("change")
    let (one, other) = (scene.one, scene.other)
    let changes = posts.map { PostChange($0, .move(to: there)) }
    let (ahead, behind) = try scene.race(
      { try one.begin([changes[0]])[0] }, { try other.begin([changes[1]])[0] })
    guard case .begun = ahead, case .busy = behind else {
      Issue.record("\(ahead), \(behind)")
      return
    }
    try await scene.end()
  }
}
