import ArgumentParser
import ReelCatalog
import ReelModel
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
    let settings = try await SettingsReader.read(
      flags: Settings(library, reading: reading), file: library.config)
    let prober = try Workplace.prober(settings, workers: 1)
    let reader: ReaderVersion
    do throws(ProbeError) {
      reader = try await prober.readerVersion()
    } catch {
      throw CommandFailure(error)
    }
    await prober.close()
    let versions = Versions(
      reel: ReelVersion.current, worker: reader.reel, ffmpeg: reader.ffmpeg, sqlite: SQLiteCatalog.sqliteVersion)
    let traits = TerminalTraits.standardOutput()
    try OutputStream.standardOutput.write(
      json ? JSONOutput.text(versions, pretty: traits.isTerminal) : VersionView.text(versions))
  }
}
