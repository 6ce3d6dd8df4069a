import Glibc
import ReelCore
import ReelTestSupport
import Testing

@testable import ReelSandbox

/// Posters by the shipped worker and by a compromised one.
@Suite struct PictureTests {
  let folder: TestFolder

  init() throws {
    folder = try TestFolder()
  }

  // MARK: The shipped worker

  @Test(arguments: [IsolationRequest.auto, .strict])
  func confinedMakesWhatUnconfinedMakes(_ isolation: IsolationRequest) throws {
    let confined = SandboxedProber(isolation: isolation, workers: 2, deadline: patience)
    let unconfined = SandboxedProber(isolation: .none, workers: 1, deadline: patience)
    for path in RealWorkerTests.clips {
      let file = try TestFolder.open(path)
      for options in [PosterOptions(), PosterOptions(size: 64, prefersCover: true)] {
        let poster = confined.poster(file, options)
        #expect(poster == unconfined.poster(file, options), "\(path)")
        guard case .success(let poster) = poster else { continue }
        #expect(max(poster.width, poster.height) <= options.size)
        #expect(
          BaselineJPEG(poster.jpeg).map { $0.width == poster.width && $0.height == poster.height } == true)
      }
    }
  }

  /// The fork server must be able to prepare pictures without exceeding its own permissions.
  @Test func oneForkServerServesManyPictures() throws {
    let starts = "\(folder.path)/starts"
    try folder.script(
      "worker", "printf x >> '\(starts)'; exec '\(Program.path("reel-probe-worker"))' \"$@\"")
    let prober = SandboxedProber(
      worker: .path("\(folder.path)/worker"), workers: 2, deadline: patience, idleTime: patience)
    for path in RealWorkerTests.clips.filter({ $0.hasSuffix(".mp4") }).prefix(4) {
      _ = try prober.poster(try TestFolder.open(path)).get()
    }
    var facts = stat()
    #expect(stat(starts, &facts) == 0 && facts.st_size == 1, "started \(facts.st_size) times")
  }

  @Test func whatCannotBeReadHasItsCode() throws {
    let prober = SandboxedProber(workers: 1, deadline: patience)
    #expect(prober.posterCode(try folder.file("a.mp4", Array("#EXTM3U\n".utf8))) == .playlist)
    #expect(prober.posterCode(try folder.file("b.mp4", [])) == .empty)
    #expect(prober.posterCode(try folder.file("c.mp4", smallMP4)) != nil)
    for path in RealWorkerTests.broken {
      let code = prober.posterCode(try TestFolder.open(path))
      #expect(
        code.map { ![.crashed, .sandboxViolation, .timeout, .implausible].contains($0) } ?? true, "\(path)")
    }
  }

  @Test func aSheetIsEncodedByTheWorker() throws {
    let prober = SandboxedProber(workers: 1, deadline: patience)
    for (width, height) in [(1, 1), (17, 33), (2500, 2000)] {
      let jpeg = try prober.jpeg(
        of: RawPicture(width: width, height: height, grey: 60), cancellation: CancellationFlag())
      let found = try #require(BaselineJPEG(jpeg))
      #expect(found.width == width && found.height == height)
    }
  }

  @Test func picturesAreSpreadOverTheVideo() throws {
    let prober = SandboxedProber(workers: 1, deadline: patience)
    let clip = try #require(RealWorkerTests.clips.first { $0.hasSuffix("faststart.mp4") })
    let frames = try prober.frames(
      of: try TestFolder.open(clip), count: 5, side: 64, cancellation: CancellationFlag())
    #expect(frames.count == 5)
    let times = frames.compactMap(\.time)
    #expect(times == times.sorted() && Set(times).count == 5)
    #expect(frames.allSatisfy { $0.picture.width <= 64 && $0.picture.height <= 64 })
  }

  // MARK: A compromised worker

  static let ends: [(String, PosterError.Code)] = [
    ("segmentation-fault", .crashed), ("hang", .timeout), ("sleep", .timeout), ("close", .crashed),
    ("garbage", .implausible), ("nothing", .crashed), ("too-much", .implausible),
    ("send-descriptor", .implausible), ("escape socket", .sandboxViolation),
    ("escape open", .sandboxViolation),
    ("escape memfd", .sandboxViolation), ("escape fork", .sandboxViolation),
    ("fail corrupt", .corrupt), ("fail workerMissing", .implausible), ("fail cancelled", .implausible),
    ("lie large", .implausible), ("lie size", .implausible), ("lie hash", .implausible),
    ("lie alphabet", .implausible), ("lie text", .implausible), ("lie progressive", .implausible),
    ("lie metadata", .implausible), ("lie comment", .implausible), ("lie tail", .implausible),
    ("lie cut", .implausible), ("lie frames", .implausible), ("lie short", .implausible),
    ("lie long", .implausible), ("lie endless", .implausible), ("lie crumbs", .implausible),
    ("lie zero-factor", .implausible), ("lie wide-factors", .implausible),
    ("lie two-quantisers", .implausible), ("lie too-many-codes", .implausible),
    ("lie same-codes", .implausible), ("lie no-codes", .implausible), ("lie large-symbol", .implausible),
    ("lie thumbnail", .implausible), ("lie other-scan", .implausible), ("lie half-scan", .implausible),
    ("lie padding", .implausible),
  ]

  @Test(arguments: ends, [IsolationRequest.auto, .strict])
  func sabotageEndsOnePoster(_ sabotage: (String, PosterError.Code), _ isolation: IsolationRequest) throws {
    let isStuck = ["hang", "sleep"].contains(sabotage.0)
    let prober = Sabotaged.prober(isolation, deadline: isStuck ? .seconds(15) : patience)
    let bad = try folder.file("bad.mp4", order(sabotage.0))
    #expect(prober.posterCode(bad) == sabotage.1)
    #expect(prober.posterCode(try folder.file("good.mp4", order("lie nothing"))) == nil)
  }

  /// A worker that has read another file makes no poster, and one that has made a poster reads no further file.
  @Test func eachPosterHasAProcessThatReadsNothingElse() async throws {
    let prober = Sabotaged.prober(workers: 2)
    let first = try await prober.report(try folder.file("a.mp4", order("report process")))
    #expect(prober.posterCode(try folder.file("b.mp4", order("lie nothing"))) == nil)
    let second = try await prober.report(try folder.file("c.mp4", order("report process")))
    // The worker that reads facts is kept meanwhile and is not the one that made the poster, which would have ended.
    #expect(first == second)
    #expect(try await prober.report(try folder.file("d.mp4", order("report files"))) == "3")
    await prober.close()
  }

  @Test func aPosterIsCancelled() async throws {
    let prober = Sabotaged.prober()
    let flag = CancellationFlag()
    flag.set()
    let file = try folder.file("a.mp4", order("sleep"))
    #expect(throws: PosterError(ProbeError.cancelled)) {
      try prober.poster(of: file, sniffed: nil, options: PosterOptions(), cancellation: flag)
    }
    await prober.close()
    #expect(prober.posterCode(file) == .cancelled)
  }

  @Test func aPosterUnderWayIsCancelled() async throws {
    let prober = Sabotaged.prober(deadline: .seconds(600))
    let flag = CancellationFlag()
    let file = try folder.file("a.mp4", order("sleep"))
    async let code = BlockingQueue(label: "poster", width: 1).run { () -> PosterError.Code? in
      do throws(PosterError) {
        _ = try prober.poster(of: file, sniffed: nil, options: PosterOptions(), cancellation: flag)
        return nil
      } catch {
        return error.code
      }
    }
    #expect(try await eventually { prober.counts.lent == 1 })
    flag.set()
    #expect(await code == .cancelled)
    await prober.close()
  }

  @Test func aMissingWorkerIsSaid() throws {
    let prober = SandboxedProber(worker: .path("/nowhere/reel-probe-worker"), workers: 1)
    let code = prober.posterCode(try folder.file("a.mp4", order("lie nothing")))
    #expect(code == .workerMissing && code?.isInstallation == true)
  }
}

extension SandboxedProber {
  fileprivate func poster(_ file: SourceFile, _ options: PosterOptions = PosterOptions()) -> Result<
    Poster, PosterError
  > {
    Result { () throws(PosterError) in
      try poster(of: file, sniffed: nil, options: options, cancellation: CancellationFlag())
    }
  }

  fileprivate func posterCode(_ file: SourceFile) -> PosterError.Code? {
    switch poster(file) {
    case .success: nil
    case .failure(let error): error.code
    }
  }
}
