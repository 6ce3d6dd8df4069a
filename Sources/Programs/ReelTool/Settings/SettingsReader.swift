import ArgumentParser
import ReelCore
import ReelStores
import ReelTerminal

/// Reads the settings. Flags override `REEL_*` in the environment, which override the configuration file.
enum SettingsReader {
  /// - Parameters:
  ///   - arguments: a command, or a group of its options.
  ///   - file: `--config`; nil looks for the user's own file, which need not be there.
  /// - Throws: ``CommandFailure`` when the file can't be read, or a value is invalid.
  static func read(flagsOf arguments: any ParsableArguments, file: String?) throws -> Settings {
    try read(flags: Settings(flagsOf: arguments), file: file)
  }

  /// - Parameter flags: the settings on the command line.
  /// - Throws: ``CommandFailure`` when the file can't be read, or a value is invalid.
  static func read(
    flags: Settings, file: String?, environment: ProcessEnvironment = .current()
  ) throws -> Settings {
    let variables = try environment.texts { $0.hasPrefix("REEL_") }
    for name in variables.keys.sorted() { tellIfMisspelt(name) }
    let path = try file ?? ConfigurationFile.usersOwn(environment)
    let file = try path.flatMap { try ConfigurationFile($0, mayBeMissing: file == nil) }
    var others = Settings()
    for row in SettingTable.all {
      guard let (text, source) = text(row, variables, file) else { continue }
      if text.isVariable, let problem = wrapping(text.text) {
        throw CommandFailure(.couldNotRun, "\(source) \(problem)")
      }
      let value = try orCommandFailure { () throws(SettingRefusal) -> any Sendable in
        try row.read(text)
      } told: {
        "\(source) is \"\(text.text)\"; it \($0.reason)"
      }
      others.set(row, to: value, from: source)
    }
    // A library named on the command line overrides a catalog that is set elsewhere.
    if flags.library != nil { others.catalog = nil }
    return flags.completed(by: others)
  }

  /// What stands around a variable's value although a shell would have taken it off, as the end of a sentence; nil where
  /// nothing does. Container runtimes take the lines of a file of variables as they are. The value, which may hold a
  /// password, is not repeated.
  private static func wrapping(_ value: String) -> String? {
    if let first = value.first, "\"'".contains(first), value.last == first,
      value.count(where: { $0 == first }) == 2
    {
      return "has quotes around its value, which no shell has taken off; leave them out"
    }
    // A line end of Windows is one character.
    guard value.first?.isWhitespace == true || value.last?.isWhitespace == true else { return nil }
    return
      "begins or ends with white space, or with a line end as Windows writes it; leave that out"
  }

  /// Warns about a variable that looks like a misspelled one. It may be meant for another program or another Reel, so
  /// it is no error.
  private static func tellIfMisspelt(_ variable: String) {
    let known = SettingTable.all.map(\.variable) + ["REEL_COLOR", Stores.tusToken]
    guard !known.contains(variable) else { return }
    let prefix = "REEL_".count
    let names = known.map { String($0.dropFirst(prefix)) }
    guard let nearest = NearestWord.nearest(to: String(variable.dropFirst(prefix)), among: names) else {
      return
    }
    LongWait.tell("there is no variable \(variable); did you mean REEL_\(nearest)?")
  }

  /// The text of a setting and where it comes from: `REEL_JOBS`, `config.yaml:7: jobs`. Nil when it is set nowhere, or
  /// when the first place that sets it has only "".
  private static func text(
    _ row: any SettingRow, _ variables: [String: String], _ file: ConfigurationFile?
  ) -> (SettingText, source: String)? {
    let variable = variables[row.variable]
    let node = file?[row.key].flatMap { $0.isNull ? nil : $0 }
    guard let text = variable ?? node?.scalar, !text.isEmpty else { return nil }
    let place = file.flatMap { file in node.map { "\(file.path):\($0.mark.line): \(row.key)" } }
    return (
      SettingText(text: text, isVariable: variable != nil, isQuoted: node?.isText == true),
      variable == nil ? place ?? row.key : row.variable
    )
  }
}
