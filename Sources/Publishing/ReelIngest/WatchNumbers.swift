/// How it stands with watched folders.
package struct WatchNumbers: Sendable {
  /// Files that are not settled.
  package var waiting: Int
  package var folders: [(path: String, isThere: Bool)]

  /// - Parameters: as the properties.
  package init(waiting: Int, folders: [(path: String, isThere: Bool)]) {
    (self.waiting, self.folders) = (waiting, folders)
  }
}
