import FoundationEssentials
import ReelCore

/// The access key of a store, and what belongs to it.
public struct S3Credentials: Hashable, Sendable {
  /// The access key's id. It is not secret, but should not be published either.
  public let keyID: String
  /// The secret access key.
  public let secret: Secret
  /// The session token of temporary credentials.
  public let token: Secret?
  /// When the credentials expire; nil if they do not.
  public let expires: Date?

  /// Creates credentials.
  public init(keyID: String, secret: Secret, token: Secret? = nil, expires: Date? = nil) {
    self.keyID = keyID
    self.secret = secret
    self.token = token
    self.expires = expires
  }
}

/// Where an uploader gets its credentials from.
public protocol CredentialSource: Sendable {
  /// Returns credentials that are valid for the next minutes.
  /// - Throws: `storeUnusable` if there are none, naming the places that were searched.
  func credentials() async throws(UploadError) -> S3Credentials

  /// Forgets the credentials that ``credentials()`` returned, as the store said that they are no longer valid. The next
  /// call looks them up again.
  func forget() async
}

/// Credentials given by the caller.
public struct FixedCredentials: CredentialSource {
  private let held: S3Credentials

  /// Always returns `credentials`.
  public init(_ credentials: S3Credentials) { held = credentials }

  /// Returns the given credentials.
  public func credentials() async throws(UploadError) -> S3Credentials { held }

  /// Does nothing, as there are no others.
  public func forget() async {}
}

/// The places where credentials are looked up.
public enum CredentialPlace: String, Sendable, CaseIterable {
  /// The environment, then the shared files.
  case local
  /// The endpoint that a container's runtime offers (ECS, EKS).
  case container
  /// The endpoint that a virtual machine offers (EC2, IMDSv2).
  case instance
}

/// Looks in one place, and remembers the credentials found until shortly before they expire. A failed lookup does not
/// discard credentials that are still valid.
public actor RememberedCredentials: CredentialSource {
  /// Looks the credentials up once.
  public typealias Look = @Sendable () async throws(UploadError) -> S3Credentials

  private let held: RenewedSecret<S3Credentials>

  /// - Parameter look: returns fresh credentials.
  public init(clock: any WallClock = SystemWallClock(), look: @escaping Look) {
    held = RenewedSecret(clock: clock) { () async throws(UploadError) in
      let found = try await look()
      return RenewedSecret.Held(value: found, ends: found.expires)
    }
  }

  /// Returns the remembered credentials, or fresh ones. Callers that ask at the same time share one lookup.
  public func credentials() async throws(UploadError) -> S3Credentials { try await held.current() }

  /// Forgets the remembered credentials.
  public func forget() async { await held.forget() }
}

/// What the environment and AWS's shared files contain: credentials, and a region and an endpoint if they name one.
public struct LocalCredentials: Sendable {
  private let environment: [String: String]
  /// Whether the profile was named by `--profile`, which takes precedence over a key pair in the environment.
  private let isNamed: Bool
  private let profile: String
  private let files = CredentialFiles()

  /// - Parameters:
  ///   - environment: the process's environment.
  ///   - profile: the value of `--profile`; if nil, `AWS_PROFILE`, else `default`.
  public init(environment: [String: String], profile: String?) {
    self.environment = environment
    isNamed = profile != nil
    self.profile = profile ?? Self.value("AWS_PROFILE", environment) ?? "default"
  }

  /// Returns the environment's credentials, unless a profile was named; otherwise the profile's.
  /// - Throws: `storeUnusable` if there are none.
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

  /// Returns `AWS_REGION`, `AWS_DEFAULT_REGION`, or the profile's region; nil if none is set.
  public func region() async throws(UploadError) -> String? {
    if let named = value("AWS_REGION") ?? value("AWS_DEFAULT_REGION") { return named }
    return try await settings()?["region"]
  }

  /// Returns `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL`, that of S3 in the profile's `services`, or the profile's; nil
  /// if none is set, or they are to be ignored.
  /// - Throws: `storeUnusable` if something that the profile names does not exist, or if Amazon is to be reached at
  ///   another address than its default: requests would silently go elsewhere than intended.
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
        "\(setting) (AWS_\(setting.uppercased())) is set, which Reel does not support: name that endpoint with "
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

  /// Returns whether checksums are sent that no operation requires (AWS SDKs, "Data integrity protections"): as
  /// `AWS_REQUEST_CHECKSUM_CALCULATION` or the profile's `request_checksum_calculation` says, `when_supported` or
  /// `when_required`; nil if neither is set.
  public func sendsChecksums() async throws(UploadError) -> Bool? {
    let named: String?
    if let value = value("AWS_REQUEST_CHECKSUM_CALCULATION") {
      named = value
    } else {
      named = try await settings()?["request_checksum_calculation"]
    }
    return named.map { $0.lowercased() != "when_required" }
  }

  /// Returns the profile's settings from both files, with precedence for the credentials file; nil if it is in neither.
  private func settings() async throws(UploadError) -> SharedProfile? {
    let (credentials, config) = try await (
      file(credentialsPath)?.credentials(profile), file(configPath)?.profile(profile)
    )
    guard let credentials else { return config }
    return config.map { credentials.or($0) } ?? credentials
  }

  /// Whether the variable of that name, or else the profile, says true.
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
        "only one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is set in the environment: set both or neither"
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

  /// Where else credentials may be, as far as the environment shows.
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

  /// A relative path would be a folder of whoever created the current folder.
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
