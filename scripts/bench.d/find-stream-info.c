// The yardstick: what FFmpeg's libraries cost without a tool around them. One process calls avformat_open_input and
// avformat_find_stream_info for every file in the arguments, and prints only a count.
#include <libavformat/avformat.h>
#include <stdio.h>

int main(int count, char **files) {
  int read = 0;
  av_log_set_level(AV_LOG_QUIET);
  for (int i = 1; i < count; i++) {
    AVFormatContext *context = NULL;
    if (avformat_open_input(&context, files[i], NULL, NULL) < 0) continue;
    if (avformat_find_stream_info(context, NULL) >= 0) read++;
    avformat_close_input(&context);
  }
  printf("%d of %d\n", read, count - 1);
  return 0;
}
