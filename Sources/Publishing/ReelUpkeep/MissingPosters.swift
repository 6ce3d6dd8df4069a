import Glibc
import ReelCore
import ReelIngest
import ReelSandbox
import ReelSource
import ReelStorage

/// Makes posters for posts that have none, from the videos in the folders where they are stored, or from copies that
/// their store returns.
package struct MissingPosters: Sendable {
  /// The outcome of a run.
  package struct Count: Sendable {
    package var made = 0
    package var failed = 0
    /// Posts without a poster in a store that returns no videos, or needs a secret that was not given.
    package var elsewhere = 0
    /// Folders that do not exist.
    package var gone: [Destination] = []
    /// The errors of stores that could not be used.
    package var unusable: [any Error] = []
  }
  /// The outcome for one post: its poster, and where that was written.
  package typealias Answer = Result<(poster: Poster, file: SourcePath), FileFailure>
  /// An open store of posts.
  package struct Store: Sendable {
    let uploader: any Uploader
    /// What returns copies of its videos; nil for a folder.
    let copies: VideoCopies?
    /// What names its videos in reports, followed by their keys.
    let place: String

    package init(uploader: any Uploader, copies: VideoCopies?, place: String) {
      (self.uploader, self.copies, self.place) = (uploader, copies, place)
    }

    fileprivate var limit: Int { copies == nil ? batch : copiesAtOnce }
  }

  private let options: PosterOptions
  private let nameLength: Int
  private let catalog: any PosterAdding & CatalogRepair
  private let prober: SandboxedProber
  private let threads: BlockingQueue
  private let open: @Sendable (Destination, _ mode: FolderModes?) async throws(UploadError) -> Store?
  private let report: @Sendable (SourcePath, Answer) throws -> Void

  /// The number of posts that are worked on together: their posters are named, stored and shown as a batch.
  private static let batch = 32
  /// The same if the videos have to be copied here first.
  private static let copiesAtOnce = 4

  /// - Parameters:
  ///   - nameLength: the number of characters of a poster's name.
  ///   - width: the number of posters made at once.
  ///   - open: opens a store, with permissions for its objects (nil for those of the settings); returns nil for one
  ///     that returns no videos, or needs a secret that was not given.
  ///   - report: told of each post, in the order of each store's feed.
  package init(
    _ options: PosterOptions, nameLength: Int, catalog: any PosterAdding & CatalogRepair,
    prober: SandboxedProber, width: Int,
    open: @escaping @Sendable (Destination, _ mode: FolderModes?) async throws(UploadError) -> Store?,
    report: @escaping @Sendable (SourcePath, Answer) throws -> Void
  ) {
    (self.options, self.nameLength, self.catalog) = (options, nameLength, catalog)
    (self.prober, self.open, self.report) = (prober, open, report)
    threads = BlockingQueue(label: "reel.posters", width: width)
  }

  /// Makes the missing posters.
  /// - Parameters:
  ///   - destinations: the stores.
  ///   - goesOn: whether to continue with the other stores if one can't be used.
  package func run(_ destinations: [Destination], goesOn: Bool) async throws -> Count {
    var count = Count()
    for destination in destinations {
      do {
        try await makePosters(in: destination, &count)
      } catch let failure as StoreFailure {
        guard goesOn, !Task.isCancelled else { throw failure.reason }
        count.unusable.append(failure.reason)
      }
    }
    return count
  }

  private func makePosters(in destination: Destination, _ count: inout Count) async throws {
    var last = 0
    var store: Store?
    var givesVideos = Self.mayGiveVideos(destination)
    let folder = Self.folder(destination)
    while !Task.isCancelled {
      let limit = givesVideos ? store?.limit ?? Self.copiesAtOnce : Self.batch
      let posts = try await catalog.postsWithoutPoster(in: destination, after: last, limit: limit)
      guard let end = posts.last else { return }
      last = end.pageNumber
      if let folder, !Self.isThere(folder) {
        count.gone.append(destination)
        return
      }
      if store == nil, givesVideos {
        store = try await opened(destination, mode: folder.flatMap { Self.mode(of: posts, in: $0) })
        givesVideos = store != nil
      }
      if let store {
        try await makePosters(of: posts, in: store, &count)
      } else {
        count.elsewhere += posts.count
      }
    }
  }

  /// An error that ends the work in one store.
  private struct StoreFailure: Error {
    let reason: any Error
  }

  /// Whether a store of this kind can return its videos.
  private static func mayGiveVideos(_ destination: Destination) -> Bool {
    DestinationAddress.kind(ofName: destination.name)?.givesVideos == true
  }

  private static func folder(_ destination: Destination) -> String? {
    guard case .folder(let root)? = try? DestinationAddress(parsing: destination.name) else { return nil }
    return root
  }

  /// Whether the folder exists. Opening it as a store would create it.
  private static func isThere(_ folder: String) -> Bool {
    var facts = stat()
    return stat(folder, &facts) == 0
  }

  /// The permissions of the first video that is found.
  private static func mode(of posts: [PosterlessPost], in folder: String) -> FolderModes? {
    var facts = stat()
    let isFound = posts.contains { lstat(folder + "/" + $0.video.rawValue, &facts) == 0 }
    return isFound ? FolderModes(file: facts.st_mode & 0o666 | 0o600) : nil
  }

  private func opened(_ destination: Destination, mode: FolderModes?) async throws -> Store? {
    try await rethrowing(as: StoreFailure.init(reason:)) {
      guard let store = try await open(destination, mode) else { return nil }
      try await store.uploader.prepare()
      return store
    }
  }

  // MARK: A batch

  private struct Made: Sendable {
    let post: PosterlessPost
    let path: SourcePath
    let poster: Poster
    let source: UploadSource
  }

  private struct Video: Sendable {
    let post: PosterlessPost
    let path: SourcePath
    /// The copy that a store returned; nil for a video that is read in place.
    let copy: Result<SourceFile, PosterError>?
  }

  private func makePosters(of posts: [PosterlessPost], in store: Store, _ count: inout Count) async throws {
    var copies: [ObjectKey: Result<SourceFile, PosterError>] = [:]
    do {
      copies = try await store.copies?.files(of: posts) ?? [:]
    } catch let error as UploadError {
      throw StoreFailure(reason: error)
    }
    let videos = posts.map { post in
      Video(post: post, path: SourcePath(store.place + "/" + post.video.rawValue), copy: copies[post.video])
    }
    var made: [Made] = []
    var failures: [(path: SourcePath, error: PosterError)] = []
    try await threads.tryMapInOrder(videos.makeIterator()) { video, flag in
      let result = poster(of: video, flag)
      if case .failure(let error) = result, error.code.isInstallation { throw error }
      return (video, result)
    } _: { video, result in
      switch result {
      case .success(let poster):
        let source = UploadSource(poster.jpeg, contentType: "image/jpeg")
        made.append(Made(post: video.post, path: video.path, poster: poster, source: source))
      case .failure(let error): failures.append((video.path, error))
      }
      return true
    }
    for (path, error) in failures {
      // What was not begun is not a failure.
      if error.code == .cancelled { continue }
      try tell(path, .failure(FileFailure(error, as: error.code)), &count)
    }
    try await publish(made, in: store.uploader, at: store.place, &count)
  }

  private func poster(of video: Video, _ flag: CancellationFlag) -> Result<Poster, PosterError> {
    Result { () throws(PosterError) in
      let file = try (video.copy ?? Self.opened(video.path)).get()
      return try prober.poster(of: file, sniffed: nil, options: options, cancellation: flag)
    }
  }

  private static func opened(_ path: SourcePath) -> Result<SourceFile, PosterError> {
    Result { () throws(SourceError) in try FoundFile.named(path, followLinks: false).open() }
      .mapError { PosterError(.unreadable, $0.message) }
  }

  /// Names, stores and shows posters, as for a video that is being published.
  private func publish(
    _ made: [Made], in store: any Uploader, at place: String, _ count: inout Count
  ) async throws {
    let randomness = SystemRandomness()
    let requests = made.map { one in
      let key = ObjectKey(posterNamedBy: randomness, length: nameLength)
      return (
        post: one.post.id,
        poster: PosterRequest(digest: one.source.digest, size: one.source.size, newKey: key)
      )
    }
    let keys = try await catalog.namePosters(requests, in: store.destination)
    var shown: [(made: Made, poster: PostPoster)] = []
    for (one, key) in zip(made, keys) {
      // Another process has made it meanwhile, or is about to.
      guard let key else { continue }
      do throws(UploadError) {
        let stored = try await stored(one.source.intended, as: key, in: store)
        shown.append((one, PostPoster(one.poster, stored: one.post.beside(stored))))
      } catch {
        if error.code.endsTheRun { throw error }
        // What was not begun is not a failure.
        if error.code == .cancelled { continue }
        if error.code == .conflict || error.standing != nil {
          // The next run draws another name.
          let isGivenUp = (try? await catalog.giveUpPoster(key, in: store.destination)) == true
          if isGivenUp, error.standing != nil { _ = try? await store.remove(key) }
        }
        try tell(
          one.path,
          .failure(
            FileFailure(error, as: error.code)),
          &count)
      }
    }
    let posters = shown.map { (post: $0.made.post.id, poster: $0.poster) }
    let isShown = try await catalog.showPosters(posters, of: store.destination)
    for (one, isShown) in zip(shown, isShown) {
      let file = SourcePath(place + "/" + one.poster.key.rawValue)
      let lost = FileFailure(
        code: .catalog(.leaseLost),
        message: "another process has taken its poster over: run the same command again")
      try tell(one.made.path, isShown ? .success((one.made.poster, file)) : .failure(lost), &count)
    }
  }

  /// Stores the poster, or finds it as stored by a run that died before its post showed it.
  private func stored(
    _ source: UploadSource, as key: ObjectKey, in store: any Uploader
  ) async throws(UploadError) -> StoredObject {
    do throws(UploadError) {
      return try await store.upload(source, to: key) { _ in }
    } catch {
      guard error.code == .alreadyExists, let found = try await store.find(key) else { throw error }
      guard found.size == source.size, try await store.readFound(key) == source.digest else {
        throw UploadError(.conflict, "something else has the name \(key) in \(store.destination)")
      }
      return found
    }
  }

  private func tell(_ path: SourcePath, _ answer: Answer, _ count: inout Count) throws {
    if case .failure = answer { count.failed += 1 } else { count.made += 1 }
    try report(path, answer)
  }
}

extension PosterlessPost {
  /// Returns the poster at the URL where viewers find it: beside the video, if the video's URL ends with its key.
  fileprivate func beside(_ stored: StoredObject) -> StoredObject {
    guard videoURL.hasSuffix(video.rawValue) else { return stored }
    let url = videoURL.dropLast(video.rawValue.count) + stored.key.rawValue
    return StoredObject(key: stored.key, url: String(url), size: stored.size, digest: stored.digest)
  }
}
