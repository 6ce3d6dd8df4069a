import ArgumentParser
import ReelCore

/// Reads the settings: flags, then `REEL_*` in the environment, then the configuration file.
enum SettingsReader {
  /// - Parameters:
  ///   - arguments: a command, or a group of its options.
  ///   - file: `--config`; nil looks for the user's own file, which need not be there.
  /// - Throws: ``CommandFailure`` when the file can't be read or says what can't be.
  static func read(flagsOf arguments: any ParsableArguments, file: String?) throws -> Settings {
    try read(flags: Settings(flagsOf: arguments), file: file)
  }

  /// - Parameter flags: what the command line says.
  /// - Throws: ``CommandFailure`` when the file can't be read or says what can't be.
  static func read(
    flags: Settings, file: String?, environment: ProcessEnvironment = .current()
  ) throws -> Settings {
    let variables = try environment.texts { $0.hasPrefix("REEL_") }
    let path = try file ?? ConfigurationFile.usersOwn(environment)
    let file = try path.flatMap { try ConfigurationFile($0, mayBeMissing: file == nil) }
    var others = Settings()
    for row in SettingTable.all {
      guard let text = text(row, variables, file) else { continue }
      do throws(SettingRefusal) {
        others[row.key] = try row.read(text)
      } catch {
        throw CommandFailure(.couldNotRun, "the setting \(row.key) is \"\(text.text)\"; it \(error.reason)")
      }
    }
    // A library that is named here and now is not to be passed over for a catalog that stands somewhere else.
    if flags.library != nil { others.catalog = nil }
    return flags.completed(by: others)
  }

  /// Nil when nobody says anything, or the first who does says nothing but "".
  private static func text(
    _ row: any SettingRow, _ variables: [String: String], _ file: ConfigurationFile?
  ) -> SettingText? {
    let variable = variables[row.variable]
    let node = file?[row.key]
    guard let text = variable ?? node?.scalar, !text.isEmpty else { return nil }
    return SettingText(text: text, isVariable: variable != nil, isQuoted: node?.isText == true)
  }
}
