import FoundationEssentials
import Glibc
import ReelCore
import ReelSource
import Synchronization

// What a change does to the objects of its post, and to what a store's database shows of it.

extension PostChanges {
  typealias Step = (OpenChange, Result<OpenChange, UploadError>)

  /// Each, some at once; in their order.
  func each(
    _ batch: [OpenChange], _ body: @escaping @Sendable (OpenChange) async throws(UploadError) -> OpenChange
  ) async -> [Step] {
    zip(batch, await someAtOnce(batch, body)).map { ($0, $1) }
  }

  private func someAtOnce<Element: Sendable, Value: Sendable>(
    _ elements: [Element], _ body: @escaping @Sendable (Element) async throws(UploadError) -> Value
  ) async -> [Result<Value, UploadError>] {
    await withTaskGroup(of: (Int, Result<Value, UploadError>).self) { group in
      var results = [Result<Value, UploadError>?](repeating: nil, count: elements.count)
      for (index, element) in elements.enumerated() {
        if index >= Self.width, let (done, result) = await group.next() { results[done] = result }
        // Not `body` itself: in optimized code Swift 6.3 loses what stands in a tuple before a closure that throws.
        group.addTask { (index, await Self.result(of: element, body)) }
      }
      for await (index, result) in group { results[index] = result }
      return results.compactMap(\.self)
    }
  }

  private static func result<Element, Value>(
    of element: Element, _ body: (Element) async throws(UploadError) -> Value
  ) async -> Result<Value, UploadError> {
    do throws(UploadError) {
      return .success(try await body(element))
    } catch {
      return .failure(error)
    }
  }

  // MARK: Removing

  /// Nobody is to be shown a post whose object is gone: what the store's database shows goes first.
  func remove(_ batch: [OpenChange], from store: Store) async -> [Step] {
    let withdrawn = await each(batch) { open throws(UploadError) in
      try await store.recorder?.withdraw(open.post.id)
      return open
    }
    let leaving = withdrawn.compactMap { open, result in
      if case .success = result, open.removesObjects { open } else { nil }
    }
    do throws(UploadError) {
      try await expectItself(store, for: leaving)
    } catch {
      return withdrawn.map { ($0.0, .failure(error)) }
    }
    let removed = await removeObjects(of: leaving, from: store.uploader)
    return withdrawn.map { open, result in
      (open, result.flatMap { open in removed[open.number].map { $0.map { open } } ?? .success(open) })
    }
  }

  /// Throws where a folder is empty and the catalog has posts in it: something else was mounted there, and what seems to be
  /// gone is not.
  private func expectItself(_ store: Store, for batch: [OpenChange]) async throws(UploadError) {
    guard let folder = store.folder, let object = batch.first?.objects.first,
      try await store.uploader.find(object.key) == nil
    else { return }
    let names = try? FileManager.default.contentsOfDirectory(atPath: folder)
    let status = try? await catalog.status()
    let posts = status?.destinations.first { $0.destination == store.uploader.destination }?.posts ?? 0
    guard posts > 0, names?.allSatisfy({ $0.hasPrefix(".") }) != false else { return }
    throw UploadError(
      .storeUnusable,
      "the folder \(folder) is empty, and posts are in it: check that what belongs there is mounted")
  }

  /// What became of the objects of each, by the change's number.
  private func removeObjects(
    of changes: [OpenChange], from uploader: any Uploader
  ) async -> [Int64: Result<Void, UploadError>] {
    let objects = changes.flatMap { open in open.objects.map { (open: open, key: $0.key) } }
    let keys = objects.map(\.key)
    let results =
      if let batches = uploader.batches {
        await threads.run { batches.remove(keys) }
      } else {
        await someAtOnce(keys) { key throws(UploadError) in try await uploader.remove(key) }
      }
    var ends: [Int64: Result<Void, UploadError>] = [:]
    for ((open, _), result) in zip(objects, results) {
      switch result {
      case .success(let removal):
        if !removal.isGone { notice(open.post.id, removal) }
        if ends[open.number] == nil { ends[open.number] = .success(()) }
      case .failure(let error): ends[open.number] = .failure(error)
      }
    }
    return ends
  }

  // MARK: Editing

  func record(_ open: OpenChange, in store: Store) async throws(UploadError) -> OpenChange {
    guard case .edit(let keys) = open.kind, let recorder = store.recorder else { return open }
    try await recorder.update(open.post, from: PostEdit.differing(from: open.post, in: keys))
    return open
  }

  // MARK: Restoring

  /// - Parameter onMissing: called where its video is neither in the store nor in what was named.
  func restore(
    _ open: OpenChange, in store: Store, onMissing: () -> Void
  ) async throws(UploadError) -> OpenChange {
    guard let video = open.objects.first(where: { $0.kind == .video }) else { return open }
    do throws(UploadError) {
      if try await store.uploader.find(video.key) == nil {
        try await putBack(video, in: store.uploader, onMissing: onMissing)
      }
      try await prove(video, in: store.uploader)
      // As it was published: what the catalog does not show, viewers do not see.
      if let recorder = store.recorder {
        var post = open.post
        if !open.objects.contains(where: { $0.key == post.poster }) { post.show(nil) }
        _ = try await recorder.record(post)
      }
    } catch {
      // It stays removed, and what was stored is to go.
      if error.code == .conflict { try? await strikeOut(open) }
      throw error
    }
    return open
  }

