import Configuration
import Glibc
import ReelSystem
import ReelUploading
import SystemPackage

/// Reads the settings: flags, then `REEL_*` in the environment, then the configuration file.
enum SettingsReader {
  /// - Parameters:
  ///   - flags: what the command line says; nil where it says nothing.
  ///   - file: `--config`; nil looks for the user's own file, which need not be there.
  /// - Throws: ``CommandFailure`` when the file can't be read or says what can't be.
  static func read(
    flags: Settings, file: String?, environment: ProcessEnvironment = .current()
  ) async throws -> Settings {
    var providers: [any ConfigProvider] = [
      EnvironmentVariablesProvider(
        environmentVariables: try environment.texts { $0.hasPrefix("REEL_") }
      ).prefixKeys(with: "reel")
    ]
    if let path = try file ?? usersOwn(environment), try isThere(path, mayBeMissing: file == nil) {
      providers.append(try await provider(for: path))
    }
    do {
      return flags.completed(by: try settings(ConfigReader(providers: providers)))
    } catch let failure as CommandFailure {
      throw failure
    } catch {
      throw CommandFailure(.couldNotRun, "a setting can't be used: \(error)")
    }
  }

  /// `$XDG_CONFIG_HOME/reel/config.yaml`; never a file of the working folder or of one that is taken in.
  private static func usersOwn(_ environment: ProcessEnvironment) throws -> String? {
    if let folder = try environment.text("XDG_CONFIG_HOME"), folder.hasPrefix("/") {
      return folder + "/reel/config.yaml"
    }
    guard let home = try environment.text("HOME"), home.hasPrefix("/") else { return nil }
    return home + "/.config/reel/config.yaml"
  }

  private static func provider(for path: String) async throws -> any ConfigProvider {
    do {
      return try await FileProvider<YAMLSnapshot>(filePath: FilePath(path))
    } catch {
      throw CommandFailure(
        .couldNotRun,
        "the configuration file \(path) can't be used: \(error); it is YAML like `library: /srv/reel`")
    }
  }

  /// Bytes; all settings together take less than one thousand.
  private static let largest = 1 << 20

  /// Whether there is a file that the provider can be let at: it would read whatever is there, to its end.
  private static func isThere(_ path: String, mayBeMissing: Bool) throws -> Bool {
    func refuse(_ reason: String) -> CommandFailure {
      CommandFailure(
        .couldNotRun, "the configuration file \(path) \(reason); it is YAML like `library: /srv/reel`")
    }
    var facts = stat()
    guard stat(path, &facts) == 0 else {
      let error = SystemError.last("stat")
      if mayBeMissing, [ENOENT, ENOTDIR].contains(error.code) { return false }
      throw refuse("can't be read: \(error.reason)")
    }
    guard facts.st_mode & S_IFMT == S_IFREG else { throw refuse("is not a regular file") }
    guard facts.st_size <= largest else { throw refuse("is larger than \(largest >> 20) MB") }
    guard access(path, R_OK) == 0 else { throw refuse("can't be read: \(SystemError.last("access").reason)") }
    return true
  }

  private static func settings(_ reader: ConfigReader) throws -> Settings {
    Settings(
      library: text(reader, "library"), to: text(reader, "to"), author: text(reader, "author"),
      authorName: text(reader, "authorName"), publicBaseURL: try publicBaseURL(reader),
      mode: text(reader, "mode"), jobs: try number(reader, "jobs", within: 1...64),
      nameLength: try number(reader, "nameLength", within: 16...64), worker: text(reader, "worker"),
      deadline: try seconds(reader, "deadline"),
      isolation: try choice(reader, "isolation", IsolationChoice.allCases.map(\.rawValue)),
      progress: try choice(reader, "progress", ProgressChoice.allCases.map(\.rawValue)),
      limitRate: text(reader, "limitRate"), maxSize: try size(reader, "maxSize"),
      uploads: try number(reader, "uploads", within: 1...64),
      store: try store(reader))
  }

  private static func store(_ reader: ConfigReader) throws -> StoreSettings {
    StoreSettings(
      endpoint: text(reader, "endpoint"), region: text(reader, "region"),
      pathStyle: try yesOrNo(reader, "pathStyle"), profile: text(reader, "profile"),
      credentials: try choice(reader, "credentials", CredentialsChoice.allCases.map(\.rawValue)),
      serviceAccount: text(reader, "serviceAccount"), project: text(reader, "project"),
      caFile: text(reader, "caFile"), proxy: text(reader, "proxy"),
      insecureHTTP: try yesOrNo(reader, "insecureHTTP"),
      presign: try number(reader, "presign", within: 1...604_800), adapterEnv: text(reader, "adapterEnv"),
      adapterDeadline: try seconds(reader, "adapterDeadline"))
  }

