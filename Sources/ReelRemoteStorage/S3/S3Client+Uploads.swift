import HTTPTypes
import ReelCore
import ReelStorage

extension S3Client {
  /// The unfinished uploads of exactly `key`, the newest first. Nil where they can't be listed, as the access key may
  /// not or the store knows no such question: then nobody finds again what an upload that broke leaves.
  func openUploads(of key: ObjectKey) async throws(UploadError) -> [String]? {
    let name = store.prefix + key.rawValue
    let request = S3Request(
      .get, nil, query: [("uploads", ""), ("prefix", name)], task: "list the unfinished uploads",
      permission: "s3:ListBucketMultipartUploads")
    switch try await outcome(of: request) {
    case .reply(let reply):
      // Some stores take this for another question, and answer that. What is not an answer at all is none.
      guard XMLNode(parsing: reply.body) != nil else {
        throw UploadError(
          .interrupted,
          "\(store.destination) did not list its unfinished uploads: run the same command again")
      }
      return S3Documents.uploads(of: name, in: reply.body)
    case .failure(let failure):
      // So says `rclone serve s3` of a bucket in which none was ever begun.
      if failure.isMissingUpload { return [] }
      let error = try await error(failure, request)
      guard error.code == .denied || failure.reply.status == .notImplemented else { throw error }
      return nil
    }
  }

  /// Removes an unfinished upload's parts; one that is not there is removed already.
  func abortUpload(_ id: String, of key: ObjectKey) async throws(UploadError) {
    let request = S3Request(
      .delete, key, query: [("uploadId", id)], task: "give up the upload of \(key)",
      permission: "s3:AbortMultipartUpload")
    try await done(request) { $0.reply.status == .notFound }
  }

  /// Removes an object that was just created and, as the store says itself, is not what was sent. Gives the sentence.
  func damaged(_ key: ObjectKey) async -> UploadError {
    var advice = "it was removed; run the same command again, and look at the store if it stays so"
    do throws(UploadError) {
      try await shielded { () async throws(UploadError) in try await self.removeObject(key) }
    } catch {
      advice = "remove it there, then run the same command again"
    }
    return UploadError(
      .verificationFailed,
      "\(store.destination) says that it holds something else than was sent as \(key): \(advice)")
  }

  /// Removes the object; one that is not there is removed already.
  func removeObject(_ key: ObjectKey) async throws(UploadError) {
    let request = S3Request(.delete, key, task: "remove \(key)", permission: "s3:DeleteObject")
    try await done(request) { $0.isMissing }
  }

  /// Asks for what there is nothing to say about when it is done.
  /// - Parameter isGone: whether a refusal says that there is nothing to be done.
  private func done(
    _ request: S3Request, unless isGone: (S3Failure) -> Bool
  ) async throws(UploadError) {
    switch try await outcome(of: request) {
    case .reply(let reply):
      guard !reply.isDone else { return }
      throw UploadError(
        .interrupted,
        "\(store.destination) did not say that it did \(request.task): run the same command again, and check its "
          + "address if it stays so")
    case .failure(let failure):
      if !isGone(failure) { throw try await error(failure, request) }
    }
  }
}
