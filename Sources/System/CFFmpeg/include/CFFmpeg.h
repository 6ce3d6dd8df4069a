// FFmpeg for Swift: the libraries' headers, names for the macros that Swift does not import, and one function for each
// thing that differs between FFmpeg 5.1 and 9. No other module knows FFmpeg's version.
#pragma once

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/avutil.h>
#include <libavutil/display.h>
#include <libavutil/imgutils.h>
#include <libavutil/mem.h>
#include <libavutil/murmur3.h>
#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>
#include <stdbool.h>
#include <stdint.h>

/// AV_NOPTS_VALUE: the time is unknown.
static const int64_t reel_no_time = AV_NOPTS_VALUE;
/// AV_TIME_BASE: the ticks per second of the times of a whole file.
static const int64_t reel_time_base = AV_TIME_BASE;

static const int reel_error_eof = AVERROR_EOF;
static const int reel_error_exit = AVERROR_EXIT;
static const int reel_error_no_memory = AVERROR(ENOMEM);
static const int reel_error_io = AVERROR(EIO);
static const int reel_error_argument = AVERROR(EINVAL);

/// AVSEEK_SIZE and AVSEEK_FORCE: what a seek callback may be asked besides SEEK_SET, SEEK_CUR and SEEK_END.
static const int reel_seek_size = AVSEEK_SIZE;
static const int reel_seek_force = AVSEEK_FORCE;

/// Pixel formats of more than 8 bits, in this machine's byte order.
static const enum AVPixelFormat reel_yuv420p10 = AV_PIX_FMT_YUV420P10;
static const enum AVPixelFormat reel_yuv422p10 = AV_PIX_FMT_YUV422P10;
static const enum AVPixelFormat reel_yuv444p10 = AV_PIX_FMT_YUV444P10;
static const enum AVPixelFormat reel_yuv422p12 = AV_PIX_FMT_YUV422P12;
static const enum AVPixelFormat reel_yuv444p12 = AV_PIX_FMT_YUV444P12;
static const enum AVPixelFormat reel_yuva422p10 = AV_PIX_FMT_YUVA422P10;
static const enum AVPixelFormat reel_yuva444p10 = AV_PIX_FMT_YUVA444P10;
static const enum AVPixelFormat reel_yuva422p12 = AV_PIX_FMT_YUVA422P12;
static const enum AVPixelFormat reel_yuva444p12 = AV_PIX_FMT_YUVA444P12;

/// Discards FFmpeg's messages from now on, except for the last error of this thread, which is kept.
void reel_log_capture(void);
/// The last error line since `reel_log_capture` on this thread: printable ASCII, at most 200 characters, empty
/// when there was none. Valid until the next call into FFmpeg on this thread.
const char *reel_log_last_error(void);
/// Whether FFmpeg refused to create a stream because the file has more than `max_streams`. It reports that as ENOMEM,
/// though no memory is short.
bool reel_log_met_stream_limit(void);
/// Whether FFmpeg left out a QuickTime track because its samples are in another file.
bool reel_log_met_external_track(void);

/// Makes every attempt of a demuxer to open another file or address fail.
void reel_forbid_opening(AVFormatContext *context);

/// The stream's side data of the given type, or NULL with `*size` set to 0. It lives as long as the stream.
const uint8_t *reel_side_data(const AVStream *stream, enum AVPacketSideDataType type, size_t *size);

/// av_parser_init: a parser of the codec's bit stream, or NULL. Up to FFmpeg 7 it takes the codec as an int.
AVCodecParserContext *reel_parser(enum AVCodecID codec);

/// The number of audio channels; 0 if unknown.
int reel_channels(const AVCodecParameters *parameters);

/// The Dolby Vision profile of the stream's configuration record, or -1 when it has none.
int reel_dolby_vision_profile(const AVStream *stream);

/// A summary of a stream's index, made in one pass: sample tables have hundreds of thousands of entries.
typedef struct ReelIndexSummary {
  int32_t entries;
  /// The largest `pos + size`; 0 without entries.
  int64_t furthest_byte;
  /// The smallest and the largest time, in the stream's time base; meaningless without entries.
  int64_t first_time;
  int64_t last_time;
  /// The largest time below `last_time`; equal to it if there is none.
  int64_t time_before_last;
} ReelIndexSummary;

ReelIndexSummary reel_index_summary(AVStream *stream);

/// The time of the earliest entry that is not completely within the first `size` bytes of the file, in the stream's
/// time base; INT64_MAX if all are.
int64_t reel_index_first_time_beyond(AVStream *stream, int64_t size);

/// A sample in a stream's index.
typedef struct ReelIndexEntry {
  /// In the file.
  int64_t position;
  /// In the stream's time base.
  int64_t time;
  /// In bytes.
  int32_t size;
} ReelIndexEntry;

/// The entry with the given number, which counts from 0. If there is none, its position is -1 and its size 0.
ReelIndexEntry reel_index_entry(AVStream *stream, int number);

/// The usual step between two neighbors in a stream's index, in its time base: the median of at most a thousand steps,
/// spread evenly. 0 if there are fewer than three entries.
int64_t reel_index_ordinary_step(AVStream *stream);

/// AV_PIX_FMT_RGB48 and AV_PIX_FMT_RGBA64, in this machine's byte order.
static const enum AVPixelFormat reel_rgb48 = AV_PIX_FMT_RGB48;
static const enum AVPixelFormat reel_rgba64 = AV_PIX_FMT_RGBA64;

/// The picture that is to be made from a frame.
typedef struct ReelScaling {
  int width;
  int height;
  enum AVPixelFormat format;
  /// The matrix of the frame's colours (SWS_CS_…), and whether they use the full range.
  int matrix;
  bool full_range;
  /// Only every `rows_apart`th row of the frame is used: 2 for one field of it.
  int rows_apart;
} ReelScaling;

/// Scales a frame with libswscale into `target`, whose rows have `row_bytes` bytes. A few more bytes may be written
/// after the last row. Returns whether libswscale accepts the frame. Up to FFmpeg 7.0 its context is an opaque type.
bool reel_scale(const AVFrame *frame, const ReelScaling *scaling, uint8_t *target, int row_bytes);

/// FF_QP2LAMBDA: the factor that turns a quantiser into a quality.
static const int reel_quality_unit = FF_QP2LAMBDA;

/// The profiles that Reel's readers of headers name. From FFmpeg 6.1 on they are called AV_PROFILE_…, and 8 has no
/// other names.
extern const int reel_profile_unknown;
extern const int reel_profile_prores_proxy;
extern const int reel_profile_prores_lt;
extern const int reel_profile_prores_standard;
extern const int reel_profile_prores_hq;
extern const int reel_profile_prores_4444;
extern const int reel_profile_prores_xq;
extern const int reel_profile_dnxhd;
extern const int reel_profile_dnxhr_lb;
extern const int reel_profile_dnxhr_sq;
extern const int reel_profile_dnxhr_hq;
extern const int reel_profile_dnxhr_hqx;

/// Whether the two fields of the frame were taken at different times.
bool reel_is_interlaced(const AVFrame *frame);
/// Whether the decoder says that the frame is damaged.
bool reel_is_damaged(const AVFrame *frame);

/// From FFmpeg 7.1 on, decoders apply the cropping that a container states (Matroska's cropping, the clean aperture of
/// MP4). This removes it from the stream's parameters, so that pictures come whole from every version.
void reel_ignore_cropping(AVStream *stream);
