#include "CFFmpeg.h"

#include <libavutil/dovi_meta.h>
#include <libavutil/log.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// FFmpeg's log callback is global to the process and carries no pointer of ours. Keeping one line per thread separates
// readings on different threads.
static _Thread_local char last_error[201];
static _Thread_local bool met_stream_limit;
static _Thread_local bool met_external_track;

static void keep_printable(char *line) {
  size_t kept = 0;
  for (size_t i = 0; line[i] != 0; i++) {
    if (line[i] >= 0x20 && line[i] < 0x7f) line[kept++] = line[i];
  }
  line[kept] = 0;
}

static void keep_error(void *source, int level, const char *format, va_list arguments) {
  (void)source;
  if (strncmp(format, "Skipped opening external track", 30) == 0) met_external_track = true;
  if (level > AV_LOG_ERROR) return;
  vsnprintf(last_error, sizeof last_error, format, arguments);
  keep_printable(last_error);
  if (strstr(last_error, "max_streams") != NULL) met_stream_limit = true;
}

void reel_log_capture(void) {
  last_error[0] = 0;
  met_stream_limit = false;
  met_external_track = false;
  av_log_set_callback(keep_error);
}

const char *reel_log_last_error(void) { return last_error; }

bool reel_log_met_stream_limit(void) { return met_stream_limit; }

bool reel_log_met_external_track(void) { return met_external_track; }

static int refuse_to_open(AVFormatContext *context, AVIOContext **io, const char *url, int flags,
                          AVDictionary **options) {
  (void)context, (void)url, (void)flags, (void)options;
  *io = NULL;
  return AVERROR(EACCES);
}

void reel_forbid_opening(AVFormatContext *context) { context->io_open = refuse_to_open; }

const uint8_t *reel_side_data(const AVStream *stream, enum AVPacketSideDataType type, size_t *size) {
  *size = 0;
// FFmpeg 6.1 moved a stream's side data into its codec parameters.
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(60, 31, 100)
  const AVPacketSideData *found = av_packet_side_data_get(
      stream->codecpar->coded_side_data, stream->codecpar->nb_coded_side_data, type);
  if (found == NULL) return NULL;
  *size = found->size;
  return found->data;
#else
  return av_stream_get_side_data(stream, type, size);
#endif
}

void reel_ignore_cropping(AVStream *stream) {
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(61, 19, 100)
  av_packet_side_data_remove(stream->codecpar->coded_side_data, &stream->codecpar->nb_coded_side_data,
                             AV_PKT_DATA_FRAME_CROPPING);
#else
  (void)stream;
#endif
}

#ifdef AV_PROFILE_UNKNOWN
#define PROFILE(name) AV_PROFILE_##name
#else
#define PROFILE(name) FF_PROFILE_##name
#endif
const int reel_profile_unknown = PROFILE(UNKNOWN);
const int reel_profile_prores_proxy = PROFILE(PRORES_PROXY);
const int reel_profile_prores_lt = PROFILE(PRORES_LT);
const int reel_profile_prores_standard = PROFILE(PRORES_STANDARD);
const int reel_profile_prores_hq = PROFILE(PRORES_HQ);
const int reel_profile_prores_4444 = PROFILE(PRORES_4444);
const int reel_profile_prores_xq = PROFILE(PRORES_XQ);
const int reel_profile_dnxhd = PROFILE(DNXHD);
const int reel_profile_dnxhr_lb = PROFILE(DNXHR_LB);
const int reel_profile_dnxhr_sq = PROFILE(DNXHR_SQ);
const int reel_profile_dnxhr_hq = PROFILE(DNXHR_HQ);
const int reel_profile_dnxhr_hqx = PROFILE(DNXHR_HQX);
#undef PROFILE

static struct SwsContext *scaler(const AVFrame *frame, int rows, const ReelScaling *scaling) {
  // When shrinking, every pixel counts. Not SWS_FAST_BILINEAR, which generates machine code and runs it.
  bool shrinks = frame->width >= scaling->width && rows >= scaling->height;
  int flags = shrinks ? SWS_AREA : SWS_BICUBIC;
  // FFmpeg 7.1 leaves out the last columns of some widths when it only converts a picture of the same size.
  if (frame->width == scaling->width && rows == scaling->height) flags |= SWS_ACCURATE_RND;
  struct SwsContext *context =
      sws_getContext(frame->width, rows, (enum AVPixelFormat)frame->format, scaling->width, scaling->height,
                     scaling->format, flags, NULL, NULL, NULL);
  if (context == NULL) return NULL;
  // This fails if no colours are converted, and then there is nothing to set. The same matrix is given twice, so that
  // what is red, green and blue already is converted back and forth.
  const int *matrix = sws_getCoefficients(scaling->matrix);
  sws_setColorspaceDetails(context, matrix, scaling->full_range, matrix, 1, 0, 1 << 16, 1 << 16);
  return context;
}

