import ReelCore
import ReelIngest

/// What a store holds, read without the uploader.
package struct StoreContents: Sendable {
  /// Complete objects: the name that the uploader gave, and the digest of the bytes. A name may occur twice.
  package let objects: [(name: String, digest: ContentDigest?)]
  /// The names of uploads that were begun, and were neither completed nor abandoned.
  package var unfinished: [String]
  /// The posts that the store itself keeps, each by the name of the object that it shows; nil for a store that keeps
  /// none.
  package let documents: [String]?

  package init(
    objects: [(name: String, digest: ContentDigest?)], unfinished: [String] = [], documents: [String]? = nil
  ) {
    (self.objects, self.unfinished, self.documents) = (objects, unfinished, documents)
  }
}

/// Checks what publishing one video has left against the promises of docs/publish.md.
package struct OnceVerdict: Sendable {
  let digest: ContentDigest
  /// The digest of the poster.
  let poster: ContentDigest
  /// Must not appear in any message.
  let secrets: [String]

  package init(
    of digest: ContentDigest, poster: ContentDigest = PublishScene.posterDigest, secrets: [String] = []
  ) {
    (self.digest, self.poster, self.secrets) = (digest, poster, secrets)
  }

  /// A sentence for each promise that does not hold after a run that ended with `result`.
  package func broken(
    after result: PublishResult, _ store: StoreContents, _ catalog: CatalogLook
  ) -> [String] {
    switch result {
    case .published, .duplicate: afterPublishing(result, store, catalog)
    case .failed(let failure): afterFailing(failure, store, catalog)
    default: ["the run ended with \(result)"]
    }
  }

  private func afterPublishing(
    _ result: PublishResult, _ store: StoreContents, _ catalog: CatalogLook
  ) -> [String] {
    var broken: [String] = []
    let published = catalog.rows.filter(\.isPublished)
    if catalog.posts != 1 || published.count != 1 {
      broken.append("\(catalog.posts) posts and \(published.count) published intents instead of one each")
    }
    // An object that no post shows is for the doctor to remove, as long as a row names it.
    let named = Set(catalog.posters.map(\.key))
    let videos = store.objects.filter { !named.contains($0.name) }
    if videos.count != 1 {
      broken.append("\(videos.count) objects instead of one: \(videos.map(\.name))")
    }
    broken += posters(store, catalog)
    for object in videos {
      if object.digest != digest { broken.append("the object \(object.name) contains the wrong bytes") }
      if object.name != published.first?.key {
        broken.append("\(object.name) is stored, but is not the published object")
      }
    }
    if published.first.map({ $0.digest != digest }) ?? false {
      broken.append("the post is for the wrong bytes")
    }
    if let documents = store.documents, documents != published.map(\.key) {
      broken.append("the store's own posts show \(documents) instead of \(published.map(\.key))")
    }
    let left = store.unfinished.filter { !named.contains($0) }
    if !left.isEmpty { broken.append("unfinished uploads were left behind: \(left)") }
    if catalog.untold > 0 { broken.append("\(catalog.untold) events were not sent") }
    return broken
  }

  /// Checks that the poster that the post shows is stored, once and whole.
  private func posters(_ store: StoreContents, _ catalog: CatalogLook) -> [String] {
    var broken: [String] = []
    let shown = catalog.posters.filter(\.isShown).map(\.key)
    if shown != catalog.shown {
      broken.append("posts show the posters \(catalog.shown), but the rows say \(shown)")
    }
    for key in shown {
      let stored = store.objects.filter { $0.name == key }
      if stored.count != 1 { broken.append("\(stored.count) objects instead of one for the poster \(key)") }
      if stored.contains(where: { $0.digest != poster }) {
        broken.append("the poster \(key) contains the wrong bytes")
      }
    }
    return broken
  }

  private func afterFailing(
    _ failure: FileFailure, _ store: StoreContents, _ catalog: CatalogLook
  ) -> [String] {
    var broken: [String] = []
    if catalog.posts != 0 || catalog.rows.contains(where: \.isPublished) {
      broken.append("the run failed, but there is a post")
    }
    if let documents = store.documents, documents.count > 1 {
      broken.append("the store keeps \(documents.count) posts of one video")
    }
    for shown in store.documents ?? [] where !store.objects.contains(where: { $0.name == shown }) {
      broken.append("a post in the store shows \(shown), which is not stored")
    }
    let named = Set(catalog.rows.map(\.key) + catalog.posters.map(\.key))
    for stray in (store.objects.map(\.name) + store.unfinished) where !named.contains(stray) {
      broken.append("no row names \(stray)")
    }
    if case .other(let code) = failure.code { broken.append("unknown error code: \(code)") }
    let isSentence = failure.message.contains(" ") && !failure.message.contains("\n")
    if !isSentence || failure.message.contains("Error(") {
      broken.append("the message is not a sentence: \(failure.message)")
    }
    for secret in secrets where failure.message.contains(secret) {
      broken.append("the message contains a secret")
    }
    return broken
  }
}
