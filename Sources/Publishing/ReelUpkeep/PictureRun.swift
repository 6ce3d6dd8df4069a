import ReelCore
import ReelIngest
import ReelSource

/// The outcome for one file of which a picture was to be made.
package struct PicturedFile<Output: Sendable>: Sendable {
  package let path: SourcePath
  /// The state of the file when it was opened; nil if it could not be.
  package let identity: FileIdentity?
  package let result: Result<Output, FileFailure>

  /// Returns the same outcome, with settings named by `wording`.
  package func worded(_ wording: (ErrorMessage) -> String) -> PicturedFile {
    PicturedFile(path: path, identity: identity, result: result.mapError { $0.worded(wording) })
  }
}

/// Makes pictures of files, several at once, and returns them in the order of the files.
package struct PictureRun: Sendable {
  private let inputs: [SourceInput]
  private let options: WalkOptions
  private let width: Int

  /// - Parameter width: the number of files worked on at once.
  package init(_ inputs: [SourceInput], options: WalkOptions, width: Int) {
    (self.inputs, self.options, self.width) = (inputs, options, width)
  }

  /// The most bytes of pictures that may wait for earlier ones.
  private static let mostWaiting = 256 << 20

  /// Calls `report` with what `make` made of each file, in order; it returns whether the file has
  /// its picture. Returns whether all have.
  /// - Parameter largest: the most bytes that one of the results takes.
  /// - Throws: ``PosterError`` if no file can be read at all; what `report` throws.
  package func run<Output: Sendable>(
    largest: Int,
    _ make: @escaping @Sendable (SourceFile, CancellationFlag) throws(PosterError) -> Output,
    _ report: (PicturedFile<Output>) throws -> Bool
  ) async throws -> Bool {
    let files = FileRun(
      inputs: inputs, options: options, width: width,
      ahead: max(1, min(2 * width, Self.mostWaiting / largest)))
    var haveAll = true
    try await files.run { file, flag in
      try Self.pictured(file, make, flag)
    } _: { file in
      if !(try report(file)) { haveAll = false }
      return true
    }
    return haveAll
  }

  /// - Throws: ``PosterError`` after which no other file would fare better.
  private static func pictured<Output: Sendable>(
    _ walked: WalkedFile, _ make: (SourceFile, CancellationFlag) throws(PosterError) -> Output,
    _ flag: CancellationFlag
  ) throws -> PicturedFile<Output> {
    let file: SourceFile
    do throws(SourceError) {
      file = try walked.found.get().open()
    } catch {
      return PicturedFile(
        path: walked.path, identity: nil, result: .failure(FileFailure(error, as: error.code)))
    }
    do throws(PosterError) {
      return PicturedFile(path: file.path, identity: file.identity, result: .success(try make(file, flag)))
    } catch {
      if error.code.isInstallation { throw error }
      return PicturedFile(
        path: file.path, identity: file.identity, result: .failure(FileFailure(error, as: error.code)))
    }
  }
}
