"""PyAV as its users call it: one process reads the facts of the video streams of every file in the arguments."""

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
