/// Elements of Matroska that are searched for or written, with their markers (RFC 8794, 11.2 and 11.3; RFC 9559, 5).
package enum MatroskaID {
  package static let header: UInt32 = 0x1A45_DFA3
  package static let docType: UInt32 = 0x4282
  package static let longestID: UInt32 = 0x42F2
  package static let longestSize: UInt32 = 0x42F3
  package static let void: UInt32 = 0xEC
  package static let checksum: UInt32 = 0xBF

  package static let segment: UInt32 = 0x1853_8067
  package static let seekHead: UInt32 = 0x114D_9B74
  package static let seek: UInt32 = 0x4DBB
  package static let seekID: UInt32 = 0x53AB
  package static let seekPosition: UInt32 = 0x53AC
  package static let info: UInt32 = 0x1549_A966
  package static let segmentUUID: UInt32 = 0x73A4
  package static let timestampScale: UInt32 = 0x2AD7B1
  package static let duration: UInt32 = 0x4489
  package static let tracks: UInt32 = 0x1654_AE6B
  package static let chapters: UInt32 = 0x1043_A770
  package static let attachments: UInt32 = 0x1941_A469
  package static let tags: UInt32 = 0x1254_C367

  package static let edition: UInt32 = 0x45B9
  package static let chapter: UInt32 = 0xB6
  package static let chapterSegmentUUID: UInt32 = 0x6E67
  static let editionFlagDefault: UInt32 = 0x45DB
  static let editionFlagOrdered: UInt32 = 0x45DD
  static let chapterStart: UInt32 = 0x91
  static let chapterEnd: UInt32 = 0x92
  static let chapterEnabled: UInt32 = 0x4598

  package static let attachedFile: UInt32 = 0x61A7
  package static let fileMediaType: UInt32 = 0x4660
  package static let fileData: UInt32 = 0x465C

  package static let entry: UInt32 = 0xAE
  package static let trackNumber: UInt32 = 0xD7
  package static let trackType: UInt32 = 0x83
  package static let codec: UInt32 = 0x86
  package static let video: UInt32 = 0xE0
  package static let defaultDuration: UInt32 = 0x23E383
  package static let trackTimestampScale: UInt32 = 0x23314F
  package static let codecDelay: UInt32 = 0x56AA
  package static let contentEncodings: UInt32 = 0x6D80

  package static let cluster: UInt32 = 0x1F43_B675
  package static let timestamp: UInt32 = 0xE7
  package static let position: UInt32 = 0xA7
  package static let previousSize: UInt32 = 0xAB
  package static let simpleBlock: UInt32 = 0xA3
  package static let blockGroup: UInt32 = 0xA0
  package static let block: UInt32 = 0xA1
  package static let blockDuration: UInt32 = 0x9B
  static let silentTracks: UInt32 = 0x5854
  static let encryptedBlock: UInt32 = 0xAF
  package static let reference: UInt32 = 0xFB

  package static let cues: UInt32 = 0x1C53_BB6B
  package static let cuePoint: UInt32 = 0xBB
  package static let cueTime: UInt32 = 0xB3
  package static let cueTrackPositions: UInt32 = 0xB7
  package static let cueTrack: UInt32 = 0xF7
  package static let cueClusterPosition: UInt32 = 0xF1

  /// Elements that name files before or after this one, or the family to which they belong (5.1.2.3 to 5.1.2.7).
  package static let linkedFiles: Set<UInt32> = [0x3CB923, 0x3C83AB, 0x3EB923, 0x3E83BB, 0x4444]

  /// Elements that hold elements, of those outside of clusters whose contents players read: of Tracks, Chapters,
  /// Attachments and Tags (5.1.4, 5.1.6 to 5.1.8).
  package static let nesting: Set<UInt32> = [
    tracks, entry, 0x6624, 0x41E4, video, 0x55B0, 0x55D0, 0x7670, 0xE1, 0xE2, 0xE3, 0xE4, 0xE9,
    contentEncodings, 0x6240, 0x5034, 0x5035, 0x47E7,
    chapters, edition, 0x4520, chapter, 0x80, 0x8F, 0x6944, 0x6911,
    attachments, attachedFile,
    tags, 0x7373, 0x63C0, 0x67C8,
  ]

  /// Elements that end a cluster of unknown size (RFC 8794, 6.2): those within a Segment, or beside one.
  package static let outside: Set<UInt32> = [
    header, segment, seekHead, info, tracks, chapters, attachments, tags, cluster, cues,
  ]
  /// Elements that may be in a Segment, in a Cluster (5.1.3), and in and behind one of unknown size.
  static let inSegment = outside.union([void, checksum])
  static let inCluster: Set<UInt32> = [
    timestamp, silentTracks, position, previousSize, simpleBlock, blockGroup, encryptedBlock, void, checksum,
  ]
  static let inEndlessCluster = inCluster.union(outside)
}
