import ReelCore
import ReelRemoteStorage
import ReelStorage

extension Stores {
  /// Opens a bucket of Cloud Storage for Firebase, with a recorder that keeps its posts in Firestore. Emulators are
  /// named by the variables that Google's own tools read.
  func firebase(_ address: FirebaseAddress) async throws -> OpenedStore {
    let emulators = FirebaseEmulators(environment: try variables(where: FirebaseEmulators.asks))
    let bucket = try Self.bucket(address, try emulators.storage(address.emulator))
    let firestore = try emulators.firestore()
    let rules = try settings.httpRules()
    let transport = try connecting(to: bucket.destination) { () throws(HTTPFailure) in
      for emulator in [bucket.emulator, firestore] { if let emulator { try rules.check(emulator) } }
      return try CurlTransport(rules, limiter: settings.limiter)
    }
    guard bucket.emulator != nil || firestore == nil else {
      throw UploadError(
        .storeUnusable,
        "Firestore is emulated and the bucket is not: set $STORAGE_EMULATOR_HOST as well, or unset "
          + "$FIRESTORE_EMULATOR_HOST")
    }
    let key = bucket.emulator == nil ? try await key() : nil
    let tokens = try await tokens(key, transport)
    let project = settings.project ?? key?.project ?? emulators.project
    let uploader = FirebaseUploader(
      bucket, transport: transport, tokens: tokens, checkpoints: checkpoints,
      publicBaseURL: settings.publicBaseURL)
    return OpenedStore(uploader: uploader, keepsToRate: true) { () throws(UploadError) in
      guard bucket.emulator == nil || firestore != nil else {
        throw UploadError(
          .storeUnusable,
          "the bucket is emulated and Firestore is not: set $FIRESTORE_EMULATOR_HOST as well, or name a bucket that is "
            + "not")
      }
      return FirestorePosts(
        try Self.database(project, firestore), of: bucket.destination, transport: transport, tokens: tokens)
    }
  }

  private static func bucket(
    _ address: FirebaseAddress, _ emulator: HTTPOrigin?
  ) throws(DestinationAddressError) -> StorageBucket {
    do throws(StorageBucketError) {
      return try StorageBucket(address.bucket, prefix: address.prefix, emulator: emulator)
    } catch {
      throw DestinationAddressError(.notABucket, "the destination can't be used: \(error.reason)")
    }
  }

  private static func database(
    _ project: String?, _ emulator: HTTPOrigin?
  ) throws(UploadError) -> FirestoreDatabase {
    guard let project else {
      throw UploadError(
        .storeUnusable,
        "it is not known which project's Firestore keeps the posts; looked in: \(setting: .project), the service "
          + "account's key, $GOOGLE_CLOUD_PROJECT, $GCLOUD_PROJECT")
    }
    guard let database = FirestoreDatabase(project: project, emulator: emulator) else {
      throw UploadError(
        .storeUnusable, "no project has the id \"\(project)\": it is written like my-app-12345")
    }
    return database
  }

  // MARK: Credentials

  private func key() async throws(UploadError) -> ServiceAccountKey {
    let named = try variable("GOOGLE_APPLICATION_CREDENTIALS")
    guard let path = settings.serviceAccount ?? named, !path.isEmpty else {
      throw UploadError(
        .storeUnusable,
        "no service account's key was found; looked in: \(setting: .serviceAccount), $REEL_SERVICE_ACCOUNT, the setting "
          + "serviceAccount, $GOOGLE_APPLICATION_CREDENTIALS (docs/firebase.md says how to get one)")
    }
    return try await ServiceAccountKey.read(path)
  }

  /// Returns a token source. An emulator, for which there is no key, never gets a token that gives access to anything.
  private func tokens(
    _ key: ServiceAccountKey?, _ transport: CurlTransport
  ) async throws(UploadError) -> any TokenSource {
    guard let key else { return EmulatorToken() }
    return try await ServiceAccountTokens(key, transport: transport)
  }
}

/// The emulators named by the variables of Google's tools.
private struct FirebaseEmulators {
  let environment: [String: String]

  private static let storage = ["STORAGE_EMULATOR_HOST", "FIREBASE_STORAGE_EMULATOR_HOST"]
  private static let firestore = ["FIRESTORE_EMULATOR_HOST"]
  private static let project = ["GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT"]

  /// Whether the variable `name` is one of them.
  static func asks(_ name: String) -> Bool { (storage + firestore + project).contains(name) }

  /// - Parameter named: the emulator named by the destination itself.
  func storage(_ named: String?) throws(UploadError) -> HTTPOrigin? {
    if let named { return try Self.origin(named, "the destination") }
    return try first(Self.storage)
  }

  func firestore() throws(UploadError) -> HTTPOrigin? { try first(Self.firestore) }

  var project: String? {
    Self.project.lazy.compactMap { value($0) }.first
  }

  private func first(_ names: [String]) throws(UploadError) -> HTTPOrigin? {
    for name in names {
      if let value = value(name) { return try Self.origin(value, "$\(name)") }
    }
    return nil
  }

  private func value(_ name: String) -> String? {
    environment[name].flatMap { $0.isEmpty ? nil : $0 }
  }

  /// Parses `host:port`, with or without `http://` before it.
  private static func origin(_ text: String, _ place: String) throws(UploadError) -> HTTPOrigin {
    func unusable(_ reason: String) -> UploadError {
      UploadError(.storeUnusable, "the emulator that \(place) names can't be used: \(reason)")
    }
    let address = try rethrowing(as: { unusable($0.reason) }) { () throws(HTTPAddressError) in
      try HTTPAddress(parsing: text.contains("://") ? text : "http://" + text)
    }
    guard address.path.isEmpty else { throw unusable("it holds a path") }
    return address.origin
  }
}
