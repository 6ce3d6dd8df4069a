import ReelCore
import ReelRemoteStorage
import ReelStorage

/// Turns the address of a file into a source. Buckets and servers share their connections.
package actor RemoteSources {
  private let stores: Stores
  private let limits: RemoteLimits
  private let staging: any StagingArea
  private var buckets: [S3Address: S3Source] = [:]
  private var web: CurlTransport?

  /// - Parameters:
  ///   - stores: how buckets and servers are reached.
  ///   - staging: where to put a file whose server supports no ranges.
  package init(_ stores: Stores, limits: RemoteLimits, staging: any StagingArea) {
    (self.stores, self.limits, self.staging) = (stores, limits, staging)
  }

  /// Returns the source at the address `path`; nil if it is a path of this machine.
  /// - Throws: ``SourceAddressError`` if the address is not valid; ``UploadError`` if it can't be reached with
  ///   these settings.
  package func source(_ path: SourcePath) async throws -> (any RemoteSource)? {
    guard path.scheme != nil else { return nil }
    switch try SourceAddress(parsing: path) {
    case .s3(let bucket, let name): return try await source(bucket).named(name)
    case .web(let address): return try source(address)
    }
  }

  private func source(_ address: S3Address) async throws(UploadError) -> S3Source {
    if let known = buckets[address] { return known }
    let access = try await stores.bucket(address)
    let source = S3Source(
      access.store, name: "", transport: access.transport, credentials: access.credentials, limits: limits)
    buckets[address] = source
    return source
  }

  private func source(_ address: WebAddress) throws(UploadError) -> WebSource {
    WebSource(address, transport: try connection(to: address), limits: limits, staging: staging)
  }

  private func connection(to address: WebAddress) throws(UploadError) -> CurlTransport {
    if let web { return web }
    let rules = try stores.settings.httpRules()
    let transport = try connecting(to: address.shown) { () throws(HTTPFailure) in
      try CurlTransport(rules, rule: stores.rule)
    }
    web = transport
    return transport
  }
}
