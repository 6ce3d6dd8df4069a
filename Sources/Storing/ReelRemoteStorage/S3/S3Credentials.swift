import FoundationEssentials
import ReelCore

/// A key pair of a store, and what belongs to it.
public struct S3Credentials: Hashable, Sendable {
  /// The access key's id; no secret, but nobody's business either.
  public let keyID: String
  /// The secret access key.
  public let secret: Secret
  /// The session token of credentials that end.
  public let token: Secret?
  /// When they end; nil when they don't.
  public let expires: Date?

  /// Credentials.
  public init(keyID: String, secret: Secret, token: Secret? = nil, expires: Date? = nil) {
    self.keyID = keyID
    self.secret = secret
    self.token = token
    self.expires = expires
  }
}

/// Where an uploader gets its credentials from.
public protocol CredentialSource: Sendable {
  /// Credentials that are good for the next minutes.
  /// - Throws: `storeUnusable` when there are none, naming the places that were looked in.
  func credentials() async throws(UploadError) -> S3Credentials

  /// The store said that what ``credentials()`` gave is no longer good: the next call looks again.
  func forget() async
}

/// Credentials that somebody holds in hand.
public struct FixedCredentials: CredentialSource {
  private let held: S3Credentials

  /// Gives `credentials`, always.
  public init(_ credentials: S3Credentials) { held = credentials }

  /// As they are.
  public func credentials() async throws(UploadError) -> S3Credentials { held }

  /// There are no others.
  public func forget() async {}
}

/// Which places are looked in.
public enum CredentialPlace: String, Sendable, CaseIterable {
  /// The environment, then the shared files.
  case local
  /// The endpoint that a container's runtime offers (ECS, EKS).
  case container
  /// The endpoint that a virtual machine offers (EC2, IMDSv2).
  case instance
}