bool reel_scale(const AVFrame *frame, const ReelScaling *scaling, uint8_t *target, int row_bytes) {
  int rows = frame->height / scaling->rows_apart;
  struct SwsContext *context = scaler(frame, rows, scaling);
  if (context == NULL) return false;
  const uint8_t *source[4];
  int steps[4];
  for (int plane = 0; plane < 4; plane++) {
    source[plane] = frame->data[plane];
    steps[plane] = frame->linesize[plane] * scaling->rows_apart;
  }
  int count = sws_scale(context, source, steps, 0, rows, (uint8_t *const[4]){target}, (const int[4]){row_bytes});
  sws_freeContext(context);
  return count == scaling->height;
}

bool reel_is_interlaced(const AVFrame *frame) {
// FFmpeg 6.1 moved this into the flags; 8 drops the field.
#ifdef AV_FRAME_FLAG_INTERLACED
  return frame->flags & AV_FRAME_FLAG_INTERLACED;
#else
  return frame->interlaced_frame;
#endif
}

bool reel_is_damaged(const AVFrame *frame) {
  return frame->decode_error_flags != 0 || frame->flags & AV_FRAME_FLAG_CORRUPT;
}

AVCodecParserContext *reel_parser(enum AVCodecID codec) { return av_parser_init(codec); }

int reel_channels(const AVCodecParameters *parameters) { return parameters->ch_layout.nb_channels; }

int reel_dolby_vision_profile(const AVStream *stream) {
  size_t size = 0;
  const uint8_t *data = reel_side_data(stream, AV_PKT_DATA_DOVI_CONF, &size);
  if (data == NULL || size < sizeof(AVDOVIDecoderConfigurationRecord)) return -1;
  return ((const AVDOVIDecoderConfigurationRecord *)data)->dv_profile;
}

static void note_time(ReelIndexSummary *summary, int64_t time, bool first) {
  if (first) {
    summary->first_time = summary->last_time = summary->time_before_last = time;
    return;
  }
  if (time < summary->first_time) summary->first_time = time;
  if (time > summary->last_time) {
    summary->time_before_last = summary->last_time;
    summary->last_time = time;
  } else if (time < summary->last_time &&
             (time > summary->time_before_last || summary->time_before_last == summary->last_time)) {
    summary->time_before_last = time;
  }
}

ReelIndexSummary reel_index_summary(AVStream *stream) {
  ReelIndexSummary summary = {0};
  summary.entries = avformat_index_get_entries_count(stream);
  for (int i = 0; i < summary.entries; i++) {
    const AVIndexEntry *entry = avformat_index_get_entry(stream, i);
    if (entry->pos >= 0 && entry->pos <= INT64_MAX - entry->size &&
        entry->pos + entry->size > summary.furthest_byte)
      summary.furthest_byte = entry->pos + entry->size;
    note_time(&summary, entry->timestamp, i == 0);
  }
  return summary;
}

int64_t reel_index_first_time_beyond(AVStream *stream, int64_t size) {
  int64_t earliest = INT64_MAX;
  int entries = avformat_index_get_entries_count(stream);
  for (int i = 0; i < entries; i++) {
    const AVIndexEntry *entry = avformat_index_get_entry(stream, i);
    bool is_there = entry->pos >= 0 && entry->pos <= size && entry->size <= size - entry->pos;
    if (!is_there && entry->timestamp < earliest) earliest = entry->timestamp;
  }
  return earliest;
}

ReelIndexEntry reel_index_entry(AVStream *stream, int number) {
  const AVIndexEntry *entry = avformat_index_get_entry(stream, number);
  if (!entry) return (ReelIndexEntry){.position = -1};
  return (ReelIndexEntry){.position = entry->pos, .time = entry->timestamp, .size = entry->size};
}

static int compare_steps(const void *left, const void *right) {
  int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
  return (a > b) - (a < b);
}

int64_t reel_index_ordinary_step(AVStream *stream) {
  enum { most = 1000 };
  int64_t steps[most];
  int entries = avformat_index_get_entries_count(stream);
  if (entries < 3) return 0;
  int count = entries - 1 < most ? entries - 1 : most;
  for (int i = 0; i < count; i++) {
    int at = (int)((int64_t)i * (entries - 1) / count);
    const AVIndexEntry *entry = avformat_index_get_entry(stream, at);
    const AVIndexEntry *next = avformat_index_get_entry(stream, at + 1);
    steps[i] = (int64_t)((uint64_t)next->timestamp - (uint64_t)entry->timestamp);
  }
  qsort(steps, (size_t)count, sizeof steps[0], compare_steps);
  return steps[count / 2];
}
