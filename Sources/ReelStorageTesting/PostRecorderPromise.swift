import ReelCore

/// One thing that every recorder of posts promises, and a check that finds out whether it is kept.
///
/// ```swift
/// for promise in PostRecorderPromise.all {
///   try await promise.check { MyRecorder(…) }
/// }
/// ```
/// The checks record posts under ids of their own and withdraw them again; the numbers that they took stay taken.
public struct PostRecorderPromise: Sendable, CustomStringConvertible {
  /// A stable name for reports, such as `record.once`.
  public let name: String
  /// What is promised, in one sentence.
  public let sentence: String
  private let body: @Sendable (RecorderScene) async throws -> Void

  /// The name.
  public var description: String { name }

  /// Every promise, the simplest first.
  public static let all: [PostRecorderPromise] = [
    PostRecorderPromise("record.once", "recording a post again gives the place that it has") { scene in
      let post = try scene.newPost()
      let first = try await scene.record(post, by: scene.recorder)
      try scene.expect(first.id == post.id, "it recorded \(first.id) instead of \(post.id)")
      try scene.expect(first.pageNumber >= 1, "it gives the place \(first.pageNumber)")
      let again = try await scene.record(post, by: scene.recorder)
      let elsewhere = try await scene.record(post, by: try await scene.another())
      try scene.expect(
        again == first && elsewhere == first, "then \(again), then \(elsewhere), after \(first)")
    },
    PostRecorderPromise("record.order", "what is recorded later has a later place") { scene in
      var last = 0
      for _ in 0..<3 {
        let place = try await scene.record(try scene.newPost(), by: scene.recorder).pageNumber
        try scene.expect(place > last, "the place \(place) follows \(last)")
        last = place
      }
    },
    PostRecorderPromise("record.places", "posts that several record at once have a place each") { scene in
      let recorders = [scene.recorder, try await scene.another()]
      let places = try await withThrowingTaskGroup { group in
        for index in 0..<12 {
          group.addTask {
            try await scene.record(try scene.newPost(), by: recorders[index % recorders.count]).pageNumber
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      try scene.expect(Set(places).count == places.count, "the places are \(places.sorted())")
    },
    PostRecorderPromise("record.atOnce", "a post that several record at once is recorded once") { scene in
      let post = try scene.newPost()
      let recorders = [scene.recorder, try await scene.another(), try await scene.another()]
      let places = try await withThrowingTaskGroup { group in
        for recorder in recorders {
          group.addTask { try await scene.record(post, by: recorder).pageNumber }
        }
        return try await group.reduce(into: Set()) { $0.insert($1) }
      }
      try scene.expect(places.count == 1, "it has the places \(places.sorted())")
    },
    PostRecorderPromise(
      "record.foreign", "another post under an id that is taken is rejected, the first stays"
    ) {
      scene in
      let post = try scene.newPost()
      let place = try await scene.record(post, by: scene.recorder)
      let code = await scene.refusal(of: try scene.newPost(id: post.id))
      try scene.expect(code == .rejected, "it ends with \(code.map(\.rawValue) ?? "no error")")
      try scene.expect(try await scene.record(post, by: scene.recorder) == place, "the first one has moved")
    },
    PostRecorderPromise("find.record", "what is recorded is found with its object, and nothing else is") {
      scene in
      let post = try scene.newPost()
      try scene.expect(try await scene.recorder.find(post.id) == nil, "it finds what was never recorded")
      _ = try await scene.record(post, by: scene.recorder)
      let found = try await scene.another().find(post.id)
      try scene.expect(
        found == PostRecord(video: post.video), "it finds \(found.map { "\($0)" } ?? "nothing")")
      try await scene.recorder.withdraw(post.id)
      try scene.expect(try await scene.recorder.find(post.id) == nil, "it finds what was withdrawn")
    },
    PostRecorderPromise("withdraw.gone", "what was withdrawn is gone, and its place is not given again") {
      scene in
      let (post, other) = (try scene.newPost(), try scene.newPost())
      let place = try await scene.record(post, by: scene.recorder).pageNumber
      try await scene.recorder.withdraw(post.id)
      try await scene.recorder.withdraw(post.id)
      let next = try await scene.record(other, by: scene.recorder).pageNumber
      let again = try await scene.record(post, by: scene.recorder).pageNumber
      try scene.expect(Set([place, next, again]).count == 3, "the places are \(place), \(next), \(again)")
    },
    PostRecorderPromise("withdraw.nothing", "withdrawing what was never recorded is no error") { scene in
      try await scene.recorder.withdraw(try scene.newPost().id)
    },
  ]

  init(_ name: String, _ sentence: String, _ body: @escaping @Sendable (RecorderScene) async throws -> Void) {
    (self.name, self.sentence, self.body) = (name, sentence, body)
  }

  /// Finds out whether the recorders that `make` gives, all of one store, keep this promise.
  /// - Throws: ``PromiseBroken``, saying what was expected and what was seen.
  public func check(
    _ make: @escaping @Sendable () async throws -> any PostRecorder
  ) async throws(PromiseBroken) {
    do {
      let scene = RecorderScene(recorder: try await make(), make: make)
      try await scene.recorder.prepare()
      let result: Result<Void, any Error>
      do { result = .success(try await body(scene)) } catch { result = .failure(error) }
      await scene.cleanUp()
      try result.get()
    } catch let difference as Difference {
      throw PromiseBroken(promise: name, sentence: sentence, detail: difference.detail)
    } catch let error as UploadError {
      throw PromiseBroken(
        promise: name, sentence: sentence, detail: "it failed with \(error.code.rawValue): \(error.message)")
    } catch {
      throw PromiseBroken(promise: name, sentence: sentence, detail: "the check itself failed: \(error)")
    }
  }
}
