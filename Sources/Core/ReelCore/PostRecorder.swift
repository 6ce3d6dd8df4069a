/// Records posts where a store's viewers look for them: in the database that belongs to the store. A store without
/// such a database has no recorder.
///
/// A post is recorded after its object is stored and verified, and before the catalog says that it is published. So
/// a published post is always recorded, and if a process dies after recording a post, the next one finds the
/// record.
///
/// Every implementation keeps the promises that `PostRecorderContractTest` checks:
/// - on return the post is durably recorded; on throw it may be, and recording it again settles that;
/// - a post is recorded once, however often it is recorded and by however many processes at the same time;
/// - no two posts of one store have the same place.
public protocol PostRecorder: Sendable {
  /// The store whose posts these are, as its uploader names it.
  var destination: Destination { get }

  /// The canonical name of the database that it writes to. Two recorders with the same name write the same records,
  /// even if their stores differ.
  var feed: Destination { get }

  /// Checks whether posts can be recorded. Called once before a run; changes nothing.
  func prepare() async throws(UploadError)

  /// Records `post`, or finds that it is already recorded.
  ///
  /// An existing record stays as it is, except for the poster, which becomes that of `post`. `post.pageNumber` is
  /// ignored: the store has a feed of its own, to which several libraries may publish.
  /// - Throws: `rejected` if something else is recorded under the post's id.
  func record(_ post: Post) async throws(UploadError) -> RecordedPost

  /// What is recorded under that id; nil if nothing is. Changes nothing.
  func find(_ id: PostID) async throws(UploadError) -> PostRecord?

  /// Updates the record of `post`, which was recorded last as `earlier`. It keeps its place. A post without a
  /// record is recorded.
  ///
  /// Only the differences between the two are written, so that what viewers or their apps count in the record
  /// stays. Without `earlier`, everything is written. Repeating an update changes nothing.
  /// - Throws: `rejected` if the record shows the video of neither.
  @discardableResult
  func update(_ post: Post, from earlier: Post?) async throws(UploadError) -> RecordedPost

  /// Removes the record of a post, if there is one. Its place stays empty.
  func withdraw(_ id: PostID) async throws(UploadError)
}

extension PostRecorder {
  /// The store itself: each store has its own database.
  public var feed: Destination { destination }
}

/// What the record in a store's database shows of a post.
public struct PostRecord: Hashable, Sendable {
  /// The video's object key; nil if the record contains no key that Reel could have made.
  public let video: ObjectKey?
  /// The poster's object key; nil if the record shows none.
  public let poster: ObjectKey?

  /// Creates a record that shows `video` and its `poster`.
  public init(video: ObjectKey?, poster: ObjectKey?) { (self.video, self.poster) = (video, poster) }
}

/// A post's entry in a store's database.
public struct RecordedPost: Hashable, Sendable {
  /// The id of the post.
  public let id: PostID
  /// Its place in the store's own feed, from 1.
  public let pageNumber: Int

  /// Creates an entry from a post's id and its place.
  public init(id: PostID, pageNumber: Int) {
    self.id = id
    self.pageNumber = pageNumber
  }
}
