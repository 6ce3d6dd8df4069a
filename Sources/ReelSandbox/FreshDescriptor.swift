import Glibc
import ReelModel
import ReelSystem

extension Descriptor {
  /// The same file, opened anew, so that nobody else shares its offset or its flags.
  ///
  /// A duplicate, which shares both, only where there is no `/proc`.
  /// - Throws: `unreadable`, `tooManyOpenFiles`, `noReader`.
  static func reopening(_ file: any SourceHandle) throws(ProbeError) -> Descriptor {
    guard let shared = file.descriptor else {
      throw ProbeError(.unreadable, "it is no file of this machine that could be handed to the reader")
    }
    let path = "/proc/self/fd/\(shared)"
    do throws(SystemError) {
      let fresh = try retryingInterrupts("open") { open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY) }
      return Descriptor(adopting: fresh)
    } catch {
      if let shortage = ProbeError.shortage(error) { throw shortage }
      guard error.code == ENOENT, access("/proc/self/fd", F_OK) != 0 else {
        throw ProbeError(.unreadable, "it could not be opened for the reader (\(error.reason))")
      }
      return try duplicate(of: shared)
    }
  }

  private static func duplicate(of shared: Int32) throws(ProbeError) -> Descriptor {
    do throws(SystemError) {
      return Descriptor(adopting: try retryingInterrupts("fcntl") { fcntl(shared, F_DUPFD_CLOEXEC, 3) })
    } catch {
      if let shortage = ProbeError.shortage(error) { throw shortage }
      throw ProbeError(.unreadable, "it could not be handed to the reader (\(error.reason))")
    }
  }
}
