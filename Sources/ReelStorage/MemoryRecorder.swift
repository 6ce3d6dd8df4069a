import ReelCore
import Synchronization

/// Posts recorded in memory, for tests and examples.
///
/// Whoever holds the same `MemoryRecorder` sees the same posts.
public final class MemoryRecorder: PostRecorder {
  /// As it was given.
  public let destination: Destination

  private struct State {
    var posts: [PostID: Post] = [:]
    var last = 0
  }
  private let state = Mutex(State())

  /// - Parameter destination: the store whose posts these are.
  public init(of destination: Destination) { self.destination = destination }

  /// What is recorded, by its place.
  public var posts: [Post] {
    state.withLock { $0.posts.values.sorted { ($0.pageNumber ?? 0) < ($1.pageNumber ?? 0) } }
  }

  /// Nothing to be found out.
  public func prepare() async throws(UploadError) {}

  /// Keeps the post, under the next number.
  public func record(_ post: Post) async throws(UploadError) -> RecordedPost {
    let number = state.withLock { state -> Int? in
      if let recorded = state.posts[post.id] {
        return recorded.video == post.video ? recorded.pageNumber : nil
      }
      state.last += 1
      var recorded = post
      recorded.pageNumber = state.last
      state.posts[post.id] = recorded
      return state.last
    }
    guard let number else {
      throw UploadError(.rejected, "the store \(destination) has another post under the id \(post.id)")
    }
    return RecordedPost(id: post.id, pageNumber: number)
  }

  /// The object of the post that is kept.
  public func find(_ id: PostID) async throws(UploadError) -> PostRecord? {
    state.withLock { $0.posts[id] }.map { PostRecord(video: $0.video) }
  }

  /// Forgets the post.
  public func withdraw(_ id: PostID) async throws(UploadError) {
    state.withLock { $0.posts[id] = nil }
  }
}
