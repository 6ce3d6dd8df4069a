import CReel
import Glibc

/// Gives the file `old` the name `new`, which no file has: in one step where the file system knows that. Where it does not
/// (NFS, 9p, many in user space) a second name takes its place, which replaces nothing either, and the first one goes; where
/// there are no second names, a look comes before the rename.
/// - Throws: `EEXIST` where a file has the name.
package func renameWithoutReplacing(
  _ old: UnsafePointer<CChar>, to new: UnsafePointer<CChar>
) throws(SystemError) {
  do throws(SystemError) {
    _ = try retryingInterrupts("rename") { reel_rename_without_replacing(AT_FDCWD, old, AT_FDCWD, new) }
    return
  } catch {
    guard [EINVAL, ENOSYS, EOPNOTSUPP].contains(error.code) else { throw error }
  }
  do throws(SystemError) {
    _ = try retryingInterrupts("link") { linkat(AT_FDCWD, old, AT_FDCWD, new, 0) }
    // It has the new one, which is what counts.
    unlink(old)
    return
  } catch {
    guard [EPERM, EOPNOTSUPP, ENOSYS, EMLINK].contains(error.code) else { throw error }
  }
  guard faccessat(AT_FDCWD, new, F_OK, AT_SYMLINK_NOFOLLOW) != 0 else {
    throw SystemError(code: EEXIST, call: "rename")
  }
  _ = try retryingInterrupts("rename") { rename(old, new) }
}
