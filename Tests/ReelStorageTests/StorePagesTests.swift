import ReelCore
import ReelStorage
import Synchronization
import Testing

@Suite struct StorePagesTests {
  /// Lists pages by their number, whatever the token.
  private final class Listed: UploaderDecorator, StoreListing {
    let base: any Uploader = MemoryUploader()
    private let pages: @Sendable (Int) -> StorePage
    private let count = Mutex(0)

    init(_ pages: @escaping @Sendable (Int) -> StorePage) { self.pages = pages }

    func upload(
      _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
    ) async throws(UploadError) -> StoredObject {
      try await base.upload(source, to: key, reporting: reporting)
    }

    func page(after token: String?) async throws(UploadError) -> StorePage {
      pages(
        count.withLock { count in
          count += 1
          return count
        })
    }

    func names() async throws(UploadError) -> [String] { try await allNames() }
    func leftovers() async throws(UploadError) -> [String] { [] }
    func removeLeftovers() async throws(UploadError) {}
  }

  private static func page(_ names: [String], _ next: String?) -> StorePage {
    StorePage(names.map { (name: $0, size: nil) }, next: next)
  }

  @Test("a listing ends even if the store ignores tokens and keeps returning new ones")
  func endless() async throws {
    let store = Listed { Self.page(["a", "b"], "t\($0)") }
    let error = await #expect(throws: UploadError.self) { _ = try await store.allNames() }
    #expect(error?.code == .rejected)
  }

  @Test("pages without names do not end a listing")
  func empty() async throws {
    let store = Listed { number in
      switch number {
      case 1: Self.page(["a"], "1")
      case 2, 3: Self.page([], "\(number)")
      default: Self.page(["b"], nil)
      }
    }
    #expect(try await store.allNames() == ["a", "b"])
  }
}
