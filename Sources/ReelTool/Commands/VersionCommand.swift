import ArgumentParser
import ReelCore
import ReelLibrary
import ReelTerminal

/// `reel version`
struct VersionCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "version", abstract: "Reel's version, the worker's, FFmpeg's and SQLite's.")

  @OptionGroup var reading: ReadingOptions
  @OptionGroup var library: LibraryOptions

  @Flag(help: "Print JSON.")
  var json = false

  func run() async throws {
    let settings = try SettingsReader.read(
      flags: Settings(library, reading: reading), file: library.config)
    let view = await versions(settings)
    let traits = TerminalTraits.standardOutput()
    try OutputStream.standardOutput.write(json ? view.json(pretty: traits.isTerminal) : view.text(traits))
    if view.worker == nil { try ReelExit.couldNotRun.end() }
  }

  private func versions(_ settings: Settings) async -> VersionView {
    let sqlite = SQLiteCatalog.sqliteVersion()
    do {
      let prober = try AppContext.prober(settings, workers: 1)
      let reader = try await prober.readerVersion()
      await prober.close()
      return VersionView(worker: reader.reel, ffmpeg: reader.ffmpeg, sqlite: sqlite)
    } catch let error as ProbeError {
      return VersionView(worker: nil, ffmpeg: nil, sqlite: sqlite, workerProblem: error.message)
    } catch {
      return VersionView(
        worker: nil, ffmpeg: nil, sqlite: sqlite, workerProblem: (error as? CommandFailure)?.message)
    }
  }
}
