import ReelProbe

/// The points where playback may begin: clusters that hold a key frame (RFC 9559, 5.1.5).
struct CueList {
  struct Point: Hashable {
    /// In ticks of the Segment.
    let time: UInt64
    /// The number of the cluster, from 0 on.
    let cluster: Int
  }
  private(set) var points: [Point] = []
  private let track: UInt64
  /// The least distance between two points, in ticks.
  private var spacing: Int64
  private var last: Int64?

  private static let mostPoints = 1 << 16

  /// - Parameters:
  ///   - track: the number of the track whose key frames count.
  ///   - scale: the number of nanoseconds in a tick.
  init(track: UInt64, scale: UInt64) {
    self.track = track
    // Half a second: players search that far in no time.
    spacing = Int64(clamping: 500_000_000 / scale)
  }

  /// - Parameter time: the time of the first key frame in the cluster.
  mutating func add(_ time: Int64, cluster: Int) {
    if let last, time < last || time - last < spacing { return }
    last = max(0, time)
    points.append(Point(time: UInt64(max(0, time)), cluster: cluster))
    guard points.count >= Self.mostPoints else { return }
    points = points.enumerated().filter { $0.offset % 2 == 0 }.map(\.element)
    spacing = max(1, spacing &* 2)
  }

  /// Returns the element. Its size does not depend on the positions.
  /// - Parameters:
  ///   - positions: returns the position of a cluster in the Segment.
  ///   - width: the number of bytes of a position.
  func element(_ positions: (Int) -> Int64, width: Int) -> [UInt8] {
    var contents: [UInt8] = []
    for point in points {
      let position = UInt64(clamping: positions(point.cluster))
      let place =
        EBMLWriter.element(MatroskaID.cueTrack, number: track)
        + EBMLWriter.element(MatroskaID.cueClusterPosition, number: position, width: width)
      contents += EBMLWriter.element(
        MatroskaID.cuePoint,
        EBMLWriter.element(MatroskaID.cueTime, number: point.time)
          + EBMLWriter.element(MatroskaID.cueTrackPositions, place))
    }
    return EBMLWriter.element(MatroskaID.cues, contents)
  }
}
