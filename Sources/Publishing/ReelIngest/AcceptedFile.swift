import ReelCore
import ReelSource

/// A file that is to become a post.
struct AcceptedFile: Sendable {
  let file: FileReference
  /// What `source` reads.
  let video: SourceFile
  let source: UploadSource
  var draft: PostDraft
  let publication: Publication
  /// What it was when it came in, where it was mended.
  var arrived: ContentDigest?
  /// What was read of it, where a reader has read it just now: remembered if it does not become a post after all. One
  /// that does is never read again for the same destination.
  let reading: CatalogNote?
  /// Its poster, where one was made.
  var poster: MadePoster?

  /// Its post is to show its poster, which is stored now.
  mutating func show(_ stored: StoredObject) {
    draft.poster = poster.map { PostPoster($0.poster, stored: stored) }
  }

  /// Whether what was hashed is what was uploaded, and whoever writes to the source was done. Blocks.
  func unchanged() -> Result<Void, UploadError> {
    Result { () throws(SourceError) in try source.bytes.checkUnchanged() }.mapError { error in
      UploadError(error.code == .sourceChanged ? .sourceChanged : .sourceUnreadable, error.text)
    }
  }
}

/// A poster that is to be stored.
struct MadePoster: Sendable {
  let poster: Poster
  let source: UploadSource

  init(_ poster: Poster) {
    self.poster = poster
    source = UploadSource(poster.jpeg, contentType: "image/jpeg")
  }
}
