import ReelCore
import ReelSource

/// What `reel watch` says at the beginning: what it watches, what it waits for, and where files go.
package struct WatchGreeting: Sendable {
  /// A watched folder or bucket.
  package struct Place: Sendable {
    let path: SourcePath
    let isBucket: Bool
    /// Whether it is listed periodically, because changes are not reported.
    let isListed: Bool
    /// Whether other machines may write to it, so that this one can't tell whether a file is still open.
    let isShared: Bool
    package let interval: Duration
    package let waits: SettlingFiles.Waits

    package init(
      path: SourcePath, isBucket: Bool, isListed: Bool, isShared: Bool, interval: Duration,
      waits: SettlingFiles.Waits
    ) {
      (self.path, self.isBucket, self.isListed, self.isShared) = (path, isBucket, isListed, isShared)
      (self.interval, self.waits) = (interval, waits)
    }
  }
  package let places: [Place]
  package let destination: Destination
  package let after: FileDisposal.Kind
  package let reject: FileDisposal.Kind

  package init(places: [Place], destination: Destination, after: FileDisposal.Kind, reject: FileDisposal.Kind)
  {
    (self.places, self.destination, self.after, self.reject) = (places, destination, after, reject)
  }

  package var sentences: [String] { places.map { "watching \($0.sentence)" } + [goals] }

  /// `videos go to file:///srv/media; their files are then moved to /srv/done, rejected ones are moved to /srv/bad`
  private var goals: String {
    let published: String? =
      switch after {
      case .keep: nil
      case .delete: "their files are then deleted"
      case .move(let folder): "their files are then moved to \(folder)"
      }
    let rejected: String? =
      if case .move(let folder) = reject { "rejected ones are moved to \(folder)" } else { nil }
    let files = [published, rejected].compactMap(\.self)
    return "videos go to \(destination.name); "
      + (files.isEmpty ? "their files stay" : files.joined(separator: ", "))
  }

  package var logged: [LogLine] {
    places.map { place in
      var fields = [("path", place.path.text), ("destination", destination.name)]
      if !place.isBucket { fields.append(("settle", HumanNumber.time(place.waits.settle / .seconds(1)))) }
      if place.isListed { fields.append(("every", HumanNumber.time(place.interval / .seconds(1)))) }
      return LogLine(.info, "watch.started", fields)
    }
  }
}

extension WatchGreeting.Place {
  fileprivate var sentence: String {
    let listed = isListed ? ", listed every \(HumanNumber.time(interval / .seconds(1)))" : ""
    if isBucket { return "\(path)\(listed): an object is ingested once it is there" }
    let (settle, unknown) = (
      HumanNumber.time(waits.settle / .seconds(1)), HumanNumber.time(waits.unknown / .seconds(1))
    )
    return isShared
      ? "\(path)\(listed): a file is ingested once it has not changed for \(unknown), because Reel can't tell whether it is open"
      : "\(path)\(listed): a file is ingested once no process is writing to it and it was closed, or has not changed for \(settle)"
  }
}
