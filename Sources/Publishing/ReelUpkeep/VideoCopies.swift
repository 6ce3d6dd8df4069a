import ReelCore
import ReelSource

/// Copies of posts' videos that their store returns: unnamed files, which vanish with their last reader.
package struct VideoCopies: Sendable {
  let store: any ReadableStore
  /// The folder for the copies; nil for `TMPDIR`, or `/tmp`.
  let folder: String?

  package init(store: any ReadableStore, folder: String?) { (self.store, self.folder) = (store, folder) }

  /// Copies exactly the bytes that were published, of all posts at once.
  /// - Throws: ``UploadError`` for an error that would end each of them alike.
  func files(of posts: [PosterlessPost]) async throws -> [ObjectKey: Result<SourceFile, PosterError>] {
    try await withThrowingTaskGroup(of: (ObjectKey, Result<SourceFile, PosterError>).self) { group in
      for post in posts { group.addTask { (post.video, try await file(of: post)) } }
      return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
    }
  }

  private func file(of post: PosterlessPost) async throws -> Result<SourceFile, PosterError> {
    do throws(UploadError) {
      let file = try TemporaryStaging(folder: folder).makeFile()
      guard try await store.download(post.video, size: post.size, into: file) == post.digest else {
        return .failure(
          PosterError(
            .unreadable,
            "the store does not have it any more, or something else in its place: run \(command: "verify --read")"
          ))
      }
      try file.seal()
      return Result { () throws(SourceError) in
        try OpenedFile.reading(file, as: SourcePath(store.destination.name + "/" + post.video.rawValue))
      }.mapError { PosterError(.unreadable, $0.text) }
    } catch {
      if error.code.endsTheRun || error.code == .storeFull || error.code == .denied { throw error }
      return .failure(PosterError(error.code == .cancelled ? .cancelled : .unreadable, error.text))
    }
  }
}
