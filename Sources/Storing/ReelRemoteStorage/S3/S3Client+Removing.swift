import FoundationEssentials
import HTTPTypes
import ReelCore

extension S3Client {
  /// Removes the object, and reports which versions of it the bucket keeps. An object that does not exist counts
  /// as removed.
  ///
  /// In a bucket with versions, DELETE hides the object behind a delete marker, and says so (AWS, DeleteObject:
  /// `x-amz-delete-marker`, `x-amz-version-id`). No version is removed: they are kept because somebody wants them.
  func remove(_ key: ObjectKey) async throws(UploadError) -> ObjectRemoval {
    guard let reply = try await removeObject(named: key.rawValue),
      // "null" is the id of an object without versions.
      reply.fields[.deleteMarker] == "true" || (reply.fields[.versionID] ?? "null") != "null"
    else { return .gone }
    let marker =
      reply.fields[.deleteMarker] == "true" ? reply.fields[.versionID].map { HTTPReply.oneLine($0) } : nil
    guard let ids = try await versions(of: key) else {
      return ObjectRemoval(
        remains: "\(key) is removed, but \(store.destination) keeps versions"
          + (marker.map { " behind the delete marker \($0)" } ?? "")
          + ", but which ones is unknown: give the access key the permission s3:ListBucketVersions, or look there",
        deleteMarker: marker)
    }
    if ids.isEmpty { return .gone }
    var versions: [KeptVersion] = []
    for id in ids.prefix(Self.versionsExamined) { versions.append(try await version(id, of: key)) }
    versions += ids.dropFirst(Self.versionsExamined).map { KeptVersion(id: HTTPReply.oneLine($0)) }
    return ObjectRemoval(remains: words(key, versions, marker), versions: versions, deleteMarker: marker)
  }

  /// The number of versions for which the store is asked how long they are kept.
  private static let versionsExamined = 8

  /// Returns the versions of exactly `key`, the newest first, at most a page of them; nil if they can't be listed.
  private func versions(of key: ObjectKey) async throws(UploadError) -> [String]? {
    let name = store.prefix + key.rawValue
    var request = S3Request(
      .get, nil, query: [("versions", ""), ("prefix", name), ("encoding-type", "url")],
      task: "list the versions of \(key)", permission: "s3:ListBucketVersions")
    request.answer = .lateWord
    request.replyLimit = Self.listLimit
    do throws(UploadError) {
      return S3Documents.versions(of: name, in: try await send(request).body)
    } catch {
      if error.isWorthARetry || error.code == .cancelled { throw error }
      return nil
    }
  }

  /// Returns what keeps a version, as far as HEAD says (AWS, HeadObject: only to those with permission).
  private func version(_ id: String, of key: ObjectKey) async throws(UploadError) -> KeptVersion {
    let request = S3Request(
      .head, key, query: [("versionId", id)], task: "look for a version of \(key)",
      permission: "s3:GetObjectVersion")
    guard case .reply(let reply) = try await outcome(of: request) else {
      return KeptVersion(id: HTTPReply.oneLine(id))
    }
    let end = reply.fields[.retainUntil].flatMap { ISOTime.date($0) }
    return KeptVersion(
      id: HTTPReply.oneLine(id), keptUntil: end.flatMap { $0 > clock.now() ? $0 : nil },
      isHeld: reply.fields[.legalHold] == "ON")
  }

  private func words(_ key: ObjectKey, _ versions: [KeptVersion], _ marker: String?) -> String {
    let named = versions.prefix(3).map { version in
      let locks = [
        version.keptUntil.map { "locked until \(ISOTime.second($0))" },
        version.isHeld ? "under a legal hold" : nil,
      ].compactMap(\.self)
      return version.id + (locks.isEmpty ? "" : " (\(locks.joined(separator: ", ")))")
    }
    let more = versions.count - named.count
    let advice =
      versions.contains { $0.keptUntil != nil || $0.isHeld }
      ? "a locked version stays until its lock ends; remove each other one there by its id"
      : "remove each there by its id (s3:DeleteObjectVersion), or have a lifecycle rule for noncurrent versions do it"
    return
      "\(key) is removed, but \(store.destination) keeps its \(versions.count == 1 ? "version" : "versions") "
      + named.joined(separator: ", ") + (more > 0 ? " and \(more) more" : "")
      + (marker.map { " behind the delete marker \($0)" } ?? "") + ": \(advice)"
  }
}

extension HTTPField.Name {
  static let deleteMarker = ours("x-amz-delete-marker")
  static let versionID = ours("x-amz-version-id")
  static let retainUntil = ours("x-amz-object-lock-retain-until-date")
  static let legalHold = ours("x-amz-object-lock-legal-hold")
}
