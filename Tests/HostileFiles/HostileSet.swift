import Foundation
import Glibc

/// All the hostile files.
public struct HostileSet: Sendable {
  /// In the order in which they are made.
  public let files: [HostileFile]

  /// The name of the file that the playlists refer to, which nothing may open.
  public static let secret = Playlists.secret

  /// - Parameter samples: the project's `Samples` folder.
  public init(samples folder: URL) throws {
    let samples = try Samples(in: folder)
    let video = samples.bytes("faststart.mp4")
    let movie = Self.short(ISOBox.read(samples.bytes("moov-at-end.mp4")))
    files =
      SampleTableBombs(movie: movie).files + EditListBombs(movie: movie).files
      + CompressedHeaders(movie: movie).files + ManyStreams(movie: movie).files + Nesting(movie: movie).files
      + Playlists(video: video, stream: samples.bytes("transport.ts")).files + Names(video: video).files
      + SpecialFiles(isSuperuser: geteuid() == 0).files + SparseFiles(samples: samples).files
      + Injections(movie: ISOBox.read(samples.bytes("moov-at-end.mp4"))).files + HugeTags(movie: movie).files
      + Absurdities(movie: movie).files + Damages(samples: samples).files
      + OtherFiles(movie: movie).files
  }

  /// The files of these groups.
  public func groups(_ names: String...) -> [HostileFile] {
    files.filter { names.contains($0.group) }
  }

  /// The movie with one track, the video, and little of its media: a kilobyte or two.
  private static func short(_ movie: [ISOBox]) -> [ISOBox] {
    movie.changing("mdat") { $0.payload = Array($0.payload.prefix(256)) }
      .changing("moov") { moov in
        let tracks = moov.children.filter { $0.type == "trak" }
        moov.children.removeAll { $0.type == "trak" || $0.type == "udta" }
        moov.children += tracks.prefix(1)
      }
  }
}
