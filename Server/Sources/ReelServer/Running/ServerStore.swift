import Reel

/// Where the videos of a server go.
enum ServerStore {
  /// - Parameters:
  ///   - to: an address as `reel --to` takes it; nil for the library's own folder.
  ///   - environment: of the process, from which a bucket's keys come.
  ///   - onNotice: told what the store can't promise.
  /// - Throws: a sentence for whoever starts the server.
  static func open(
    _ to: String?, _ library: LibraryFolder, publicBaseURL: String?, environment: [String: String],
    onNotice: @escaping @Sendable (String) -> Void
  ) async throws -> any Uploader {
    guard let to else {
      return FolderUploader(
        root: library.mediaPath, temporaries: library.temporaryPath, publicBaseURL: publicBaseURL,
        onNotice: onNotice)
    }
    switch try DestinationAddress(parsing: to) {
    case .folder(let path):
      return FolderUploader(root: path, publicBaseURL: publicBaseURL, onNotice: onNotice)
    case .s3(let address): return try await bucket(address, publicBaseURL, environment, onNotice)
    case .command, .firebase, .tus:
      throw StartFailure("a server stores in a folder or in a bucket (s3://…), not yet in \(to)")
    }
  }

  private static func bucket(
    _ address: S3Address, _ publicBaseURL: String?, _ environment: [String: String],
    _ onNotice: @escaping @Sendable (String) -> Void
  ) async throws -> any Uploader {
    let local = LocalCredentials(
      environment: environment.filter { $0.key.hasPrefix("AWS_") || $0.key == "HOME" }, profile: nil)
    // Keys that are not there are told now; what is found is looked up again when it is needed.
    _ = try await local.find()
    let named = try await local.endpoint()
    let endpoint = try (address.endpoint ?? named).map { try HTTPAddress(parsing: $0) }
    let rules = HTTPRules(extraCertificates: environment["AWS_CA_BUNDLE"])
    if let endpoint { try rules.check(endpoint.origin) }
    let region = try await local.region()
    let sendsChecksums = try await local.sendsChecksums()
    return S3Uploader(
      try S3Store(
        bucket: address.bucket, prefix: address.prefix, endpoint: endpoint, region: region ?? "us-east-1"),
      options: S3Options(
        viewing: publicBaseURL.map { .publicBase($0) } ?? .address, sendsChecksums: sendsChecksums ?? true),
      transport: try CurlTransport(rules),
      credentials: RememberedCredentials { () async throws(UploadError) in try await local.find() },
      onNotice: onNotice)
  }
}
