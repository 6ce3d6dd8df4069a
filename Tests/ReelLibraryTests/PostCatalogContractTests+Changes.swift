import Foundation
import ReelCore
import ReelTestSupport
import Synchronization
import Testing

extension PostCatalogContractTests {
  /// Posts that are removed, restored, edited and moved.
  static let changes = [
    CatalogContractTest("a removed post leaves the feed at once, and is known to be removed") { stage in
      let sketch = Sketch()
      let catalog = try await stage.changing()
      let request = sketch.request(sketch.publication(by: "ada"))
      let post = try #require(try await catalog.publish(request, with: sketch))
      let other = try #require(
        try await catalog.publish(sketch.request(sketch.publication()), with: sketch))
      let revision = try await catalog.feedRevision()
      let removal = Removal(reason: "a claim", by: "bo", at: stage.clock.now())
      let open = try catalog.begun(.init(post.id, .removal(removal)))
      #expect(open.destination == request.publication.destination)
      #expect(open.objects.map(\.key) == [request.newKey])
      #expect(open.kind == .removal(removal))
      #expect(try await catalog.post(post.id) == nil)
      #expect(try await catalog.newestPosts(before: nil, limit: 9).posts.map(\.id) == [other.id])
      #expect(try await catalog.feedRevision() != revision)
      #expect(try await catalog.status().posts == 1)
      #expect(try await catalog.status().removed == 1)
      #expect(try await catalog.posts(of: request.publication.digest).isEmpty)
      let removed = try #require(try catalog.removedPost(post.id))
      #expect(removed.post == post)
      #expect(removed.removal == removal)
      #expect(removed.mayBeStored)
      let gone = try #require(try catalog.finish([open]).first)
      #expect(gone?.id == post.id)
      try catalog.strikeOut([open])
      #expect(try catalog.removedPost(post.id)?.mayBeStored == false)
      #expect(try await catalog.status().kept == 0)
      #expect(try catalog.removedPosts(of: request.publication.digest).map(\.post.id) == [post.id])
      // The other post keeps its number, and no number is used twice.
      let third = try #require(
        try await catalog.publish(sketch.request(sketch.publication()), with: sketch))
      #expect([other.pageNumber, third.pageNumber] == [2, 3])
    },
    CatalogContractTest("a removed video is not published again, in any store, unless that is requested") {
      stage in
      let sketch = Sketch()
      let catalog = try await stage.changing()
      let publication = sketch.publication(by: "ada")
      let post = try #require(try await catalog.publish(sketch.request(publication), with: sketch))
      try catalog.carryOut(.init(post.id, .removal(Removal(reason: "why", at: stage.clock.now()))))
      let elsewhere = Publication(
        digest: publication.digest, destination: Destination("file:///other"), authorID: "ada")
      for publication in [publication, elsewhere] {
        #expect(try await catalog.claim(sketch.request(publication)).removed?.post.id == post.id)
        #expect(try await catalog.claim(sketch.request(publication, .allow)).removed?.removal.reason == "why")
        #expect(
          try catalog.content(of: publication.digest, publishedAs: publication).removed?.post.id == post.id)
      }
      // With another author it is another publication.
      let other = sketch.publication(publication.digest, by: "bo")
      #expect(try await catalog.publish(sketch.request(other), with: sketch) != nil)
      let again = try #require(
        try await catalog.publish(sketch.request(publication, again: true), with: sketch))
      #expect(again.id != post.id)
      #expect(try await catalog.claim(sketch.request(publication)).post?.post.id == again.id)
      #expect(try await catalog.claim(sketch.request(elsewhere)).removed == nil)
      #expect(try catalog.content(of: publication.digest, publishedAs: publication).removed == nil)
    },
    CatalogContractTest("the original of a mended video is known to be removed, too") { stage in
      let sketch = Sketch()
      let catalog = try await stage.changing()
      let (publication, arrived) = (sketch.publication(), sketch.digest())
      let post = try #require(
        try await catalog.publish(sketch.request(publication, arrived: arrived), with: sketch))
      try catalog.carryOut(.init(post.id, .removal(Removal(at: stage.clock.now()))))
      let same = sketch.publication(arrived)
      #expect(try catalog.content(of: arrived, publishedAs: same).removed?.post.id == post.id)
      #expect(try await catalog.claim(sketch.request(same)).removed?.post.id == post.id)
      #expect(
        try await catalog.claim(sketch.request(sketch.publication(), arrived: arrived)).removed?.post.id
          == post.id)
      #expect(try catalog.removedPosts(of: arrived).map(\.post.id) == [post.id])
      // Published again, it is a post, also for another store.
      let again = try #require(
        try await catalog.publish(
          sketch.request(publication, arrived: arrived, again: true), with: sketch))
      #expect(again.id != post.id)
      let elsewhere = sketch.publication(arrived, to: "file:///other")
      #expect(try await catalog.claim(sketch.request(elsewhere)).removed == nil)
      #expect(try catalog.content(of: arrived, publishedAs: elsewhere).removed == nil)
    },
    CatalogContractTest(
      "a post that was removed from one of two stores does not prevent relocating the other to it"
    ) { stage in
      let sketch = Sketch()
      let catalog = try await stage.changing()
      guard let mover = catalog as? any StoreRelocating else { return }
      let (old, new) = (Destination("file:///old"), Destination("file:///new"))
      let digest = sketch.digest()
      let gone = try #require(
        try await catalog.publish(sketch.request(sketch.publication(digest, to: new.name)), with: sketch))
      try catalog.carryOut(.init(gone.id, .removal(Removal(at: stage.clock.now()))))
      let post = try #require(
        try await catalog.publish(
          sketch.request(sketch.publication(digest, to: old.name), again: true), with: sketch))
      try await mover.relocate(old, to: new, holding: 1, duplicates: .skip)
      #expect(
        try await catalog.claim(sketch.request(sketch.publication(digest, to: new.name))).post?.post.id
          == post.id)
    },
    CatalogContractTest("a removed post that is kept can be restored, at its old place") { stage in
      let sketch = Sketch()
      let catalog = try await stage.changing()
      let request = sketch.request(sketch.publication(), poster: sketch.poster())
      let intent = try #require(try await catalog.claim(request).intent)
      let post = try await catalog.complete(
        intent, draft: sketch.draft(caption: "at the sea", poster: try sketch.shown(intent)),
        stored: sketch.stored(intent))
      _ = try await catalog.publish(sketch.request(sketch.publication()), with: sketch)
      let keptUntil = stage.clock.now() + 100
      try catalog.carryOut(.init(post.id, .removal(Removal(at: stage.clock.now(), keptUntil: keptUntil))))
      #expect(try catalog.removedPost(post.id)?.mayBeStored == true)
      #expect(try await catalog.status().kept == 1)
      #expect(try catalog.expiredPosts(at: stage.clock.now(), after: 0, limit: 9).isEmpty)
      #expect(try catalog.expiredPosts(at: keptUntil, after: 0, limit: 9).map(\.post.id) == [post.id])
      #expect(try catalog.expiredPosts(at: keptUntil, after: 1, limit: 9).isEmpty)
      let open = try catalog.begun(.init(post.id, .restoration))
      #expect(Set(open.objects.map(\.key)) == [post.video, try #require(post.poster)])
      #expect(try await catalog.post(post.id) == nil)
      #expect(try catalog.finish([open]).first == post)
      try catalog.strikeOut([open])
      #expect(try await catalog.post(post.id) == post)
      #expect(try await catalog.newestPosts(before: nil, limit: 9).posts.last == post)
      #expect(
        try await catalog.newestPosts(matching: PostFilter(text: "sea"), before: nil, limit: 9).posts == [
          post
        ])
      #expect(try await catalog.claim(request).post?.post.id == post.id)
      #expect(try await catalog.status().posts == 2)
      #expect(try catalog.removedPost(post.id) == nil)
    },
    CatalogContractTest("a kept post can be purged, and is then restored without its poster") { stage in
      let sketch = Sketch()
      let catalog = try await stage.changing()
      let request = sketch.request(sketch.publication(), poster: sketch.poster())
      let intent = try #require(try await catalog.claim(request).intent)
      let post = try await catalog.complete(
        intent, draft: sketch.draft(poster: try sketch.shown(intent)), stored: sketch.stored(intent))
      let removal = Removal(at: stage.clock.now(), keptUntil: stage.clock.now() + 100)
      try catalog.carryOut(.init(post.id, .removal(removal)))
      let purge = try catalog.begun(.init(post.id, .purge))
      #expect(purge.kind == .purge(removal))
      #expect(purge.objects.count == 2)
      #expect(try catalog.begin([PostChange(post.id, .restoration)]).first?.isBusy == true)
      _ = try catalog.finish([purge])
      try catalog.strikeOut([purge])
      #expect(try catalog.removedPost(post.id)?.mayBeStored == false)
      // The video was put back into the store, without its poster.
      try catalog.carryOut(.init(post.id, .purge))
      let open = try catalog.begun(.init(post.id, .restoration))
      #expect(open.objects.map(\.key) == [post.video])
      let back = try #require(try catalog.finish([open]).first ?? nil)
      try catalog.strikeOut([open])
      #expect(back.poster == nil && back.posterURL == nil)
      #expect(back.pageNumber == post.pageNumber)
    },
    CatalogContractTest("an abandoned restoration leaves the post removed") { stage in
      let sketch = Sketch()
      let catalog = try await stage.changing()
      let post = try #require(
        try await catalog.publish(sketch.request(sketch.publication()), with: sketch))
      try catalog.carryOut(.init(post.id, .removal(Removal(at: stage.clock.now()))))
      let open = try catalog.begun(.init(post.id, .restoration))
      try catalog.strikeOut([open])
      #expect(try await catalog.post(post.id) == nil)
      // The objects that it may have stored are due for removal.
      #expect(try catalog.expiredPosts(at: stage.clock.now(), after: 0, limit: 9).map(\.post.id) == [post.id])
    },
    CatalogContractTest("a post is not restored beside another that its video has become since") { stage in
      let sketch = Sketch()
      let catalog = try await stage.changing()
      let other = try await stage.changing()
      let publication = sketch.publication(by: "ada")
      let post = try #require(try await catalog.publish(sketch.request(publication), with: sketch))
      try catalog.carryOut(.init(post.id, .removal(Removal(at: stage.clock.now()))))
      // The video is published again while its post is being restored.
      let open = try catalog.begun(.init(post.id, .restoration))
      let again = sketch.request(publication, again: true)
      let intent = try #require(try await other.claim(again).intent)
      #expect(try catalog.finish([open]) == [nil])
      #expect(try await catalog.post(post.id) == nil)
      #expect(try catalog.removedPost(post.id)?.mayBeStored == true)
      #expect(try catalog.begin([PostChange(post.id, .restoration)]).first?.isBusy == true)
      let second = try await other.complete(
        intent, draft: sketch.draft(), stored: sketch.stored(intent))
      if case .taken(let taken)? = try catalog.begin([PostChange(post.id, .restoration)]).first {
        #expect(taken.id == second.id)
      } else {
        Issue.record("a second post of the publication was allowed")
      }
      try catalog.carryOut(.init(second.id, .removal(Removal(at: stage.clock.now()))))
      try catalog.carryOut(.init(post.id, .restoration))
      #expect(try await catalog.newestPosts(before: nil, limit: 9).posts.map(\.id) == [post.id])
    },
    CatalogContractTest("a post does not move to a store that has another post of its video") { stage in
      let sketch = Sketch()
      let catalog = try await stage.changing()
      let other = try await stage.changing()
      let publication = sketch.publication(by: "ada")
      let new = Destination("file:///other")
      let post = try #require(try await catalog.publish(sketch.request(publication), with: sketch))
      let open = try catalog.begun(.init(post.id, .move(to: new)))
      let there = Publication(digest: publication.digest, destination: new, authorID: "ada")
      #expect(try await other.publish(sketch.request(there), with: sketch) != nil)
      #expect(try catalog.finish([open]) == [nil])
      #expect(try await catalog.post(post.id) == post)
      // Any process may undo the change.
      let left = try other.unfinishedChanges(after: 0, limit: 9)
      #expect(left.map(\.kind) == [.move(to: new, moved: false)])
      #expect(try catalog.areHeld([open]) == [false])
      #expect(try other.areHeld(left) == [true])
    },
    CatalogContractTest("a removal that keeps nothing does not resume one that keeps the objects") {
      stage in
      let sketch = Sketch()
      let first = try await stage.changing()
      let second = try await stage.changing()
      let post = try #require(try await first.publish(sketch.request(sketch.publication()), with: sketch))
      let kept = Removal(at: stage.clock.now(), keptUntil: stage.clock.now() + 100)
      _ = try first.begun(.init(post.id, .removal(kept)))
      try await stage.kill(first)
      let removal = PostChange(post.id, .removal(Removal(at: stage.clock.now())))
      guard case .unfinished(let left)? = try second.begin([removal]).first else {
        Issue.record("the removal that keeps the objects was not handed over as unfinished")
        return
      }
      #expect(left.kind == .removal(kept))
      _ = try second.finish([left])
      try second.strikeOut([left])
      if case .removed(let removed)? = try second.begin([removal]).first {
        #expect(removed.mayBeStored)
      } else {
        Issue.record()
      }
    },
    CatalogContractTest("an edit takes effect everywhere, including searches") { stage in
      let sketch = Sketch()
      let catalog = try await stage.changing()
      let intent = try #require(try await catalog.claim(sketch.request(sketch.publication())).intent)
      let post = try await catalog.complete(
        intent, draft: sketch.draft(caption: "a dog"), stored: sketch.stored(intent))
      let find = { (text: String) in
        try await catalog.newestPosts(matching: PostFilter(text: text), before: nil, limit: 9).posts.map(\.id)
      }
      #expect(try await find("dog") == [post.id])
      let revision = try await catalog.feedRevision()
      let edit = PostEdit(caption: "a cat", music: "", authorName: "Ada", likeCount: 7)
      let open = try catalog.begun(.init(post.id, .edit(edit)))
      #expect(open.kind == .edit(["autherName", "caption", "likeCount"]))
      try catalog.strikeOut([open])
      var expected = post
      (expected.caption, expected.authorName, expected.likeCount) = ("a cat", "Ada", 7)
      #expect(open.post == expected)
      #expect(try await catalog.post(post.id) == expected)
      #expect(try await catalog.feedRevision() != revision)
      #expect(try await find("dog").isEmpty)
      #expect(try await find("cat") == [post.id])
      #expect(try await find("Ada cat") == [post.id])
      if case .nothing(let same)? = try catalog.begin([PostChange(post.id, .edit(edit))]).first {
        #expect(same == expected)
      } else {
        Issue.record("an edit that changes nothing was begun")
      }
      // Edited a second time.
      try catalog.carryOut(.init(post.id, .edit(PostEdit(caption: "a dog"))))
      #expect(try await find("dog") == [post.id])
      #expect(try await find("cat").isEmpty)
    },
    CatalogContractTest("a moved post is in the other store, under the same id") { stage in
      let sketch = Sketch()
      let catalog = try await stage.changing()
      let (old, new) = (Destination("file:///media"), Destination("file:///other"))
      let request = sketch.request(sketch.publication(by: "ada"), poster: sketch.poster())
      let intent = try #require(try await catalog.claim(request).intent)
      let post = try await catalog.complete(
        intent, draft: sketch.draft(poster: try sketch.shown(intent)), stored: sketch.stored(intent))
      var open = try catalog.begun(.init(post.id, .move(to: new)))
      #expect(open.kind == .move(to: new, moved: false))
      #expect(open.destination == old)
      // Until the move is finished, the post is unchanged.
      #expect(try await catalog.post(post.id) == post)
      #expect(try await catalog.claim(request).post?.post.id == post.id)
      open.post.videoURL = "file:///other/\(post.video)"
      open.post.posterURL = "file:///other/poster"
      let moved = try #require(try catalog.finish([open]).first ?? nil)
      #expect(moved == open.post)
      try catalog.strikeOut([open])
      #expect(try await catalog.post(post.id) == moved)
      let there = Publication(digest: request.publication.digest, destination: new, authorID: "ada")
      #expect(try await catalog.claim(sketch.request(there)).post?.post.id == post.id)
      #expect(try await catalog.status().destinations.map(\.destination) == [new])
      if case .nothing? = try catalog.begin([PostChange(post.id, .move(to: new))]).first {
      } else {
        Issue.record()
      }
      // The video may be published again where it was, if that is requested.
      let second = try #require(
        try await catalog.publish(sketch.request(request.publication, again: true), with: sketch))
      if case .taken(let taken)? = try catalog.begin([PostChange(second.id, .move(to: new))]).first {
        #expect(taken.id == post.id)
      } else {
        Issue.record("a second post of the publication was allowed")
      }
    },
    CatalogContractTest(
      "in the store that a post has left, its video is a duplicate, unless requested otherwise"
    ) {
      stage in
      let sketch = Sketch()
      let catalog = try await stage.changing()
      let (publication, arrived) = (sketch.publication(by: "ada"), sketch.digest())
      let request = sketch.request(publication, arrived: arrived)
      let post = try #require(try await catalog.publish(request, with: sketch))
      let (new, third) = (Destination("file:///other"), Destination("file:///third"))
      for destination in [new, third] { try catalog.carryOut(.init(post.id, .move(to: destination))) }
      func claim(
        _ digest: ContentDigest, in destination: Destination = publication.destination,
        by author: String = "ada", _ duplicates: DuplicateHandling = .skip, again: Bool = false
      ) async throws -> Claim {
        let claim = try await catalog.claim(
          sketch.request(
            Publication(digest: digest, destination: destination, authorID: author), duplicates, again: again)
        )
        if let intent = claim.intent { try await catalog.release(intent, because: .retryLater) }
        return claim
      }
      for destination in [publication.destination, new, third] {
        for digest in [publication.digest, arrived] {
          let there = Publication(digest: digest, destination: destination, authorID: "ada")
          #expect(try await claim(digest, in: destination).post?.post.id == post.id)
          #expect(try catalog.content(of: digest, publishedAs: there).post?.post.id == post.id)
        }
      }
      let question = ContentQuestion(digest: publication.digest, publication: publication, again: true)
      #expect(try catalog.contents(of: [question]).first?.post == nil)
      #expect(try await claim(publication.digest, again: true).intent != nil)
      #expect(try await claim(publication.digest, .allow).intent != nil)
      #expect(try await claim(publication.digest, by: "bo").intent != nil)
      #expect(try await claim(publication.digest, in: Destination("file:///fourth")).intent != nil)
      // A removed post is known as removed; once restored, it is known where it was.
      try catalog.carryOut(.init(post.id, .removal(Removal(at: stage.clock.now()))))
      #expect(try await claim(publication.digest).removed?.post.id == post.id)
      try catalog.carryOut(.init(post.id, .restoration))
      #expect(try await claim(publication.digest).post?.post.id == post.id)
      // A move that was given up leaves no such record.
      let other = try #require(try await catalog.publish(sketch.request(sketch.publication()), with: sketch))
      let move = try catalog.begun(.init(other.id, .move(to: new)))
      try catalog.strikeOut([move])
      try catalog.carryOut(.init(post.id, .move(to: publication.destination)))
      #expect(try await claim(publication.digest).post?.post.id == post.id)
      #expect(try await claim(publication.digest, in: third).post?.post.id == post.id)
      guard let mover = catalog as? any StoreRelocating else { return }
      // The record follows its store.
      try await mover.relocate(publication.destination, to: new, holding: 2, duplicates: .skip)
      #expect(try await claim(publication.digest, in: new).post?.post.id == post.id)
      #expect(try await claim(publication.digest, in: third).post?.post.id == post.id)
    },
    CatalogContractTest("a video is known to be removed from its store, even if it is another post elsewhere")
    {
      stage in
      let sketch = Sketch()
      let catalog = try await stage.changing()
      let publication = sketch.publication(by: "ada")
      let elsewhere = Publication(
        digest: publication.digest, destination: Destination("file:///other"), authorID: "ada")
      let post = try #require(try await catalog.publish(sketch.request(publication), with: sketch))
      let other = try #require(try await catalog.publish(sketch.request(elsewhere), with: sketch))
      stage.clock.advance(by: 1)
      try catalog.carryOut(.init(post.id, .removal(Removal(at: stage.clock.now()))))
      #expect(try await catalog.claim(sketch.request(publication)).removed?.post.id == post.id)
      #expect(
        try catalog.content(of: publication.digest, publishedAs: publication).removed?.post.id == post.id)
      #expect(try await catalog.claim(sketch.request(elsewhere)).post?.post.id == other.id)
    },
    CatalogContractTest("only one post of a publication at a time is moved or restored into a store") {
      stage in
      let sketch = Sketch()
      let first = try await stage.changing()
      let second = try await stage.changing()
      let publication = sketch.publication(by: "ada")
      let new = Destination("file:///other")
      var posts: [PostID] = []
      for _ in 0..<2 {
        posts.append(
          try #require(try await first.publish(sketch.request(publication, .allow), with: sketch)).id)
      }
      func answers(_ catalog: any PostChanging, _ changes: [PostChange]) throws -> [String] {
        try catalog.begin(changes).map { answer in
          switch answer {
          case .begun(let open):
            _ = try catalog.finish([open])
            try catalog.strikeOut([open])
            return "begun"
          case .busy: return "busy"
          case .taken(let post): return post.id.description
          default: return "\(answer)"
          }
        }
      }
      let moves = posts.map { PostChange($0, .move(to: new)) }
      let open = try first.begun(moves[0])
      #expect(try second.begin([moves[1]]).first?.isBusy == true)
      #expect(try first.begin([moves[1]]).first?.isBusy == true)
      try first.strikeOut([open])
      #expect(try answers(first, moves) == ["begun", "busy"])
      #expect(try answers(first, [moves[1]]) == [posts[0].description])
      // Of two posts of one video, the later one is restored, and the former is then refused because of it.
      stage.clock.advance(by: 1)
      let video = sketch.publication(by: "ada")
      let former = try #require(try await first.publish(sketch.request(video), with: sketch))
      try first.carryOut(.init(former.id, .removal(Removal(at: stage.clock.now()))))
      stage.clock.advance(by: 1)
      let later = try #require(try await first.publish(sketch.request(video, again: true), with: sketch))
      try first.carryOut(.init(later.id, .removal(Removal(at: stage.clock.now()))))
      let restorations = [PostChange(later.id, .restoration), PostChange(former.id, .restoration)]
      #expect(try answers(first, restorations) == ["begun", "busy"])
      #expect(try answers(first, [restorations[1]]) == [later.id.description])
    },
    CatalogContractTest("of two abandoned moves of one publication, only one is finished") { stage in
      let sketch = Sketch()
      let catalogs = try await [stage.changing(), stage.changing(), stage.changing()]
      let publication = sketch.publication(by: "ada")
      let new = Destination("file:///other")
      var moves: [PostChange] = []
      for catalog in catalogs.prefix(2) {
        let post = try #require(
          try await catalogs[2].publish(sketch.request(publication, .allow), with: sketch))
        moves.append(PostChange(post.id, .move(to: new)))
        _ = try catalog.begun(try #require(moves.last))
        try await stage.kill(catalog)
      }
      let open = try catalogs[2].begin(moves).compactMap {
        if case .begun(let open) = $0 { open } else { nil }
      }
      #expect(open.map(\.post.id) == moves.map(\.post))
      #expect(try catalogs[2].finish(open).map { $0?.id } == [moves[0].post, nil])
      #expect(try catalogs[2].areHeld(open) == [true, false])
      #expect(try await catalogs[2].status().destinations.map(\.posts) == [1, 1])
    },
    CatalogContractTest("earlier texts, readings and failures are not kept forever") { stage in
      let sketch = Sketch()
      let catalog = try await stage.changing()
      let (reader, older) = (
        ReaderVersion(reel: "2.0", ffmpeg: "59.27.100"), ReaderVersion(reel: "1.0", ffmpeg: "59.27.100")
      )
      var posts: [Post] = []
      for _ in 0..<3 {
        posts.append(
          try #require(try await catalog.publish(sketch.request(sketch.publication()), with: sketch)))
      }
      func find(_ text: String) async throws -> [PostID] {
        try await catalog.newestPosts(matching: PostFilter(text: text), before: nil, limit: 9).posts.map(\.id)
      }
      for word in ["one", "two", "three"] {
        for post in posts.prefix(2) { try catalog.carryOut(.init(post.id, .edit(PostEdit(caption: word)))) }
        #expect(try await find(word) == [posts[1].id, posts[0].id])
      }
      let (removal, digest) = (Removal(at: stage.clock.now()), sketch.digest())
      try catalog.carryOut(.init(posts[1].id, .removal(removal)))
      let outcome = ProbeOutcome.failure(ProbeError(.notMedia, "x"))
      catalog.note([older, reader].map { .outcome(outcome, of: digest, by: $0) })
      _ = try await catalog.status()
      #expect(try catalog.readings(besides: "2.0") == 1)
      #expect(try catalog.forgetReadings(besides: "2.0", atMost: 0) == 0)
      #expect(try catalog.forgetReadings(besides: "2.0", atMost: 9) == 1)
      #expect(try catalog.forgetReadings(besides: "2.0", atMost: 9) == 0)
      #expect(try catalog.probeOutcomes(of: [digest], by: reader) == [outcome])
      #expect(try catalog.probeOutcomes(of: [digest], by: older) == [nil])
      #expect(try await find("three") == [posts[0].id])
      #expect(try await find("one").isEmpty)
      try catalog.carryOut(.init(posts[1].id, .restoration))
      try catalog.carryOut(.init(posts[0].id, .edit(PostEdit(caption: "four"))))
      #expect(try await find("three") == [posts[1].id])
      #expect(try await find("four") == [posts[0].id])
      // The digest of a removed video is never forgotten.
      try catalog.carryOut(.init(posts[2].id, .removal(removal)))
      _ = try catalog.forgetReadings(besides: "2.0", atMost: 9)
      let failure = FailureRecord(code: "notMedia", message: "text", refused: false, at: stage.clock.now())
      catalog.note(["/a.mp4", "/b.mp4"].map { .failure(failure, at: SourcePath($0)) })
      #expect(try await catalog.status().failureCount == 2)
      #expect(try catalog.forgetFailures() == 2)
      #expect(try await catalog.status().failureCount == 0)
      #expect(try catalog.removedPosts(of: try #require(posts[2].digest)).map(\.post.id) == [posts[2].id])
    },
    CatalogContractTest("an unknown post can't be changed, and a removed one only restored or purged") {
      stage in
      let sketch = Sketch()
      let catalog = try await stage.changing()
      let nobody = PostID(at: stage.clock.now(), random: sketch.randomness)
      let removal = PostChange.Kind.removal(Removal(at: stage.clock.now()))
      let kinds = [
        removal, .purge, .restoration, .edit(PostEdit(caption: "x")), .move(to: Destination("file:///other")),
      ]
      for kind in kinds {
        if case .unknown? = try catalog.begin([PostChange(nobody, kind)]).first {} else { Issue.record() }
      }
      let post = try #require(
        try await catalog.publish(sketch.request(sketch.publication()), with: sketch))
      if case .nothing? = try catalog.begin([PostChange(post.id, .restoration)]).first {
      } else {
        Issue.record()
      }
      if case .nothing? = try catalog.begin([PostChange(post.id, .purge)]).first {} else { Issue.record() }
      try catalog.carryOut(.init(post.id, removal))
      for kind in kinds {
        if [.restoration, .purge].contains(kind.sort) { continue }
        if case .removed(let removed)? = try catalog.begin([PostChange(post.id, kind)]).first {
          #expect(removed.post.id == post.id)
        } else {
          Issue.record("\(kind)")
        }
      }
    },
    CatalogContractTest("one process at a time changes a post, and a dead process's change is taken over") {
      stage in
      let sketch = Sketch()
      let first = try await stage.changing()
      let second = try await stage.changing()
      let third = try await stage.changing()
      let post = try #require(try await first.publish(sketch.request(sketch.publication()), with: sketch))
      let removal = Removal(at: stage.clock.now())
      let open = try first.begun(.init(post.id, .removal(removal)))
      for catalog in [first, second] {
        #expect(try catalog.begin([PostChange(post.id, .removal(removal))]).first?.isBusy == true)
        #expect(try catalog.begin([PostChange(post.id, .restoration)]).first?.isBusy == true)
      }
      #expect(try second.unfinishedChanges(after: 0, limit: 9).isEmpty)
      #expect(try second.abandonedChanges().isEmpty)
      try await stage.kill(first)
      #expect(try second.abandonedChanges().map(\.post) == [post.id])
      if case .unfinished(let left)? = try second.begin([PostChange(post.id, .restoration)]).first {
        #expect(left.number == open.number)
        #expect(left.kind == .removal(removal))
        // The change now belongs to the second process.
        #expect(try third.unfinishedChanges(after: 0, limit: 9).isEmpty)
        #expect(try second.finish([left]).first??.id == post.id)
        try second.strikeOut([left])
      } else {
        Issue.record("the dead process's change was not handed over")
      }
      // A released change can be taken over by any process.
      let again = try second.begun(.init(post.id, .restoration))
      try second.release([again])
      let adopted = try third.unfinishedChanges(after: 0, limit: 9)
      #expect(adopted.map(\.number) == [again.number])
      #expect(try third.unfinishedChanges(after: again.number, limit: 9).isEmpty)
      // The process that lost it can't complete it.
      #expect(try second.finish([again]) == [nil])
      try second.strikeOut([again])
      #expect(try third.finish(adopted).first??.id == post.id)
      try third.strikeOut(adopted)
      #expect(try await third.post(post.id)?.pageNumber == post.pageNumber)
    },
    CatalogContractTest("requesting a dead process's change again resumes it where it stopped") { stage in
      let sketch = Sketch()
      let first = try await stage.changing()
      let second = try await stage.changing()
      let new = Destination("file:///other")
      let post = try #require(try await first.publish(sketch.request(sketch.publication()), with: sketch))
      let open = try first.begun(.init(post.id, .move(to: new)))
      try await stage.kill(first)
      let same = try second.begun(.init(post.id, .move(to: new)))
      #expect(same.number == open.number)
      #expect(same.kind == .move(to: new, moved: false))
      _ = try second.finish([same])
      try await stage.kill(second)
      let third = try await stage.changing()
      // The post has moved, and its event must be sent first, whatever is requested.
      if case .unfinished(let left)? = try third.begin([PostChange(post.id, .move(to: new))]).first {
        #expect(left.kind == .move(to: new, moved: true))
        #expect(left.destination == Destination("file:///media"))
      } else {
        Issue.record("the finished move was not handed over, though its event was not sent")
      }
    },
    CatalogContractTest("the free names of a move are remembered, and only its holder can note them") {
      stage in
      let sketch = Sketch()
      let first = try await stage.changing()
      let second = try await stage.changing()
      let move = PostChange.Kind.move(to: Destination("file:///other"))
      let posts = [
        try #require(try await first.publish(sketch.request(sketch.publication()), with: sketch)),
        try #require(try await first.publish(sketch.request(sketch.publication()), with: sketch)),
      ]
      var open = try posts.map { try first.begun(.init($0.id, move)) }
      #expect(open.map(\.freeNames) == [nil, nil])
      open[0].freeNames = open[0].objects.map(\.key)
      open[1].freeNames = []
      for change in open { #expect(try first.noteFreeNames(of: change)) }
      try await stage.kill(first)
      let left = try posts.map { try second.begun(.init($0.id, move)) }
      #expect(left.map(\.freeNames) == open.map(\.freeNames))
      open[1].freeNames = open[1].objects.map(\.key)
      #expect(try !first.noteFreeNames(of: open[1]))
      #expect(try second.finish(left).allSatisfy { $0 != nil })
      try second.strikeOut(left)
    },
    CatalogContractTest("the rows name the objects that a change leaves in a store") { stage in
      let sketch = Sketch()
      let catalog = try await stage.changing()
      guard let examined = catalog as? any CatalogExamination else { return }
      let (old, new) = (Destination("file:///media"), Destination("file:///other"))
      func states(_ destination: Destination) async throws -> [ExaminedObject.State] {
        try await examined.objects(in: destination, after: nil, limit: 99).map(\.state)
      }
      let post = try #require(
        try await catalog.publish(sketch.request(sketch.publication(to: old.name)), with: sketch))
      let move = try catalog.begun(.init(post.id, .move(to: new)))
      #expect(try await states(old) == [.published])
      #expect(try await states(new) == [.changing])
      _ = try catalog.finish([move])
      #expect(try await states(old) == [.changing])
      #expect(try await states(new) == [.published])
      try catalog.strikeOut([move])
      #expect(try await states(old).isEmpty)
      let kept = Removal(at: stage.clock.now(), keptUntil: stage.clock.now() + 9)
      let removal = try catalog.begun(.init(post.id, .removal(kept)))
      #expect(try await states(new) == [.changing])
      _ = try catalog.finish([removal])
      try catalog.strikeOut([removal])
      #expect(try await states(new) == [.kept])
      try catalog.carryOut(.init(post.id, .purge))
      #expect(try await states(new) == [.removed])
      #expect(try await examined.damage().isEmpty)
    },
    CatalogContractTest("in a batch, only the claims of a removed video are answered as removed") { stage in
      let sketch = Sketch()
      let catalog = try await stage.changing()
      let (gone, kept) = (sketch.publication(by: "ada"), sketch.publication(by: "ada"))
      let post = try #require(try await catalog.publish(sketch.request(gone), with: sketch))
      let other = try #require(try await catalog.publish(sketch.request(kept), with: sketch))
      try catalog.carryOut(.init(post.id, .removal(Removal(at: stage.clock.now()))))
      let (first, last) = (sketch.publication(by: "ada"), sketch.publication(by: "ada"))
      let requests = [
        sketch.request(first), sketch.request(gone), sketch.request(kept), sketch.request(gone, .allow),
        sketch.request(gone, again: true), sketch.request(gone), sketch.request(first), sketch.request(last),
      ]
      let claims = try catalog.claim(requests, noting: []).map { try $0.get() }
      #expect([1, 3, 5].map { claims[$0].removed?.post.id } == [post.id, post.id, post.id])
      #expect([0, 4, 7].map { claims[$0].intent?.publication } == [first, gone, last])
      #expect(claims[2].post?.post.id == other.id)
      #expect(claims[6].isHeld)
      let known = try catalog.contents(
        of: [first, gone, kept].map { ContentQuestion(digest: $0.digest, publication: $0) })
      #expect(known.map(\.removed?.post.id) == [nil, post.id, nil])
      #expect(known.map(\.post?.post.id) == [nil, nil, other.id])
    },
    CatalogContractTest("one batch changes many posts, each only once") { stage in
      let sketch = Sketch()
      let catalog = try await stage.changing()
      let publication = sketch.publication()
      var posts: [Post] = []
      for request in [
        sketch.request(publication), sketch.request(sketch.publication()),
        sketch.request(sketch.publication()),
        sketch.request(sketch.publication()),
      ] { posts.append(try #require(try await catalog.publish(request, with: sketch))) }
      let other = Destination("file:///other")
      let answers = try catalog.begin([
        .init(posts[0].id, .move(to: other)), .init(posts[1].id, .move(to: other)),
        .init(posts[2].id, .removal(Removal(at: stage.clock.now()))),
        .init(posts[2].id, .restoration), .init(posts[3].id, .edit(PostEdit(likeCount: posts[3].likeCount))),
        .init(posts[3].id, .edit(PostEdit(likeCount: 9))), .init(posts[0].id, .edit(PostEdit(likeCount: 9))),
      ])
      let open = answers.compactMap { if case .begun(let open) = $0 { open } else { nil } }
      #expect(open.map(\.post.id) == [posts[0].id, posts[1].id, posts[2].id, posts[3].id])
      #expect(answers[3].isBusy && answers[6].isBusy)
      if case .nothing = answers[4] {} else { Issue.record("\(answers[4])") }
      #expect(try catalog.finish(open).map { $0?.id } == open.map { $0.post.id })
      #expect(try catalog.finish(open).map { $0?.id } == open.map { $0.post.id })
      try catalog.strikeOut(open)
      try catalog.strikeOut(open)
      #expect(try catalog.finish(open).allSatisfy { $0 == nil })
      let moved = try await catalog.status()
      #expect(Set(moved.destinations.map(\.posts)) == [1, 2] && moved.posts == 3)
      let claim = try await catalog.claim(
        sketch.request(Publication(digest: publication.digest, destination: other, authorID: nil)))
      #expect(claim.post?.post.id == posts[0].id)
      #expect(try await catalog.post(posts[3].id)?.likeCount == 9)
      if let examined = catalog as? any CatalogExamination {
        #expect(try await examined.damage().isEmpty)
      }
    },
    CatalogContractTest("a post that was removed or moved in the meantime gets no poster") { stage in
      let sketch = Sketch()
      let catalog = try await stage.changing()
      guard let adding = catalog as? any PosterAdding else { return }
      let (here, there) = (Destination("file:///media"), Destination("file:///other"))
      var posts: [Post] = []
      for _ in 0..<4 {
        posts.append(
          try #require(try await catalog.publish(sketch.request(sketch.publication()), with: sketch)))
      }
      let keys = try await adding.namePosters(posts.map { ($0.id, sketch.poster()) }, in: here)
      let posters = try zip(posts, keys).map { post, key in
        let key = try #require(key)
        let picture = Poster(
          jpeg: [], width: 288, height: 512, blurHash: "L3F~gYof00ayayj[fQj[00fQ?bfQ", isCover: false, time: 1
        )
        return (
          post: post.id,
          poster: PostPoster(picture, stored: StoredObject(key: key, url: "x/\(key)", size: 100, digest: nil))
        )
      }
      try catalog.carryOut(.init(posts[0].id, .removal(Removal(at: stage.clock.now()))))
      try catalog.carryOut(.init(posts[1].id, .move(to: there)))
      let edit = try catalog.begun(.init(posts[2].id, .edit(PostEdit(caption: "new"))))
      try catalog.strikeOut([edit])
      #expect(try await adding.showPosters(posters, of: here) == [false, false, true, true])
      let shown = try #require(try await catalog.post(posts[2].id))
      #expect(shown.caption == "new" && shown.poster == keys[2])
      #expect(try await catalog.post(posts[1].id)?.poster == nil)
      #expect(try await adding.postsWithoutPoster(in: here, after: 0, limit: 9).isEmpty)
      #expect(try await adding.postsWithoutPoster(in: there, after: 0, limit: 9).map(\.id) == [posts[1].id])
    },
    CatalogContractTest("a kept post is restored from the store that its own was relocated to") { stage in
      let sketch = Sketch()
      let catalog = try await stage.changing()
      guard let mover = catalog as? any StoreRelocating else { return }
      let (old, new) = (Destination("file:///elsewhere"), Destination("file:///moved"))
      let intent = try #require(
        try await catalog.claim(sketch.request(sketch.publication(to: old.name))).intent)
      let post = try await catalog.complete(
        intent, draft: sketch.draft(),
        stored: StoredObject(key: intent.key, url: "\(old.name)/\(intent.key)", size: 1000, digest: nil))
      let removal = Removal(at: stage.clock.now(), keptUntil: stage.clock.now() + 9)
      let open = try catalog.begun(.init(post.id, .removal(removal)))
      await expect(.locked) { try await mover.relocate(old, to: new, holding: 0, duplicates: .skip) }
      _ = try catalog.finish([open])
      try catalog.strikeOut([open])
      try await mover.relocate(old, to: new, holding: 0, duplicates: .skip)
      #expect(try catalog.removedPost(post.id)?.post.videoURL == "\(new.name)/\(post.video)")
      try catalog.carryOut(.init(post.id, .restoration))
      #expect(try await catalog.post(post.id)?.videoURL == "\(new.name)/\(post.video)")
      // An unfinished move between the two stores would in the end remove the object.
      _ = try await catalog.publish(sketch.request(sketch.publication(to: old.name)), with: sketch)
      let move = try catalog.begun(.init(post.id, .move(to: old)))
      try catalog.release([move])
      await expect(.unusable) { try await mover.relocate(new, to: old, holding: 1, duplicates: .skip) }
      try catalog.strikeOut(try catalog.unfinishedChanges(after: 0, limit: 9))
      try await mover.relocate(new, to: old, holding: 1, duplicates: .skip)
      #expect(try await catalog.status().destinations.map(\.posts) == [2])
    },
    CatalogContractTest(
      "of several processes racing to change a post, one at a time holds it, and all see the same result"
    ) {
      stage in
      let sketch = Sketch()
      let catalogs = try await [stage.changing(), stage.changing(), stage.changing()]
      var posts: [Post] = []
      for _ in 0..<3 {
        posts.append(
          try #require(try await catalogs[0].publish(sketch.request(sketch.publication()), with: sketch)))
      }
      let race = ChangeRace(posts: posts.map(\.id), at: stage.clock.now())
      try await withThrowingTaskGroup { group in
        for (seed, catalog) in catalogs.enumerated() {
          group.addTask { try await onThread { try race.run(catalog, seed: UInt64(seed)) } }
        }
        try await group.waitForAll()
      }
      #expect(race.begun > 0)
      #expect(try catalogs[0].unfinishedChanges(after: 0, limit: 9).isEmpty)
      var (shown, removed) = (0, 0)
      for post in posts {
        let now = try await catalogs[1].post(post.id)
        let gone = try catalogs[2].removedPost(post.id)
        #expect((now == nil) != (gone == nil))
        #expect((now ?? gone?.post)?.pageNumber == post.pageNumber)
        if now != nil { shown += 1 } else { removed += 1 }
      }
      #expect(try await catalogs[0].status().posts == shown)
      if let examined = catalogs[0] as? any CatalogExamination {
        #expect(try await examined.damage().isEmpty)
      }
    },
  ]
}

/// Runs `body` on a thread of its own, because it blocks.
func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
  try await withCheckedThrowingContinuation { continuation in
    Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
  }
}

/// A race of several processes that change the same few posts in batches.
private final class ChangeRace: Sendable {
  private let posts: [PostID]
  private let moment: Date
  private let held = Mutex<Set<PostID>>([])
  private let count = Atomic(0)

  init(posts: [PostID], at moment: Date) { (self.posts, self.moment) = (posts, moment) }

  /// The number of changes that were begun.
  var begun: Int { count.load(ordering: .relaxed) }

  func run(_ catalog: any PostChanging, seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    for round in 0..<30 {
      let answers = try catalog.begin(
        posts.shuffled(using: &random).map { post in
          switch Int.random(in: 0..<5, using: &random) {
          case 0: PostChange(post, .removal(Removal(at: moment, keptUntil: moment + 9)))
          case 1: PostChange(post, .purge)
          case 2: PostChange(post, .restoration)
          case 3: PostChange(post, .edit(PostEdit(caption: "\(seed) \(round)")))
          default: PostChange(post, .move(to: Destination("file:///\(round % 3)")))
          }
        })
      let open = answers.compactMap { if case .begun(let open) = $0 { open } else { nil } }
      count.add(open.count, ordering: .relaxed)
      held.withLock { held in for one in open { #expect(held.insert(one.post.id).inserted) } }
      #expect(try catalog.finish(open).allSatisfy { $0 != nil })
      held.withLock { $0.subtract(open.map(\.post.id)) }
      try catalog.strikeOut(open)
    }
  }
}

extension CatalogStage {
  fileprivate func changing() async throws -> any PostChanging {
    try #require(try await open() as? any PostChanging)
  }
}

extension PostChanging {
  func begun(_ change: PostChange) throws -> OpenChange {
    let answer = try #require(try begin([change]).first)
    guard case .begun(let open) = answer else {
      Issue.record("\(answer)")
      throw CatalogError(.unusable, "not begun")
    }
    return open
  }

  /// Carries out the whole change, without touching any store.
  func carryOut(_ change: PostChange) throws {
    let open = try begun(change)
    _ = try finish([open])
    try strikeOut([open])
  }
}

extension ChangeAnswer {
  var isBusy: Bool { if case .busy = self { true } else { false } }
}

extension Claim {
  var removed: RemovedPost? { if case .removed(let removed) = self { removed } else { nil } }
}
