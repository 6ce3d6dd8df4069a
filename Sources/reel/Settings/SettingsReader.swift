import Configuration
import Foundation
import SystemPackage

/// Reads the settings: flags, then `REEL_*` in the environment, then the configuration file.
enum SettingsReader {
  /// - Parameters:
  ///   - flags: what the command line says; nil where it says nothing.
  ///   - file: `--config`; nil looks for the user's own file, which need not be there.
  /// - Throws: ``CommandFailure`` when the file can't be read or says what can't be.
  static func read(
    flags: Settings, file: String?, environment: [String: String] = ProcessInfo.processInfo.environment
  ) async throws -> Settings {
    var providers: [any ConfigProvider] = [
      EnvironmentVariablesProvider(environmentVariables: environment).prefixKeys(with: "reel")
    ]
    if let path = file ?? usersOwn(environment) {
      providers.append(try await provider(for: path, mayBeMissing: file == nil))
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
  private static func usersOwn(_ environment: [String: String]) -> String? {
    if let folder = environment["XDG_CONFIG_HOME"], folder.hasPrefix("/") {
      return folder + "/reel/config.yaml"
    }
    return environment["HOME"].map { $0 + "/.config/reel/config.yaml" }
  }

  private static func provider(for path: String, mayBeMissing: Bool) async throws -> any ConfigProvider {
    do {
      return try await FileProvider<YAMLSnapshot>(filePath: FilePath(path), allowMissing: mayBeMissing)
    } catch {
      throw CommandFailure(
        .couldNotRun,
        "the configuration file \(path) can't be used: \(error); it is YAML like `library: /srv/reel`")
    }
  }

  private static func settings(_ reader: ConfigReader) throws -> Settings {
    Settings(
      library: text(reader, "library"), to: text(reader, "to"), author: text(reader, "author"),
      authorName: text(reader, "authorName"), publicBaseURL: text(reader, "publicBaseURL"),
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
      caFile: text(reader, "caFile"), insecureHTTP: try yesOrNo(reader, "insecureHTTP"),
      presign: try number(reader, "presign", within: 1...604_800), adapterEnv: text(reader, "adapterEnv"),
      adapterDeadline: try seconds(reader, "adapterDeadline"))
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
      caFile: caFile ?? other.caFile,
      insecureHTTP: insecureHTTP ?? other.insecureHTTP, presign: presign ?? other.presign,
      adapterEnv: adapterEnv ?? other.adapterEnv, adapterDeadline: adapterDeadline ?? other.adapterDeadline)
  }
}
