"""PyAV as its users call it: one process, every file of the arguments, the facts of the first video stream."""

import sys

import av

read = 0
for path in sys.argv[1:]:
    try:
        with av.open(path) as container:
            for stream in container.streams.video:
                _ = stream.codec_context.width, stream.codec_context.height, stream.average_rate
            _ = container.duration
            read += 1
    except (av.FFmpegError, OSError):
        pass
print(read, "of", len(sys.argv) - 1)
