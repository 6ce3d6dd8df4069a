import Foundation
import ReelCore
import ReelTestSupport
import Testing

@testable import ReelPage

@Suite(.shortTime) struct ExtremeIndexTests {
  @Test("whatever numbers are in a site's index, the site is written and correct again")
  func index() async throws {
    let feed = try TestFeed()
    try await feed.publish((0..<7).map { "post \($0)" })
    try await feed.write()
    let json = try feed.text("feed/index.json")
    // Each variant writes the whole site, so only a sample is tested.
    let seed = TestSeed.drawn()
    var random = SplitMix64(seed: seed)
    let variants = Extremes.variants(ofJSON: json).shuffled(using: &random)
    for variant in variants.prefix(TestForm.isLong ? variants.count : 40) {
      for size in [nil, 3] as [Int?] {
        try feed.folder.write(variant.utf8, to: "site/feed/index.json")
        do {
          try await feed.write { $0.size = size }
        } catch let error as SiteError where error.code == .otherLibrary {
          try await feed.write { ($0.size, $0.all) = (3, true) }
        }
        let index = try feed.index()
        #expect(index.isPlausible && index.count == 7, "\(variant), seed \(seed)")
        _ = try await feed.writer(SiteOptions(), from: feed.catalog).files()
      }
    }
  }

  @Test func numbersOfAnyPost() {
    for size in [1, 3, SiteIndex.mostInPage] {
      var index = SiteIndex(title: "x", size: size, media: .inPlace)
      for number in Extremes.integers.map({ Int($0) }) {
        _ = index.page(of: number)
        index.count = min(max(0, number), SiteIndex.mostPosts)
        index.pages = index.page(of: index.count)
        #expect(index.isPlausible)
        #expect(index.pages == 0 || (1...size).contains(index.posts(on: index.pages)))
      }
    }
  }
}
