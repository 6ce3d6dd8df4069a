import CReel
import Glibc

/// Renames the file `old` to `new`, which must not exist, in a single step if the file system supports that. If it
/// does not (NFS, 9p, many in user space), creates a hard link, which replaces nothing either, and removes the old
/// name. If there are no hard links, checks that `new` is free and then renames.
/// - Parameters: The paths of the files, or names in open folders.
/// - Returns: Whether a file that gets the name `new` at the same moment is certain not to be replaced.
/// - Throws: `EEXIST` if a file has the name `new`.
@discardableResult
package func renameWithoutReplacing(
  _ old: UnsafePointer<CChar>, in folder: Int32 = AT_FDCWD, to new: UnsafePointer<CChar>,
  in target: Int32 = AT_FDCWD
) throws(SystemError) -> Bool {
  do throws(SystemError) {
    _ = try retryingInterrupts("rename") { reel_rename_without_replacing(folder, old, target, new) }
    return true
  } catch {
    guard [EINVAL, ENOSYS, EOPNOTSUPP].contains(error.code) else { throw error }
  }
  do throws(SystemError) {
    _ = try retryingInterrupts("link") { linkat(folder, old, target, new, 0) }
    // If this fails, the file still has its new name, which is what matters.
    if unlinkat(folder, old, 0) == 0 { Failpoint.temporaryRemoved.pass() }
    return true
  } catch {
    guard [EPERM, EOPNOTSUPP, ENOSYS, EMLINK].contains(error.code) else { throw error }
  }
  try renameAfterLooking(old, in: folder, to: new, in: target)
  return false
}

/// The last resort of ``renameWithoutReplacing(_:in:to:in:)``.
package func renameAfterLooking(
  _ old: UnsafePointer<CChar>, in folder: Int32, to new: UnsafePointer<CChar>, in target: Int32
) throws(SystemError) {
  var status = stat()
  do throws(SystemError) {
    _ = try retryingInterrupts("stat") { fstatat(target, new, &status, AT_SYMLINK_NOFOLLOW) }
    throw SystemError(code: EEXIST, call: "rename")
  } catch {
    guard error.code == ENOENT else { throw error }
  }
  _ = try retryingInterrupts("rename") { renameat(folder, old, target, new) }
}
