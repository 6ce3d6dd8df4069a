import Foundation
import ReelModel
import ReelUploading

/// Where an address becomes an uploader: the one place that knows every kind of store.
struct Destinations: Sendable {
  let settings: Settings
  /// The library's folder.
  let library: String

  /// The uploader for `--to`, and the folder that it stores in, if it is one.
  /// - Throws: ``CommandFailure``.
  func uploader() async throws -> (uploader: any Uploader, folder: String?) {
    let mode = try mode(settings.mode)
    guard let to = settings.to else {
      let media = library + "/media"
      return (
        FolderUploader(
          root: media, temporaries: library + "/tmp", publicBaseURL: settings.publicBaseURL, mode: mode),
        media
      )
    }
    switch try address(to) {
    case .folder(let root):
      return (FolderUploader(root: root, publicBaseURL: settings.publicBaseURL, mode: mode), root)
    case .s3(let bucket): return (try await s3(bucket), nil)
    }
  }

  private func address(_ text: String) throws -> DestinationAddress {
    do throws(DestinationAddressError) {
      return try DestinationAddress(parsing: text)
    } catch {
      throw CommandFailure(.usage, error.message)
    }
  }

  private func mode(_ text: String?) throws -> FolderModes {
    guard let text else { return .private }
    guard let mode = UInt32(text, radix: 8), mode <= 0o777, mode & 0o600 == 0o600 else {
      throw CommandFailure(
        .couldNotRun,
        "the mode \"\(text)\" can't be used; it is octal, and the owner reads and writes: 600, 640, 644")
    }
    return FolderModes(file: mode)
  }
}
