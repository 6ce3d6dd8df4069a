import ReelCore
import ReelPage
import ReelSandbox
import Synchronization

/// Makes the pictures of a report, after the run, from the files that it lists.
///
/// They are an extra: a file that gives no picture has none, and nothing of this is an error of the run.
struct ReportIllustration: Sendable {
  let settings: Settings
  let followLinks: Bool

  /// When so many files have used up their deadlines, no more pictures are made: a thousand that are made to take long
  /// would take hours.
  private static let mostTimeouts = 16

  /// As many pictures as can be had; Ctrl-C ends the making of them, and nothing else.
  func pictures(of files: [ListedFile]) async -> ReportPictures {
    guard !files.isEmpty else { return ReportPictures() }
    let session = PictureSession(settings, of: files.map(\.path), followLinks: followLinks)
    let listed = Dictionary(files.map { ($0.path, $0) }) { first, _ in first }
    let options = PosterOptions(size: ReportPictures.side)
    let made = Mutex((pictures: ReportPictures(), timeouts: 0))
    _ = try? await session.run(largest: 3 * options.size * options.size) { file, flag throws(PosterError) in
      guard listed[file.path]?.isUnchanged(file.identity) == true else {
        throw PosterError(.sourceChanged, "it has changed since the run")
      }
      return try session.prober.poster(of: file, sniffed: nil, options: options, cancellation: flag)
    } _: { file in
      try made.withLock { made in
        switch file.result {
        case .success(let poster): made.pictures.add(poster, of: file.path)
        case .failure(let failure):
          if failure.code.rawValue == PosterError.Code.timeout.rawValue { made.timeouts += 1 }
        }
        if made.timeouts == Self.mostTimeouts { throw TooManyTimeouts() }
      }
      return nil
    }
    await session.close()
    return made.withLock { $0.pictures }
  }

  private struct TooManyTimeouts: Error {}
}