/// Looks in one place, and remembers what it found until shortly before that ends. A look that fails then is no reason
/// to throw away what is still good.
public actor RememberedCredentials: CredentialSource {
  /// Looks once.
  public typealias Look = @Sendable () async throws(UploadError) -> S3Credentials

  private let held: RenewedSecret<S3Credentials>

  /// - Parameter look: gives fresh credentials.
  public init(clock: any WallClock = SystemWallClock(), look: @escaping Look) {
    held = RenewedSecret(clock: clock) { () async throws(UploadError) in
      let found = try await look()
      return RenewedSecret.Held(value: found, ends: found.expires)
    }
  }

  /// What is remembered, or fresh ones. Those who ask at once share a look.
  public func credentials() async throws(UploadError) -> S3Credentials { try await held.current() }

  /// Forgets.
  public func forget() async { await held.forget() }
}

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
      file(credentialsPath)?.credentials(profile), file(configPath)?.profile(profile)
    )
    for found in [credentials, config] {
      if let found, let pair = try Self.pair(found, profile) { return pair }
    }
    throw missing(config)
  }

  /// `AWS_REGION`, `AWS_DEFAULT_REGION`, or the profile's; nil when nobody names one.
  public func region() async throws(UploadError) -> String? {
    if let named = value("AWS_REGION") ?? value("AWS_DEFAULT_REGION") { return named }
    return try await settings()?["region"]
  }

  /// `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL`, that of S3 in the profile's `services`, or the profile's; nil when nobody
  /// names one, or they are to be ignored.
  /// - Throws: `storeUnusable` where what the profile names is not there, or Amazon is to be reached by another address
  ///   than its own: without a word, requests would go elsewhere than they are meant to.
  public func endpoint() async throws(UploadError) -> String? {
    let settings = try await settings()
    if settings == nil, isNamed || value("AWS_PROFILE") != nil {
      throw UploadError(.storeUnusable, "there is no profile named \(profile) in \(places): correct its name")
    }
    if !isTrue("ignore_configured_endpoint_urls", settings) {
      if let named = value("AWS_ENDPOINT_URL_S3") ?? value("AWS_ENDPOINT_URL") { return named }
      if let found = try await endpoint(in: settings) { return found }
    }
    for (setting, host) in [("use_fips_endpoint", "s3-fips"), ("use_dualstack_endpoint", "s3.dualstack")]
    where isTrue(setting, settings) {
      throw UploadError(
        .storeUnusable,
        "\(setting) (AWS_\(setting.uppercased())) is set, which Reel does not do by itself: name that endpoint with "
          + "\(setting: .endpoint), such as https://\(host).REGION.amazonaws.com, or unset it")
    }
    return nil
  }

  private func endpoint(in settings: SharedProfile?) async throws(UploadError) -> String? {
    guard let services = settings?["services"] else { return settings?["endpoint_url"] }
    guard let section = try await file(configPath)?.services(services) else {
      throw UploadError(
        .storeUnusable,
        "the profile \(profile) names the services \(services), of which there is no section [services \(services)] in "
          + "\(configPath ?? "the config file"): correct the name, or name the endpoint with \(setting: .endpoint)"
      )
    }
    return section["s3", "endpoint_url"] ?? settings?["endpoint_url"]
  }

  /// Whether checksums are sent that no operation demands (AWS SDKs, "Data integrity protections"): as
  /// `AWS_REQUEST_CHECKSUM_CALCULATION` or the profile's `request_checksum_calculation` says, `when_supported` or
  /// `when_required`; nil when nobody says.
  public func sendsChecksums() async throws(UploadError) -> Bool? {
    let named: String?
    if let value = value("AWS_REQUEST_CHECKSUM_CALCULATION") {
      named = value
    } else {
      named = try await settings()?["request_checksum_calculation"]
    }
    return named.map { $0.lowercased() != "when_required" }
  }

  /// What the profile says in either file, the credentials file first; nil when it is in none.
  private func settings() async throws(UploadError) -> SharedProfile? {
    let (credentials, config) = try await (
      file(credentialsPath)?.credentials(profile), file(configPath)?.profile(profile)
    )
    guard let credentials else { return config }
    return config.map { credentials.or($0) } ?? credentials
  }

  /// As the variable of that name says, else as the profile.
  private func isTrue(_ setting: String, _ settings: SharedProfile?) -> Bool {
    (value("AWS_" + setting.uppercased()) ?? settings?[setting])?.lowercased() == "true"
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
          + "(aws configure export-credentials --format env), then try again")
    }
    let variables = !isNamed ? "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment, " : ""
    let message: ErrorMessage =
      "no credentials for S3 were found; looked in: \(variables)the profile \(profile) in \(places); \(elsewhere)"
    return UploadError(.storeUnusable, message)
  }

  /// Where else they may be, as far as the environment tells.
  private var elsewhere: ErrorMessage {
    let offered = ["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"].first {
      value($0) != nil
    }
    if let offered {
      return
        "this container's runtime offers some (\(offered)), which are asked for only with \(setting: .credentials) container"
    }
    if value("AWS_WEB_IDENTITY_TOKEN_FILE") != nil, value("AWS_ROLE_ARN") != nil {
      return
        "the role that AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE offer (IRSA) Reel can't take: give the pod its role by "
        + "EKS Pod Identity, and \(setting: .credentials) container, or export them (aws configure export-credentials "
        + "--format env)"
    }
    return
      "the endpoints of containers and virtual machines are asked only with \(setting: .credentials) container or instance"
  }

  // MARK: Files

  private var credentialsPath: String? {
    value("AWS_SHARED_CREDENTIALS_FILE") ?? home.map { $0 + "/.aws/credentials" }
  }

  private var configPath: String? { value("AWS_CONFIG_FILE") ?? home.map { $0 + "/.aws/config" } }

  /// A relative one would be a folder of whoever made the working folder.
  private var home: String? { value("HOME").flatMap { $0.hasPrefix("/") ? $0 : nil } }

  private var places: String { [credentialsPath, configPath].compactMap { $0 }.joined(separator: ", ") }

  private func file(_ path: String?) async throws(UploadError) -> SharedFile? {
    try await text(of: path).map { SharedFile($0) }
  }

  private func text(of path: String?) async throws(UploadError) -> String? {
    guard let path else { return nil }
    do throws(SystemError) {
      return try await files.text(of: path)
    } catch {
      throw UploadError(
        .storeUnusable, "the file \(path) can't be read (\(error.reason)): check its owner and its mode")
    }
  }

  private func value(_ name: String) -> String? { Self.value(name, environment) }

  private static func value(_ name: String, _ environment: [String: String]) -> String? {
    environment[name].flatMap { $0.isEmpty ? nil : $0 }
  }
}
