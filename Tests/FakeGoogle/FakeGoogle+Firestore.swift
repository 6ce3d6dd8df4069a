import Foundation
import ReelHTTPFakes

extension FakeGoogle {
  package struct Document: Sendable {
    /// `fields` in JSON.
    var fields: Data
    var version: Int

    package init(fields: Data, version: Int) { (self.fields, self.version) = (fields, version) }
  }

  /// The fields of the document at `path` below the root: `Post/ID`.
  package func fields(_ path: String) -> [String: [String: Any]]? {
    let name = Self.root + "/" + path
    return state.withLock { $0.documents[name]?.fields }.flatMap {
      try? JSONSerialization.jsonObject(with: $0) as? [String: [String: Any]]
    }
  }

  /// Removes a document, as somebody may do in Google's console.
  package func remove(_ path: String) {
    state.withLock { $0.documents[Self.root + "/" + path] = nil }
  }

  /// Changes a document's `video`.
  package func show(_ video: String, in path: String) { set("video", ["stringValue": video], in: path) }

  /// Changes a field of a document, as an app does.
  package func set(_ field: String, _ value: [String: Any], in path: String) {
    guard var fields = fields(path) else { return }
    fields[field] = value
    guard let data = try? JSONSerialization.data(withJSONObject: fields) else { return }
    state.withLock { $0.documents[Self.root + "/" + path]?.fields = data }
  }

  /// The ids of the documents in a collection.
  package func ids(in collection: String) -> [String] {
    let prefix = Self.root + "/" + collection + "/"
    return state.withLock { state in
      state.documents.keys.filter { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
        .sorted()
    }
  }

  package static let root = "projects/\(project)/databases/(default)/documents"

  func firestore(_ method: String, _ request: ReceivedRequest, _ state: inout State) -> ServerAction {
    let json = request.json
    guard request.method == "POST" else { return .error(404, "NOT_FOUND", "") }
    switch method {
    case "beginTransaction":
      let id = Data("transaction-\(state.tick())".utf8).base64EncodedString()
      state.transactions[id] = [:]
      return .json(["transaction": id])
    case "batchGet": return read(json, &state)
    case "commit": return commit(json, &state)
    case "rollback":
      state.transactions[json["transaction"] as? String ?? ""] = nil
      return .json([:] as [String: Any])
    default: return .error(404, "NOT_FOUND", "no method \(method)")
    }
  }

  private func read(_ json: [String: Any], _ state: inout State) -> ServerAction {
    let names = json["documents"] as? [String] ?? []
    let transaction = json["transaction"] as? String
    if let transaction, state.transactions[transaction] == nil {
      return .error(
        400, "INVALID_ARGUMENT", "The referenced transaction has expired or is no longer valid.")
    }
    var answers: [[String: Any]] = []
    for name in names {
      if let transaction { state.transactions[transaction]?[name] = state.documents[name]?.version ?? 0 }
      if let document = state.documents[name],
        let fields = try? JSONSerialization.jsonObject(with: document.fields)
      {
        answers.append([
          "found": ["name": name, "fields": fields, "updateTime": Self.time(document.version)]
        ])
      } else {
        answers.append(["missing": name])
      }
    }
    return .json(answers)
  }

  private func commit(_ json: [String: Any], _ state: inout State) -> ServerAction {
    if let id = json["transaction"] as? String {
      guard let seen = state.transactions.removeValue(forKey: id) else {
        return .error(
          400, "INVALID_ARGUMENT", "The referenced transaction has expired or is no longer valid.")
      }
      if seen.contains(where: { (state.documents[$0.key]?.version ?? 0) != $0.value }) {
        return .error(409, "ABORTED", "Too much contention on these documents. Please try again.")
      }
    }
    let writes = json["writes"] as? [[String: Any]] ?? []
    for write in writes {
      let name = (write["update"] as? [String: Any])?["name"] as? String ?? write["delete"] as? String ?? ""
      let condition = write["currentDocument"] as? [String: Any] ?? [:]
      if condition["exists"] as? Bool == false, state.documents[name] != nil {
        return .error(409, "ALREADY_EXISTS", "Document already exists: \(name)")
      }
      if let time = condition["updateTime"] as? String,
        time != state.documents[name].map({ Self.time($0.version) })
      {
        return .error(400, "FAILED_PRECONDITION", "the stored version does not match")
      }
    }
    for write in writes {
      if let name = write["delete"] as? String { state.documents[name] = nil }
      guard let update = write["update"] as? [String: Any], let name = update["name"] as? String,
        let fields = try? JSONSerialization.data(withJSONObject: Self.changed(write, state.documents[name]))
      else { continue }
      state.documents[name] = Document(fields: fields, version: state.tick())
    }
    state.commits += 1
    return .json(["writeResults": writes.map { _ in ["updateTime": "x"] }, "commitTime": "x"])
  }

  /// The document's fields after `write`; with a mask, the other fields stay.
  private static func changed(_ write: [String: Any], _ document: Document?) -> [String: Any] {
    let update = (write["update"] as? [String: Any])?["fields"] as? [String: Any] ?? [:]
    guard let mask = (write["updateMask"] as? [String: Any])?["fieldPaths"] as? [String] else {
      return update
    }
    let old = document.flatMap { try? JSONSerialization.jsonObject(with: $0.fields) as? [String: Any] } ?? [:]
    return mask.reduce(into: old) { $0[$1] = update[$1] }
  }

  private static func time(_ version: Int) -> String { "2026-11-21T20:00:00.\(String(version + 100_000))Z" }
}
