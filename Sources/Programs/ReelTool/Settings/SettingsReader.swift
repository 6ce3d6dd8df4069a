import ReelCore
import ReelStorage
import ReelTerminal

/// Reads the settings: flags, then `REEL_*` in the environment, then the configuration file.
struct SettingsReader {
  /// - Parameters:
  ///   - flags: what the command line says; nil where it says nothing.
  ///   - file: `--config`; nil looks for the user's own file, which need not be there.
  /// - Throws: ``CommandFailure`` when the file can't be read or says what can't be.
  static func read(
    flags: Settings, file: String?, environment: ProcessEnvironment = .current()
  ) throws -> Settings {
    let variables = try environment.texts { $0.hasPrefix("REEL_") }
    let path = try file ?? ConfigurationFile.usersOwn(environment)
    let reader = SettingsReader(
      variables: variables, file: try path.flatMap { try ConfigurationFile($0, mayBeMissing: file == nil) })
    var others = try reader.settings()
    // A library that is named here and now is not to be passed over for a catalog that stands somewhere else.
    if flags.library != nil { others.catalog = nil }
    return flags.completed(by: others)
  }

  private let variables: [String: String]
  private let file: ConfigurationFile?

  // MARK: The settings

  private func settings() throws -> Settings {
    Settings(
      library: text(.library), catalog: text(.catalog).map { CatalogSetting(address: $0, isArgument: false) },
      to: text(.to), author: text(.author),
      authorName: text(.authorName), publicBaseURL: try publicBaseURL(),
      mode: text(.mode), jobs: try number(.jobs, within: 1...64),
      nameLength: try number(.nameLength, within: 16...64), worker: text(.worker),
      deadline: try seconds(.deadline),
      isolation: try choice(.isolation), progress: try choice(.progress), logLevel: try choice(.logLevel),
      limitRate: text(.limitRate),
      maxSize: try value(.maxSize, "a size like 20GB or 512MiB, or none", SizeLimit.init),
      uploads: try number(.uploads, within: 1...64),
      posters: try (choice(.posters) as PostersChoice?)?.rawValue,
      posterSize: try number(.posterSize, within: PosterOptions.sizes),
      mend: try value(.mend, MendList.choices, MendList.init),
      maxRead: try value(.maxRead, "a size like 64MiB or 1GB, at least 64KiB", ReadLimit.init),
      store: try store())
  }

  private func store() throws -> StoreSettings {
    StoreSettings(
      endpoint: text(.endpoint), region: text(.region),
      pathStyle: try yesOrNo(.pathStyle), profile: text(.profile),
      credentials: try choice(.credentials),
      serviceAccount: text(.serviceAccount), project: text(.project),
      caFile: text(.caFile), proxy: text(.proxy),
      insecureHTTP: try yesOrNo(.insecureHTTP),
      presign: try number(.presign, within: 1...604_800), adapterEnv: text(.adapterEnv),
      adapterDeadline: try seconds(.adapterDeadline), uploadHosts: text(.uploadHosts),
      requestChecksums: try choice(.requestChecksums),
      conditionalPuts: try yesOrNo(.conditionalPuts))
  }

  private func publicBaseURL() throws -> String? {
    guard let text = text(.publicBaseURL) else { return nil }
    if let problem = ObjectAddresses.problem(ofBase: text) {
      throw CommandFailure(.couldNotRun, "the setting publicBaseURL is \"\(text)\"; it \(problem)")
    }
    return text
  }

  /// - Parameters:
  ///   - form: what a value is, as the end of a sentence.
  ///   - parse: nil for what is none.
  private func value<Value>(
    _ key: SettingKey, _ form: String, _ parse: (String) -> Value?
  ) throws -> Value? {
    guard let text = text(key) else { return nil }
    guard let value = parse(text) else {
      throw CommandFailure(.couldNotRun, "the setting \(key.rawValue) is \"\(text)\"; it must be \(form)")
    }
    return value
  }

  private func choice<Choice: CaseIterable & RawRepresentable<String>>(_ key: SettingKey) throws -> Choice? {
    let names = Choice.allCases.map(\.rawValue).joined(separator: ", ")
    return try value(key, "one of \(names)") { Choice(rawValue: $0) }
  }

  private func number(_ key: SettingKey, within range: ClosedRange<Int>) throws -> Int? {
    try value(key, "a whole number from \(range.lowerBound) to \(range.upperBound)") {
      Int($0).flatMap { range.contains($0) ? $0 : nil }
    }
  }

  private func seconds(_ key: SettingKey) throws -> Double? {
    try value(key, "a number of seconds above 0, up to 3600") {
      Double($0).flatMap { $0 > 0 && $0 <= 3600 ? $0 : nil }
    }
  }

  // MARK: Where they come from

  /// Nil when nobody says anything, or the first who does says nothing but "".
  private func text(_ key: SettingKey) -> String? {
    let text = variables[key.variable] ?? file?[key]?.scalar
    return text?.isEmpty == true ? nil : text
  }

  private static let wordsOfVariables = [
    "true": true, "yes": true, "1": true, "false": false, "no": false, "0": false,
  ]
  private static let wordsOfYAML = [
    "true": true, "yes": true, "on": true, "false": false, "no": false, "off": false,
  ]

  private func yesOrNo(_ key: SettingKey) throws -> Bool? {
    guard let text = text(key) else { return nil }
    let isVariable = variables[key.variable] != nil
    // In YAML a word in quotes is a text, and no answer.
    let words = isVariable ? Self.wordsOfVariables : file?[key]?.isText == false ? Self.wordsOfYAML : [:]
    guard let isSet = words[text.lowercased()] else {
      throw CommandFailure(
        .couldNotRun, "the setting \(key.rawValue) is \"\(text)\"; it must be true or false")
    }
    return isSet
  }
}
