import ReelCore
import ReelSandbox
import ReelSource
import ReelUpkeep
import Synchronization

/// Makes the pictures of a report after the run, from the files that it lists.
///
/// They are optional: a file from which no picture can be made has none, and no failure here is an error of the run.
package struct ReportIllustration: Sendable {
  private let followLinks: Bool
  private let width: Int
  private let prober: @Sendable (_ workers: Int) -> SandboxedProber

  /// - Parameters:
  ///   - width: the number of pictures made at once.
  ///   - prober: returns a prober that makes posters; called once there is a file to make one of.
  package init(
    followLinks: Bool, width: Int, prober: @escaping @Sendable (_ workers: Int) -> SandboxedProber
  ) {
    (self.followLinks, self.width, self.prober) = (followLinks, width, prober)
  }

  /// When this many files have used up their deadlines, no more pictures are made: a thousand files crafted to take
  /// long would take hours.
  private static let mostTimeouts = 16

  /// Makes as many pictures as possible, until the task is cancelled.
  package func pictures(of files: [ListedFile]) async -> ReportPictures {
    guard !files.isEmpty else { return ReportPictures() }
    // Do not enter folders.
    var walk = WalkOptions(followLinks: followLinks)
    walk.entersFolders = false
    let run = PictureRun(files.map { SourceInput(path: $0.path) }, options: walk, width: width)
    let prober = prober(width)
    let listed = Dictionary(files.map { ($0.path, $0) }) { first, _ in first }
    let options = PosterOptions(size: ReportPictures.side)
    let made = Mutex((pictures: ReportPictures(), timeouts: 0))
    _ = try? await run.run(largest: 3 * options.size * options.size) { file, flag throws(PosterError) in
      guard listed[file.path]?.isUnchanged(file.identity) == true else {
        throw PosterError(.sourceChanged, "it has changed since the run")
      }
      return try prober.poster(of: file, sniffed: nil, options: options, cancellation: flag)
    } _: { file in
      try made.withLock { made in
        switch file.result {
        case .success(let poster): made.pictures.add(poster, of: file.path)
        case .failure(let failure):
          if failure.code.rawValue == PosterError.Code.timeout.rawValue { made.timeouts += 1 }
        }
        if made.timeouts == Self.mostTimeouts { throw TooManyTimeouts() }
      }
      return true
    }
    await prober.close()
    return made.withLock { $0.pictures }
  }

  private struct TooManyTimeouts: Error {}
}
