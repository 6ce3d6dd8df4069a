import Foundation
import ReelCore
import ReelFakeGoogle
import ReelStorage
import ReelTestSupport
import Testing

@testable import ReelRemoteStorage

/// Posts as Firestore documents.
@Suite(.shortTime) struct FirestoreTests {
  private func retrying(_ base: any PostRecorder) -> any PostRecorder {
    RetryingRecorder(
      base: base, policy: RetryPolicy(attempts: 4, firstDelay: .zero, longestDelay: .zero))
  }

  @Test("a document has the keys of the post's JSON, each with Firestore's type for it")
  func document() async throws {
    let fake = try await FakeGoogle.start()
    let post = try newPost(PostMetadata(authorID: "7", caption: "=1+1 \u{202E}é", music: nil))
    let recorded = try await fake.posts().record(post)
    let fields = try #require(fake.fields("Post/\(post.id)"))
    let json = try #require(
      try JSONSerialization.jsonObject(with: JSONEncoder().encode(post)) as? [String: Any])
    // The name of the source file is private and not for the readers of the feed.
    #expect(Set(fields.keys) == Set(json.keys).subtracting(["sourceName"]))
    #expect(recorded == RecordedPost(id: post.id, pageNumber: 1))
    func value(_ name: String) -> String {
      guard let (kind, value) = fields[name]?.first else { return "none" }
      return "\(kind) \(value)"
    }
    #expect(value("id") == "stringValue \(post.id)" && value("author") == "stringValue 7")
    #expect(value("autherName") == "nullValue <null>" && value("music") == "nullValue <null>")
    #expect(value("caption") == "stringValue =1+1 \u{202E}é" && value("pageNumber") == "integerValue 1")
    #expect(fields["duration"]?["doubleValue"] as? Double == 5)
    #expect(value("createdAt") == "timestampValue 2026-11-21T20:15:58.123Z")
    #expect(value("digest") == "stringValue \(try #require(post.digest))")
    #expect(fields["probe"]?["mapValue"] != nil && value("likeCount") == "integerValue 0")
    #expect(fake.fields("PostCounter/Post")?["pageNumber"]?["integerValue"] as? String == "1")
  }

  @Test("an edit writes only what it changes, and keeps what apps count and add")
  func edited() async throws {
    let fake = try await FakeGoogle.start()
    let posts = try await fake.posts()
    let post = try newPost(PostMetadata(authorID: "7", caption: "befor", music: "m"))
    let place = try await posts.record(post)
    let path = "Post/\(post.id)"
    fake.set("likeCount", ["integerValue": "41"], in: path)
    fake.set("mine", ["stringValue": "kept"], in: path)
    var edited = post
    (edited.caption, edited.music) = ("before", nil)
    for _ in 0..<2 { #expect(try await posts.update(edited, from: post) == place) }
    let fields = try #require(fake.fields(path))
    #expect(fields["caption"]?["stringValue"] as? String == "before")
    #expect(fields["music"]?["nullValue"] != nil && fields["mine"]?["stringValue"] as? String == "kept")
    #expect(fields["likeCount"]?["integerValue"] as? String == "41")
    #expect(fake.state.withLock { $0.commits } == 2, "what is as it should be is not written")
    // A count kept by another program is written back.
    var counted = edited
    counted.likeCount = 42
    try await posts.update(counted, from: edited)
    #expect(fake.fields(path)?["likeCount"]?["integerValue"] as? String == "42")
    #expect(fake.fields(path)?["pageNumber"]?["integerValue"] as? String == "\(place.pageNumber)")
    // Rewrites every field that Reel knows, and no others.
    fake.set("caption", ["stringValue": "by hand"], in: path)
    try await posts.update(counted, from: nil)
    #expect(fake.fields(path)?["caption"]?["stringValue"] as? String == "before")
    #expect(fake.fields(path)?["mine"]?["stringValue"] as? String == "kept")
    // A post that was removed by hand is recorded again with a new number.
    fake.remove(path)
    #expect(try await posts.update(counted, from: edited).pageNumber > place.pageNumber)
    #expect(fake.fields(path)?["caption"]?["stringValue"] as? String == "before")
    #expect(posts.feed.name.hasSuffix("/my-app") && posts.feed != posts.destination)
  }

  @Test("two libraries that publish at once get different numbers, without a gap")
  func twoLibraries() async throws {
    let fake = try await FakeGoogle.start()
    let libraries = [try await fake.posts(), try await fake.posts(), try await fake.posts()]
    let numbers = try await withThrowingTaskGroup { group in
      for index in 0..<30 {
        let posts = retrying(libraries[index % 3])
        group.addTask { try await posts.record(try newPost()).pageNumber }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(numbers.sorted() == Array(1...30))
    #expect(fake.ids(in: "Post").count == 30)
  }

  /// Faults of a request, and whether a retry overcomes each.
  static let faults: [(FakeGoogle.Fault, Bool)] = {
    var all: [(FakeGoogle.Fault, Bool)] = []
    let aborted = #"{"error":{"code":409,"status":"ABORTED","message":"contention"}}"#
    for method in [":beginTransaction", ":batchGet", ":commit"] {
      all += [.reset, .swallow].map { (.init(words: method, effect: $0), true) }
      all += [429, 500, 502, 503, 504].map { (.init(words: method, effect: .status($0, "")), true) }
      all.append((.init(words: method, effect: .status(409, aborted)), true))
      if method != ":commit" { all.append((.init(words: method, effect: .status(200, "<html>")), true)) }
      all += [400, 403, 404].map { (.init(words: method, effect: .status($0, "{}")), false) }
    }
    all.append((.init(words: ":batchGet", effect: .status(409, "[\(aborted)]")), true))
    all.append((.init(words: ":commit", effect: .status(401, "")), true))
    return all
  }()

  @Test("after every fault there is finally one document with one number", arguments: faults.indices)
  func fault(_ index: Int) async throws {
    let (fault, mends) = Self.faults[index]
    let fake = try await FakeGoogle.start()
    let posts = retrying(try await fake.posts())
    let (before, post, after) = (try newPost(), try newPost(), try newPost())
    #expect(try await posts.record(before).pageNumber == 1)
    fake.break_(fault)
    do throws(UploadError) {
      let number = try await posts.record(post).pageNumber
      #expect(number == 2, "\(fault)")
    } catch {
      #expect(!mends, "\(fault): \(error.message)")
    }
    #expect(try await posts.record(post).pageNumber == 2, "\(fault)")
    #expect(try await posts.record(after).pageNumber == 3, "\(fault)")
    #expect(fake.ids(in: "Post") == [before, post, after].map { "\($0.id)" }.sorted(), "\(fault)")
    // A transaction whose reply was lost, or that the test aborted by itself, may remain open.
    #expect(fake.state.withLock { $0.transactions.count } <= 1, "\(fault) left transactions open")
  }

  @Test("concurrent writers are waited for, not overwritten")
  func contention() async throws {
    let fake = try await FakeGoogle.start()
    let posts = try await fake.posts()
    for round in 1...5 {
      fake.break_(
        .init(
          words: ":commit",
          effect: .after { state in
            let name = FakeGoogle.root + "/PostCounter/Post"
            let number = round * 10
            state.documents[name] = .init(
              fields: Data(#"{"pageNumber":{"integerValue":"\#(number)"}}"#.utf8), version: state.tick())
          }))
    }
    #expect(try await posts.record(try newPost()).pageNumber == 51)
    #expect(fake.state.withLock { $0.commits } == 1)
  }

  @Test("a writer that loses every race fails with one sentence")
  func givesUp() async throws {
    let fake = try await FakeGoogle.start()
    for _ in 0..<40 {
      fake.break_(
        .init(words: ":commit", effect: .status(409, #"{"error":{"code":409,"status":"ABORTED"}}"#)))
    }
    let posts = try await fake.posts()
    let post = try newPost()
    let error = await #expect(throws: UploadError.self) { try await posts.record(post) }
    #expect(error?.code == .unavailable && error?.message.contains("other writers were faster") == true)
    #expect(fake.ids(in: "Post").isEmpty)
  }

  @Test("a counter without a number is an error, not a guess")
  func badCounter() async throws {
    for fields in ["{}", #"{"pageNumber":{"stringValue":"7"}}"#, #"{"pageNumber":{"integerValue":"-1"}}"#] {
      let fake = try await FakeGoogle.start()
      fake.state.withLock { state in
        state.documents[FakeGoogle.root + "/PostCounter/Post"] = .init(
          fields: Data(fields.utf8), version: 1)
      }
      let posts = try await fake.posts()
      let error = await #expect(throws: UploadError.self) { try await posts.prepare() }
      #expect(error?.code == .storeUnusable && error?.message.contains("PostCounter/Post") == true)
      let post = try newPost()
      await #expect(throws: UploadError.self) { try await posts.record(post) }
      #expect(fake.ids(in: "Post").isEmpty)
    }
  }

  @Test("a missing database and a missing role are each reported in one sentence")
  func refusals() async throws {
    let fake = try await FakeGoogle.start()
    let post = try newPost()
    let gone =
      #"{"error":{"code":404,"status":"NOT_FOUND","message":"The database (default) does not exist"}}"#
    for (status, body, words) in [
      (404, "[\(gone)]", "no Firestore database in the project my-app"),
      (
        403, #"[{"error":{"code":403,"status":"PERMISSION_DENIED","message":"Missing"}}]"#,
        "roles/datastore.user"
      ),
      (
        400, #"{"error":{"code":400,"status":"FAILED_PRECONDITION","message":"Datastore Mode"}}"#,
        "Datastore Mode"
      ),
    ] {
      fake.break_(.init(words: ":batchGet", effect: .status(status, body)))
      let posts = try await fake.posts()
      let error = await #expect(throws: UploadError.self) { try await posts.prepare() }
      #expect(
        error?.code == .storeUnusable && error?.message.contains(words) == true, "\(error?.message ?? "")")
    }
    #expect(try await fake.posts().record(post).pageNumber == 1)
  }

  @Test(
    "names of projects are validated",
    arguments: [
      ("my-app", true), ("example.com:my-app", true), ("", false), ("a/b", false), ("ABC-d", false),
    ])
  func projects(_ id: String, _ isOne: Bool) { #expect((FirestoreDatabase(project: id) != nil) == isOne) }
}