  private func putBack(
    _ video: ExaminedObject, in uploader: any Uploader, onMissing: () -> Void
  ) async throws(UploadError) {
    var failure = UploadError(
      .conflict,
      "its video is not in \(uploader.destination) any more: name the file that it was made from with --from (its digest is \(video.digest))"
    )
    if let supply {
      let result = Mutex<Result<Void, UploadError>?>(nil)
      let unread = await supply(video) { source in
        do throws(UploadError) {
          _ = try await uploader.upload(source.intended, to: video.key) { _ in }
          result.withLock { $0 = .success(()) }
        } catch {
          result.withLock { $0 = .failure(error) }
        }
      }
      switch result.withLock({ $0 }) {
      case .success?: return
      case .failure(let error)?: throw error
      case nil:
        let reason = unread.first.map { " (\($0))" } ?? ""
        failure = UploadError(
          .conflict,
          "its video is neither in \(uploader.destination) nor in what was named with --from\(reason): the right file has the digest \(video.digest)"
        )
      }
    }
    onMissing()
    throw failure
  }

  private func prove(_ object: ExaminedObject, in uploader: any Uploader) async throws(UploadError) {
    guard let found = try await uploader.find(object.key) else {
      throw UploadError(.conflict, "\(object.key) is not in \(uploader.destination): try again")
    }
    var digest = found.digest
    if found.size == object.size, digest != object.digest { digest = try await uploader.readBack(object.key) }
    guard found.size == object.size,
      digest == object.digest || digest == nil && uploader.traits.trustsClientDigest
    else {
      throw UploadError(
        .conflict, "what is stored as \(object.key) in \(uploader.destination) is not what was published")
    }
  }

  // MARK: Moving

  /// Copies its objects to the other store, under the names that they have.
  func move(_ open: OpenChange, from store: Store) async throws(UploadError) -> OpenChange {
    guard case .move(let destination, moved: false) = open.kind else { return open }
    var open = open
    let target = try await self.store(destination)
    let old = open.post
    if Self.areOne(store, target) {
      // What it would copy is what it would remove.
      try? await strikeOut(open)
      throw UploadError(
        .rejected,
        "\(store.uploader.destination) and \(destination) are one folder: reel relocate gives it another name"
      )
    }
    do throws(UploadError) {
      for object in open.objects {
        let isShown = object.key == old.video || object.key == old.poster
        guard isShown else { continue }
        let stored = try await copy(object, from: store, to: target.uploader, like: old)
        if object.kind == .video { open.post.videoURL = stored.url } else { open.post.posterURL = stored.url }
      }
      if let recorder = target.recorder {
        if store.recorder?.feed == recorder.feed {
          try await recorder.update(open.post, from: old)
        } else {
          _ = try await recorder.record(open.post)
        }
      }
      return open
    } catch {
      do {
        _ = try await undoMove(of: open, to: destination)
      } catch {
        // What is left there is told by the row of the change.
      }
      throw error
    }
  }

  private func copy(
    _ object: ExaminedObject, from: Store, to: any Uploader, like post: Post
  ) async throws(UploadError) -> StoredObject {
    let file = try await bytes(of: object, in: from)
    let type = object.kind == .poster ? "image/jpeg" : post.contentType ?? "application/octet-stream"
    let source = UploadSource(
      size: object.size, digest: object.digest, contentType: type, bytes: SourceFileBytes(file)
    ).intended
    do throws(UploadError) {
      let stored = try await to.upload(source, to: object.key) { _ in }
      try await prove(object, in: to)
      return stored
    } catch {
      // By whoever began to move it, and died.
      guard error.code == .alreadyExists, let stored = try await to.find(object.key) else { throw error }
      try await prove(object, in: to)
      return stored
    }
  }

  /// The object's own bytes, in a file that nobody else has.
  private func bytes(of object: ExaminedObject, in store: Store) async throws(UploadError)
    -> SourceFile
  {
    let uploader = store.uploader
    let name = SourcePath(uploader.destination.name + "/" + object.key.rawValue)
    let damaged = UploadError(
      .conflict,
      "what is stored as \(object.key) in \(uploader.destination) is not what was published: run \(command: "verify --read")"
    )
    if let readable = store.reader {
      let file = try staging.makeFile()
      guard try await readable.download(object.key, size: object.size, into: file) == object.digest else {
        throw damaged
      }
      return try await threads.run { () throws(UploadError) in
        try file.seal()
        return try rethrowing(
          as: { UploadError(.sourceUnreadable, $0.text) }
        ) { () throws(SourceError) in try OpenedFile.reading(file, as: name) }
      }
    }
    guard let folder = store.folder else {
      throw UploadError(
        .rejected, "\(uploader.destination) does not give objects back: its posts can't be moved")
    }
    let path = SourcePath(folder + "/" + object.key.rawValue)
    let staging = staging
    return try await threads.run { () throws(UploadError) in
      let copy = try rethrowing(
        as: { UploadError(.sourceUnreadable, "\(path.text) can't be read: \($0)") }
      ) {
        try PrivateCopy.make(of: try FoundFile.named(path, followLinks: false).open(), in: staging)
      }
      guard let copy, copy.digest == object.digest else { throw damaged }
      return copy.source
    }
  }

