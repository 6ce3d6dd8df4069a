import ReelCore
import ReelSource

/// A file that the policy accepts and that is to become a post.
struct AcceptedFile: Sendable {
  let file: FileReference
  /// The file that `source` reads.
  let video: SourceFile
  let source: UploadSource
  var draft: PostDraft
  let publication: Publication
  /// The digest of the file as it came in, if it has been mended since.
  var arrived: ContentDigest?
  /// The facts that a reader has just read from it, to be remembered if the file does not become a post after all. A
  /// file that does become one is never read again for the same destination.
  let reading: CatalogNote?
  /// Its poster, if one was made.
  var poster: MadePoster?

  /// Makes the post show the poster, which has just been stored.
  mutating func show(_ stored: StoredObject) {
    draft.poster = poster.map { PostPoster($0.poster, stored: stored) }
  }

  /// Checks that the bytes that were hashed are those that were uploaded, and that nothing is still writing to the
  /// source. Blocks.
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
