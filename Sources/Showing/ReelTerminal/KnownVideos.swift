import ReelCore
import ReelIngest

/// The videos of a run that already are posts, collected from its events, and what to report about them.
package struct KnownVideos: Sendable {
  private var seconds = SecondPosts()
  private var unheeded = UnheededWishes()

  package init() {}

  /// Adds the videos of `events`; nil without events.
  package func noting(_ events: IngestEvents?) async -> KnownVideos? {
    guard let events else { return nil }
    var videos = self
    for await batch in events.batches() {
      for event in batch {
        videos.seconds.note(event.body)
        videos.unheeded.note(event.body)
      }
    }
    return videos
  }

  package struct Found: Sendable {
    package var seconds: RunReport.Seconds?
    package var unheeded: UnheededWishes.Found?

    package init() {}
  }

  /// Looks up what to report. The run is over, so an error here is ignored rather than counted as a failure of the run.
  package func found(
    _ options: IngestOptions, _ services: IngestServices, followLinks: Bool
  ) async -> Found {
    var found = Found()
    guard options.duplicates == .skip else { return found }
    found.seconds = try? await seconds.found(
      in: services.catalog, besides: services.uploader.destination)
    guard !options.dryRun else { return found }
    found.unheeded = try? await BlockingQueue(label: "reel.unheeded", width: 1).run {
      [unheeded] () throws(CatalogError) in
      try unheeded.found(options, services, followLinks: followLinks)
    }
    return found
  }
}

extension PublishResult {
  /// The result of the last file of `events`.
  package static func last(in events: IngestEvents?) async -> PublishResult? {
    guard let events else { return nil }
    var last: PublishResult?
    for await event in events { last = PublishResult(event.body) ?? last }
    return last
  }
}