  private static func publicBaseURL(_ reader: ConfigReader) throws -> String? {
    guard let text = text(reader, "publicBaseURL") else { return nil }
    if let problem = ObjectAddresses.problem(ofBase: text) {
      throw CommandFailure(.couldNotRun, "the setting publicBaseURL is \"\(text)\"; it \(problem)")
    }
    return text
  }

  private static func yesOrNo(_ reader: ConfigReader, _ key: ConfigKey) throws -> Bool? {
    if let isSet = reader.bool(forKey: key) { return isSet }
    guard let text = text(reader, key) else { return nil }
    throw CommandFailure(.couldNotRun, "the setting \(key) is \"\(text)\"; it is true or false")
  }

  /// YAML reads `author: 12` as a number; an author is text all the same. Empty says nothing.
  private static func text(_ reader: ConfigReader, _ key: ConfigKey) -> String? {
    let text =
      reader.string(forKey: key) ?? reader.int(forKey: key).map(String.init)
      ?? reader.double(forKey: key).map { String($0) }
    return text?.isEmpty == true ? nil : text
  }

  private static func choice(_ reader: ConfigReader, _ key: ConfigKey, _ choices: [String]) throws -> String?
  {
    guard let text = text(reader, key) else { return nil }
    guard choices.contains(text) else {
      throw CommandFailure(
        .couldNotRun, "the setting \(key) is \"\(text)\"; it is one of \(choices.joined(separator: ", "))")
    }
    return text
  }

  private static func number(
    _ reader: ConfigReader, _ key: ConfigKey, within range: ClosedRange<Int>
  ) throws -> Int? {
    guard let text = text(reader, key) else { return nil }
    guard let number = Int(text), range.contains(number) else {
      throw CommandFailure(
        .couldNotRun,
        "the setting \(key) is \"\(text)\"; it is a whole number from \(range.lowerBound) to \(range.upperBound)"
      )
    }
    return number
  }

  private static func size(_ reader: ConfigReader, _ key: ConfigKey) throws -> SizeLimit? {
    guard let text = text(reader, key) else { return nil }
    guard let limit = SizeLimit(argument: text) else {
      throw CommandFailure(
        .couldNotRun, "the setting \(key) is \"\(text)\"; it is a size like 20GB or 512MiB, or none")
    }
    return limit
  }

  private static func seconds(_ reader: ConfigReader, _ key: ConfigKey) throws -> Double? {
    guard let text = text(reader, key) else { return nil }
    guard let number = Double(text), number > 0, number <= 3600 else {
      throw CommandFailure(
        .couldNotRun, "the setting \(key) is \"\(text)\"; it is a number of seconds above 0, up to 3600")
    }
    return number
  }
}

extension Settings {
  /// These settings, and `other`'s where these say nothing.
  func completed(by other: Settings) -> Settings {
    Settings(
      library: library ?? other.library, to: to ?? other.to, author: author ?? other.author,
      authorName: authorName ?? other.authorName, publicBaseURL: publicBaseURL ?? other.publicBaseURL,
      mode: mode ?? other.mode, jobs: jobs ?? other.jobs, nameLength: nameLength ?? other.nameLength,
      worker: worker ?? other.worker, deadline: deadline ?? other.deadline,
      isolation: isolation ?? other.isolation, progress: progress ?? other.progress,
      limitRate: limitRate ?? other.limitRate, maxSize: maxSize ?? other.maxSize,
      uploads: uploads ?? other.uploads,
      store: store.completed(by: other.store))
  }
}

extension StoreSettings {
  /// These settings, and `other`'s where these say nothing.
  func completed(by other: StoreSettings) -> StoreSettings {
    StoreSettings(
      endpoint: endpoint ?? other.endpoint, region: region ?? other.region,
      pathStyle: pathStyle ?? other.pathStyle, profile: profile ?? other.profile,
      credentials: credentials ?? other.credentials,
      serviceAccount: serviceAccount ?? other.serviceAccount, project: project ?? other.project,
      caFile: caFile ?? other.caFile, proxy: proxy ?? other.proxy,
      insecureHTTP: insecureHTTP ?? other.insecureHTTP, presign: presign ?? other.presign,
      adapterEnv: adapterEnv ?? other.adapterEnv, adapterDeadline: adapterDeadline ?? other.adapterDeadline)
  }
}
