import ReelCore
import ReelRemoteStorage
import ReelStorage

extension Stores {
  /// A bucket, and how to reach it.
  package struct BucketAccess: Sendable {
    package let store: S3Store
    /// Whether checksums are sent that no operation requires.
    let sendsChecksums: Bool
    package let transport: CurlTransport
    package let credentials: any CredentialSource
  }

  /// - Parameter store: a part of the bucket; nil for the store that was named.
  package func uploader(_ bucket: BucketAccess, _ store: S3Store? = nil) -> any Uploader {
    S3Uploader(
      store ?? bucket.store,
      options: S3Options(
        viewing: settings.viewing, sendsChecksums: bucket.sendsChecksums,
        sendsConditions: settings.sendsConditions),
      transport: bucket.transport, credentials: bucket.credentials, onNotice: onNotice)
  }

  /// Opens a bucket, by the settings and by what AWS's own tools would read: their variables and files.
  /// - Throws: `storeUnusable` if it can't be a bucket, or its credentials are missing.
  package func bucket(_ address: S3Address) async throws(UploadError) -> BucketAccess {
    let environment = try awsEnvironment()
    let local = LocalCredentials(environment: environment, profile: settings.profile)
    let store = try await store(address, local)
    // Report missing credentials before anything is created. Credentials that are found are looked up again
    // when needed.
    if settings.credentials == .local { _ = try await local.find() }
    let sendsChecksums = try await sendsChecksums(local)
    let rules = try settings.httpRules(certificates: environment["AWS_CA_BUNDLE"])
    return try connecting(to: store.destination) { () throws(HTTPFailure) in
      if let endpoint = store.endpoint { try rules.check(endpoint.origin) }
      return BucketAccess(
        store: store, sendsChecksums: sendsChecksums,
        // Without an endpoint in the address, the host is Amazon's or the settings'.
        transport: try CurlTransport(
          rules, limiter: settings.limiter, rule: address.endpoint == nil ? nil : rule),
        credentials: try credentials(local, environment))
    }
  }

  private func store(_ address: S3Address, _ local: LocalCredentials) async throws(UploadError) -> S3Store {
    let endpoint = try await endpoint(of: address, local)
    let region = try await (settings.region == nil ? local.region() : settings.region)
    return try made(address, endpoint: try endpoint.map(parsed), region: region)
  }

  private func sendsChecksums(_ local: LocalCredentials) async throws(UploadError) -> Bool {
    if let named = settings.sendsChecksums { return named }
    return try await local.sendsChecksums() ?? true
  }

  private func awsEnvironment() throws(UploadError) -> [String: String] {
    try variables { $0.hasPrefix("AWS_") || $0 == "HOME" }
  }

  private func endpoint(
    of address: S3Address, _ local: LocalCredentials
  ) async throws(UploadError) -> String? {
    if let named = address.endpoint ?? settings.endpoint { return named }
    return try await local.endpoint()
  }

  /// Returns the server whose keys sign requests for the bucket: an endpoint, or Amazon; nil if that can't
  /// be determined.
  /// - Parameter isNamed: whether an endpoint in the settings counts; a name in the catalog is complete.
  func server(of address: S3Address, isNamed: Bool) async -> String? {
    do {
      let local = LocalCredentials(environment: try awsEnvironment(), profile: settings.profile)
      let endpoint = try await (isNamed ? endpoint(of: address, local) : address.endpoint)
      return try endpoint.map(parsed)?.origin.description ?? "Amazon"
    } catch {
      return nil
    }
  }

  private func parsed(_ endpoint: String) throws(UploadError) -> HTTPAddress {
    do throws(HTTPAddressError) {
      return try HTTPAddress(parsing: endpoint)
    } catch {
      throw UploadError(.storeUnusable, "the endpoint can't be used: \(error.reason)")
    }
  }

  private func made(
    _ address: S3Address, endpoint: HTTPAddress?, region: String?
  ) throws(UploadError) -> S3Store {
    do throws(S3StoreError) {
      return try S3Store(
        bucket: address.bucket, prefix: address.prefix, endpoint: endpoint, region: region ?? "us-east-1",
        usesPaths: settings.pathStyle)
    } catch {
      throw UploadError(.storeUnusable, error.text)
    }
  }

  private func credentials(
    _ local: LocalCredentials, _ environment: [String: String]
  ) throws(HTTPFailure) -> any CredentialSource {
    let place = settings.credentials
    if place == .local {
      return RememberedCredentials { () async throws(UploadError) in try await local.find() }
    }
    // These are services of this machine: plain http, which no router forwards and no proxy may see.
    let transport = try CurlTransport(
      HTTPRules(
        allowsPlainHTTP: true, timeouts: HTTPTimeouts(connect: .seconds(2), idle: .seconds(5)),
        usesProxy: false))
    let endpoint = EndpointCredentials(transport: transport, environment: environment)
    return RememberedCredentials { () async throws(UploadError) in
      try await (place == .container ? endpoint.container() : endpoint.instance())
    }
  }
}
