/// The current numbers of watched folders.
package struct WatchNumbers: Sendable {
  /// The number of files that have not settled yet.
  package var waiting: Int
  package var folders: [(path: String, isThere: Bool)]

  /// - Parameters: as the properties.
  package init(waiting: Int, folders: [(path: String, isThere: Bool)]) {
    (self.waiting, self.folders) = (waiting, folders)
  }
}
