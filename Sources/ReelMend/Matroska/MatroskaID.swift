/// Elements of Matroska that are looked into or written, with their markers (RFC 8794, 11.2 and 11.3; RFC 9559, 5).
enum MatroskaID {
  static let header: UInt32 = 0x1A45_DFA3
  static let longestID: UInt32 = 0x42F2
  static let longestSize: UInt32 = 0x42F3
  static let void: UInt32 = 0xEC
  static let checksum: UInt32 = 0xBF

  static let segment: UInt32 = 0x1853_8067
  static let seekHead: UInt32 = 0x114D_9B74
  static let seek: UInt32 = 0x4DBB
  static let seekID: UInt32 = 0x53AB
  static let seekPosition: UInt32 = 0x53AC
  static let info: UInt32 = 0x1549_A966
  static let timestampScale: UInt32 = 0x2AD7B1
  static let duration: UInt32 = 0x4489
  static let tracks: UInt32 = 0x1654_AE6B
  static let chapters: UInt32 = 0x1043_A770
  static let attachments: UInt32 = 0x1941_A469
  static let tags: UInt32 = 0x1254_C367

  static let attachedFile: UInt32 = 0x61A7
  static let fileMediaType: UInt32 = 0x4660
  static let fileData: UInt32 = 0x465C

  static let entry: UInt32 = 0xAE
  static let trackNumber: UInt32 = 0xD7
  static let trackType: UInt32 = 0x83
  static let defaultDuration: UInt32 = 0x23E383
  static let trackTimestampScale: UInt32 = 0x23314F
  static let codecDelay: UInt32 = 0x56AA

  static let cluster: UInt32 = 0x1F43_B675
  static let timestamp: UInt32 = 0xE7
  static let position: UInt32 = 0xA7
  static let previousSize: UInt32 = 0xAB
  static let simpleBlock: UInt32 = 0xA3
  static let blockGroup: UInt32 = 0xA0
  static let block: UInt32 = 0xA1
  static let blockDuration: UInt32 = 0x9B
  static let reference: UInt32 = 0xFB

  static let cues: UInt32 = 0x1C53_BB6B
  static let cuePoint: UInt32 = 0xBB
  static let cueTime: UInt32 = 0xB3
  static let cueTrackPositions: UInt32 = 0xB7
  static let cueTrack: UInt32 = 0xF7
  static let cueClusterPosition: UInt32 = 0xF1

  /// What ends a cluster of unknown size (RFC 8794, 6.2): an element that stands in a Segment, or beside one.
  static let outside: Set<UInt32> = [
    header, segment, seekHead, info, tracks, chapters, attachments, tags, cluster, cues,
  ]
}
