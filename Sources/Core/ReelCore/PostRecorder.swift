/// Writes posts down beside their objects, where the viewers of a store look for them: a database that a store comes
/// with. A store without one has no recorder.
///
/// A post is recorded when its object is stored and proven, before the catalog says that it is published. So a post
/// that is published is recorded, and one that was recorded by a process that died is found by the next one.
///
/// Every implementation keeps the promises that `PostRecorderContractTest` checks:
/// - on return the post is recorded, durably; on throw it may be, and recording it again tells;
/// - a post is recorded once, however often, by however many at once;
/// - no two posts of one store have the same place.
public protocol PostRecorder: Sendable {
  /// The store whose posts these are, as its uploader calls it.
  var destination: Destination { get }

  /// The database that it writes into, as one settled name: two recorders that have the same write the same records,
  /// though their stores be two.
  var feed: Destination { get }

  /// Finds out whether posts can be recorded. Called once before a run; changes nothing.
  func prepare() async throws(UploadError)

  /// Records `post`, or finds that it is recorded.
  ///
  /// What is recorded already stays as it is, but for the poster, which becomes that of `post`. `post.pageNumber` is not looked at: the store has a feed of its own, to
  /// which several libraries may publish.
  /// - Throws: `rejected` when something else is recorded under the post's id.
  func record(_ post: Post) async throws(UploadError) -> RecordedPost

  /// What is recorded under that id; nil when nothing is. Changes nothing.
  func find(_ id: PostID) async throws(UploadError) -> PostRecord?

  /// Brings what is recorded up to date with `post`, which was `earlier` when it was recorded last; one that is not
  /// recorded is recorded. It keeps its place.
  ///
  /// Only what differs between the two is written: what viewers or their apps count in the record stays. With no
  /// `earlier`, all of it is. Doing it again changes nothing more.
  /// - Throws: `rejected` when what is recorded shows the video of neither.
  @discardableResult
  func update(_ post: Post, from earlier: Post?) async throws(UploadError) -> RecordedPost

  /// Removes what is recorded of a post; what is not there is removed already. Its place stays empty.
  func withdraw(_ id: PostID) async throws(UploadError)
}

extension PostRecorder {
  /// Each store has its own.
  public var feed: Destination { destination }
}

/// What a store's database shows viewers of a post.
public struct PostRecord: Hashable, Sendable {
  /// The object; nil when it names none that Reel could have made.
  public let video: ObjectKey?
  /// Its poster; nil when it shows none.
  public let poster: ObjectKey?

  /// A record that shows `video`, and `poster` for it.
  public init(video: ObjectKey?, poster: ObjectKey?) { (self.video, self.poster) = (video, poster) }
}

/// A post as a store's database has it.
public struct RecordedPost: Hashable, Sendable {
  /// Which post.
  public let id: PostID
  /// Its place in the store's feed, from 1.
  public let pageNumber: Int

  /// A post and its place.
  public init(id: PostID, pageNumber: Int) {
    self.id = id
    self.pageNumber = pageNumber
  }
}
