import ReelCore

/// What the environment and AWS's shared files say: credentials, and a region and an endpoint where they name one.
public struct LocalCredentials: Sendable {
  private let environment: [String: String]
  /// By `--profile`, which counts more than a key pair in the environment.
  private let isNamed: Bool
  private let profile: String
  private let files = CredentialFiles()

  /// - Parameters:
  ///   - environment: the process's.
  ///   - profile: `--profile`; else `AWS_PROFILE`, else `default`.
  public init(environment: [String: String], profile: String?) {
    self.environment = environment
    isNamed = profile != nil
    self.profile = profile ?? Self.value("AWS_PROFILE", environment) ?? "default"
  }

  /// The environment's, unless a profile was named; else the profile's.
  /// - Throws: `storeUnusable` when there are none.
  public func find() async throws(UploadError) -> S3Credentials {
    if !isNamed, let found = try fromEnvironment() { return found }
    let (credentials, config) = try await (
      section(profile, in: credentialsPath, isConfig: false), section(profile, in: configPath, isConfig: true)
    )
    for found in [credentials, config] {
      if let found, let pair = try Self.pair(found, profile) { return pair }
    }
    throw missing(config)
  }

  /// `AWS_REGION`, `AWS_DEFAULT_REGION`, or the profile's; nil when nobody names one.
  public func region() async throws(UploadError) -> String? {
    if let named = value("AWS_REGION") ?? value("AWS_DEFAULT_REGION") { return named }
    return try await section(profile, in: configPath, isConfig: true)?["region"]
  }

  /// `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL`, or the profile's; nil when nobody names one.
  public func endpoint() async throws(UploadError) -> String? {
    if let named = value("AWS_ENDPOINT_URL_S3") ?? value("AWS_ENDPOINT_URL") { return named }
    return try await section(profile, in: configPath, isConfig: true)?["endpoint_url"]
  }

  private func fromEnvironment() throws(UploadError) -> S3Credentials? {
    let (id, secret) = (value("AWS_ACCESS_KEY_ID"), value("AWS_SECRET_ACCESS_KEY"))
    switch (id, secret) {
    case (let id?, let secret?):
      return S3Credentials(
        keyID: id, secret: Secret(secret), token: value("AWS_SESSION_TOKEN").map(Secret.init))
    case (nil, nil): return nil
    default:
      throw UploadError(
        .storeUnusable,
        "of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY only one is set in the environment: set both, or none"
      )
    }
  }

  private static func pair(_ profile: SharedProfile, _ name: String) throws(UploadError) -> S3Credentials? {
    switch (profile["aws_access_key_id"], profile["aws_secret_access_key"]) {
    case (let id?, let secret?):
      return S3Credentials(
        keyID: id, secret: Secret(secret), token: profile["aws_session_token"].map(Secret.init))
    case (nil, nil): return nil
    default:
      throw UploadError(
        .storeUnusable,
        "the profile \(name) has only one of aws_access_key_id and aws_secret_access_key: give it both")
    }
  }

  private func missing(_ config: SharedProfile?) -> UploadError {
    let other = ["sso_session", "sso_start_url", "credential_process", "role_arn"].first {
      config?[$0] != nil
    }
    if let other {
      return UploadError(
        .storeUnusable,
        "the profile \(profile) gets its credentials by \(other), which Reel does not do: export them "
          + "(aws configure export-credentials --format env), then run the same command again")
    }
    let variables = !isNamed ? "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment, " : ""
    let places = [credentialsPath, configPath].compactMap { $0 }.joined(separator: ", ")
    return UploadError(
      .storeUnusable,
      "no credentials for S3 were found; looked in: \(variables)the profile \(profile) in \(places)"
        + "; the endpoints of containers and virtual machines are asked only with --credentials container or instance"
    )
  }

  // MARK: Files

  private var credentialsPath: String? {
    value("AWS_SHARED_CREDENTIALS_FILE") ?? home.map { $0 + "/.aws/credentials" }
  }

  private var configPath: String? { value("AWS_CONFIG_FILE") ?? home.map { $0 + "/.aws/config" } }

  /// A relative one would be a folder of whoever made the working folder.
  private var home: String? { value("HOME").flatMap { $0.hasPrefix("/") ? $0 : nil } }

  private func section(_ name: String, in path: String?, isConfig: Bool) async throws(UploadError)
    -> SharedProfile?
  {
    guard let path else { return nil }
    let text: String?
    do throws(SystemError) {
      text = try await files.text(of: path)
    } catch {
      throw UploadError(
        .storeUnusable, "the file \(path) can't be read (\(error.reason)): check its owner and its mode")
    }
    guard let text else { return nil }
    return SharedProfile(name, in: text, isConfig: isConfig)
  }

  private func value(_ name: String) -> String? { Self.value(name, environment) }

  private static func value(_ name: String, _ environment: [String: String]) -> String? {
    environment[name].flatMap { $0.isEmpty ? nil : $0 }
  }
}
