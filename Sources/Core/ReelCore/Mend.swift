/// What can be put right in a file without touching a picture or a sound.
package enum Mend: String, CaseIterable, Hashable, Sendable, Codable {
  /// The index stands before the media data.
  case faststart
  /// One index for all of it, instead of one for each fragment.
  case unfragment
  /// Nothing tells where it was recorded.
  case location
  /// Nothing is left of what makers of devices and programs write for themselves.
  case privateTags = "private"
  /// No Content Credentials are left, which any other mend would make void.
  case credentials
  /// The header states how long it is, and an index lets players seek.
  case duration
  /// No tracks but those of pictures, sound and text.
  case data
  /// A file that was cut off is whole up to its last whole picture.
  case salvage
  /// The angle by which the picture is turned is another.
  case rotation = "rotate"
  /// The shape of the pixels is another.
  case sampleAspectRatio = "sar"
  /// Its name has the extension of what it is. The file itself stays as it is.
  case fileExtension = "extension"
}

/// What is to be mended in a file.
package struct MendOptions: Hashable, Sendable {
  /// What is asked for; ``Mend/rotation`` and ``Mend/sampleAspectRatio`` need their values.
  package var mends: Set<Mend>
  /// Clockwise degrees: 0, 90, 180 or 270.
  package var rotation: Int?
  /// How wide a pixel is against its height.
  package var sampleAspectRatio: SampleAspectRatio?

  /// - Parameters: as the properties; a value brings its mend with it.
  package init(
    _ mends: Set<Mend> = [], rotation: Int? = nil, sampleAspectRatio: SampleAspectRatio? = nil
  ) {
    self.mends = mends
    self.rotation = rotation
    self.sampleAspectRatio = sampleAspectRatio
    if rotation != nil { self.mends.insert(.rotation) }
    if sampleAspectRatio != nil { self.mends.insert(.sampleAspectRatio) }
  }
}

extension MendOptions {
  /// Those of them that a file of these facts may need; whoever mends looks closer.
  /// - Parameter media: nil where nothing is known.
  package func needed(by media: MediaInfo?, at path: SourcePath) -> MendOptions {
    guard let media else { return self }
    var needed = self
    needed.mends = mends.filter { isNeeded($0, by: media, at: path) }
    return needed
  }

  private func isNeeded(_ mend: Mend, by media: MediaInfo, at path: SourcePath) -> Bool {
    let isISO = media.container.isISO
    switch mend {
    case .faststart: return isISO && (media.fastStart != true || mends.contains(.unfragment))
    case .unfragment: return isISO && media.fragmented == true
    case .location: return isISO || media.hasLocation == true
    case .credentials: return media.contentCredentials != false
    case .privateTags, .data: return true
    // Whether there is an index no fact tells.
    case .duration: return media.container.isMatroska
    case .salvage: return media.truncated != false
    case .rotation:
      return media.video != nil
        && (media.video?.rotation ?? 0, media.video?.mirrored ?? false) != (rotation ?? 0, false)
    case .sampleAspectRatio:
      return media.video.map { $0.sampleAspectRatio?.ratio != sampleAspectRatio?.ratio } ?? false
    case .fileExtension:
      return path.claimedExtension.map { media.container.contradicts(claimedExtension: $0) } ?? false
    }
  }
}

/// Mends files, and proves each time that nothing else has become of them.
package protocol MediaMender: Sendable {
  /// Has `file` mended. Blocks.
  /// - Parameter output: an empty file, open for reading and writing, that stays open. What is in it when this throws is of
  ///   no use.
  /// - Throws: `notMendable`, `notProven`, `notWritten`, what is said of files that can't be read, `cancelled`.
  func mend(
    _ file: SourceFile, _ options: MendOptions, into output: Int32, cancellation: CancellationFlag
  ) throws(MendError) -> MendOutcome
}

/// What was done to a file.
package struct MendOutcome: Hashable, Sendable {
  /// Nothing, where there was nothing to mend; nothing was written then.
  package let done: Set<Mend>
  /// Bytes of the mended file.
  package let size: Int64
  /// Packets of the streams of video that are in it.
  package let pictures: Int64
  /// When the last of its pictures and sounds ends, in seconds, by a reading of all packets; nil where none has a time.
  package let end: Double?

  /// - Parameters: as the properties.
  package init(done: Set<Mend>, size: Int64, pictures: Int64, end: Double?) {
    self.done = done
    self.size = size
    self.pictures = pictures
    self.end = end
  }
}