  /// Whether two are the same folder, by two names.
  private static func areOne(_ one: Store, _ other: Store) -> Bool {
    guard let one = one.folder.flatMap({ SourcePath($0).fileStatus }),
      let other = other.folder.flatMap({ SourcePath($0).fileStatus })
    else { return false }
    return one.st_dev == other.st_dev && one.st_ino == other.st_ino
  }

  /// The post stays where it is, and the copies go again.
  func undoMove(of open: OpenChange, to destination: Destination) async throws -> [PostID: Outcome] {
    do {
      let target = try await store(destination)
      // A database that both write into shows where it is.
      if let recorder = target.recorder {
        let here = try await store(open.destination).recorder
        if here?.feed == recorder.feed {
          try await recorder.update(open.post, from: nil)
        } else {
          try await recorder.withdraw(open.post.id)
        }
      }
      if Self.areOne(try await store(open.destination), target) {
        try await strikeOut(open)
        return [open.post.id: .nothing(open.post)]
      }
      try await expectItself(target, for: [open])
      if let failure = await removeObjects(of: [open], from: target.uploader).values.first {
        try failure.get()
      }
    } catch let error as UploadError {
      try await blocking { catalog throws(CatalogError) in try catalog.release([open]) }
      return [open.post.id: .failed(FileFailure(error))]
    }
    try await strikeOut(open)
    return [open.post.id: .nothing(open.post)]
  }

  /// Takes away what a moved post has left.
  func clear(_ open: OpenChange, _ post: Post) async throws(UploadError) {
    guard case .move(let destination, _) = open.kind else { return }
    let (old, new) = (try await store(open.destination), try await store(destination))
    if let recorder = old.recorder, recorder.feed != new.recorder?.feed {
      try await recorder.withdraw(post.id)
    }
    try await expectItself(old, for: [open])
    if let failure = await removeObjects(of: [open], from: old.uploader).values.first { try failure.get() }
  }

  private func strikeOut(_ open: OpenChange) async throws(CatalogError) {
    try await blocking { catalog throws(CatalogError) in try catalog.strikeOut([open]) }
  }
}

extension OpenChange {
  var sort: ChangeKind {
    switch kind {
    case .removal: .removal
    case .purge: .purge
    case .restoration: .restoration
    case .edit: .edit
    case .move: .move
    }
  }

  fileprivate var removesObjects: Bool {
    switch kind {
    case .removal(let removal): removal.keptUntil == nil
    case .purge: true
    case .restoration, .edit, .move: false
    }
  }

  /// What is told of it, when it is true.
  func event(_ post: Post) -> IngestEvent.Body? {
    switch kind {
    case .removal(let removal): .postRemoved(RemovedPost(post: post, removal: removal))
    case .purge: nil
    case .restoration: .postRestored(post)
    case .edit(let keys): .postEdited(PostEdited(post: post, changed: keys))
    case .move(let there, _): .postMoved(PostMoved(post: post, from: destination, to: there))
    }
  }
}

/// Stores that were opened, each once.
final class OpenStores: Sendable {
  private struct Key: Hashable {
    let destination: Destination
    let use: PostChanges.Use
  }
  private let opening = Mutex<[Key: Task<Result<PostChanges.Store, UploadError>, Never>]>([:])

  func store(
    _ destination: Destination, for use: PostChanges.Use,
    _ open: @escaping @Sendable (Destination) async throws(UploadError) -> PostChanges.Store
  ) async throws(UploadError) -> PostChanges.Store {
    let key = Key(destination: destination, use: use)
    let task = opening.withLock { opening in
      if let task = opening[key] { return task }
      let task = Task { () async -> Result<PostChanges.Store, UploadError> in
        do throws(UploadError) {
          let store = try await open(destination)
          if let folder = store.folder, use != .new {
            // It keeps no records, and one that held something is to be there.
            if use == .records { return .success(store) }
            guard SourcePath(folder).fileStatus != nil else {
              throw UploadError(
                .storeUnusable,
                "the folder \(folder) is not there: check that it is mounted, or, if it was moved, say so: \(command: "relocate \(destination) NEW")"
              )
            }
          }
          try await store.uploader.prepare()
          try await store.recorder?.prepare()
          return .success(store)
        } catch {
          return .failure(error)
        }
      }
      opening[key] = task
      return task
    }
    return try await task.value.get()
  }
}

extension FileFailure {
  static var takenOver: FileFailure {
    FileFailure(
      code: .catalog(.leaseLost),
      message: "another process has taken this change over: look at the post again")
  }
}
