import FoundationEssentials
import ReelCore

extension PostgresCatalog: PostChanging {
  package func begin(_ changes: [PostChange]) throws(CatalogError) -> [ChangeAnswer] { [] }
  package func finish(_ changes: [OpenChange]) throws(CatalogError) -> [Post?] { [] }
  package func strikeOut(_ changes: [OpenChange]) throws(CatalogError) {}
  package func areHeld(_ changes: [OpenChange]) throws(CatalogError) -> [Bool] { [] }
  package func release(_ changes: [OpenChange]) throws(CatalogError) {}
  package func unfinishedChanges(after number: Int64, limit: Int) throws(CatalogError) -> [OpenChange] { [] }
  package func abandonedChanges() throws(CatalogError) -> [(post: PostID, kind: ChangeKind)] { [] }
  package func removedPost(_ id: PostID) throws(CatalogError) -> RemovedPost? { nil }
  package func removedPosts(of digest: ContentDigest) throws(CatalogError) -> [RemovedPost] { [] }
  package func expiredPosts(at moment: Date, after pageNumber: Int, limit: Int) throws(CatalogError)
    -> [RemovedPost]
  { [] }
}