/// What proves that a stream is the same in two files: how many packets it has, and a digest of its parameters and of
/// each packet's times, flags and bytes, in their order.
package struct StreamDigest: Hashable, Sendable {
  /// What the stream holds.
  package enum Kind: CaseIterable, Sendable {
    case video, audio, subtitle, data, attachment, unknown
  }
  /// What of a file counts.
  package struct Options: Hashable, Sendable {
    /// Which streams do not count.
    package enum Exclusion: CaseIterable, Sendable {
      case nothing
      /// Data, but for time codes.
      case timedMetadata
      case data
    }
    package let exclusion: Exclusion
    /// Of each stream that counts, only so many packets do; nil for all.
    package let most: [Int64]?
    /// Whether times count from the first packet of each stream on, and not how long a packet lasts beside when it and
    /// the next one begin.
    package let mediaTimeOnly: Bool
    /// Whether it counts how pictures are turned and what shape their pixels have.
    package let shapeCounts: Bool
    /// Whether all of a cover counts, and attached Content Credentials do; otherwise only the pixels of covers.
    package let metadataCounts: Bool
    /// The same for files to be compared, and unknown to whoever made them: the digest (XXH3) is not one that withstands
    /// those who know it.
    package let seed: UInt64

    /// - Parameters: as the properties.
    package init(
      exclusion: Exclusion, most: [Int64]?, mediaTimeOnly: Bool, shapeCounts: Bool,
      metadataCounts: Bool, seed: UInt64
    ) {
      self.exclusion = exclusion
      self.most = most
      self.mediaTimeOnly = mediaTimeOnly
      self.shapeCounts = shapeCounts
      self.metadataCounts = metadataCounts
      self.seed = seed
    }
  }
  /// Bytes of a digest.
  package static let length = 16

  package let kind: Kind
  package let packets: Int64
  /// ``length`` bytes.
  package let digest: [UInt8]
  /// When the first packet to be shown is shown, in nanoseconds; nil where no packet has a time.
  package let start: Int64?
  /// When the last one ends that is shown, in nanoseconds. One that does not say how long it lasts is taken to last as
  /// long as the one before it.
  package let end: Int64?

  /// - Parameters: as the properties.
  package init(kind: Kind, packets: Int64, digest: [UInt8], start: Int64?, end: Int64?) {
    self.kind = kind
    self.packets = packets
    self.digest = digest
    self.start = start
    self.end = end
  }

  /// Whether the packets of both are the same.
  package func holdsTheSame(as other: StreamDigest) -> Bool {
    (kind, packets, digest) == (other.kind, other.packets, other.digest)
  }
}

/// Why a file was not mended. One file's end, except for the codes of ``PosterError/Code/isInstallation``.
package struct MendError: ReelError, Hashable, Sendable {
  /// For programs.
  package enum Code: String, Sendable, CaseIterable {
    /// What was asked for can't be done to such a file.
    case notMendable
    /// The mended file does not hold the same as the source, or not what was asked for.
    case notProven
    /// The disk is full, or the file could not be written.
    case notWritten
    /// Something is there already that is not replaced.
    case nameTaken
    /// The name of the mended file says that it is what it is not.
    case nameRefused
    /// As of a file that can't be read.
    case notMedia, playlist, unsupported, truncated, indexMissing, corrupt, empty, lfsPointer, externalMedia
    /// As of a file that can't be read.
    case sourceChanged, unreadable
    /// As of a file that can't be read.
    case timeout, memoryLimit, crashed, sandboxViolation, implausible
    /// As of a file that can't be read; no other file will fare better.
    case workerMissing, workerBroken, isolationUnavailable
    /// As of a file that can't be read; it says nothing of the file.
    case tooManyOpenFiles, noReader
    /// The run was cancelled.
    case cancelled

    /// Whether no other file will fare better: the run ends.
    package var isInstallation: Bool { ProbeError.Code(rawValue: rawValue)?.isInstallation ?? false }
  }
  package let code: Code
  /// What went wrong and what to do, without the file's name; one sentence for people.
  package var message: String { text.description }
  /// ``message``, with the settings that it names as values.
  package let text: ErrorMessage
  /// What would help, where that is known: to be mended so as well.
  package let remedy: Mend?

  /// - Parameter text: follows the file's name when it is shown.
  package init(_ code: Code, _ text: ErrorMessage, remedy: Mend? = nil) {
    self.code = code
    self.text = text
    self.remedy = remedy
  }

  /// An error with a message that is text and names no setting.
  @_disfavoredOverload
  package init(_ code: Code, _ message: String, remedy: Mend? = nil) {
    self.init(code, ErrorMessage(message), remedy: remedy)
  }

  /// The same as it is said of a file that can't be read.
  package init(_ error: ProbeError) {
    self.init(Code(rawValue: error.code.rawValue) ?? .unreadable, error.text)
  }
}
