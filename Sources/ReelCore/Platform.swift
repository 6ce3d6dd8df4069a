#if !os(Linux)
  #error("Reel runs on Linux: it confines its probe with Landlock and seccomp, which exist nowhere else.")
#endif
