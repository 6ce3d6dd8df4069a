// FFmpeg for Swift: the libraries' headers, names for the macros that Swift does not import, and one function
// for each thing that differs between FFmpeg 5.1 and 8. No other module knows FFmpeg's version.
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
/// AV_TIME_BASE: ticks a second of a whole file's times.
static const int64_t reel_time_base = AV_TIME_BASE;

static const int reel_error_eof = AVERROR_EOF;
static const int reel_error_exit = AVERROR_EXIT;
static const int reel_error_no_memory = AVERROR(ENOMEM);
static const int reel_error_io = AVERROR(EIO);
static const int reel_error_argument = AVERROR(EINVAL);

/// AVSEEK_SIZE and AVSEEK_FORCE: what a seek callback is asked beyond SEEK_SET, SEEK_CUR and SEEK_END.
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

/// From now on FFmpeg's messages go nowhere, but for the last error of this thread, which is kept.
void reel_log_capture(void);
/// The last error line since `reel_log_capture` on this thread: printable ASCII, at most 200 characters, empty
/// when there was none. Valid until the next call into FFmpeg on this thread.
const char *reel_log_last_error(void);
/// Whether FFmpeg refused to make a stream because the file has more than `max_streams`. That reports itself
/// as ENOMEM, and is no memory shortage.
bool reel_log_met_stream_limit(void);
/// Whether FFmpeg left a track of QuickTime's out because its samples lie in another file.
bool reel_log_met_external_track(void);

/// Makes every attempt of a demuxer to open another file or address fail.
void reel_forbid_opening(AVFormatContext *context);

/// The stream's side data of a kind, or NULL; `*size` is 0 then. It lives as long as the stream.
const uint8_t *reel_side_data(const AVStream *stream, enum AVPacketSideDataType type, size_t *size);

/// av_parser_init: a parser of the codec's bitstream, or NULL. Up to FFmpeg 7 it takes the codec as an int.
AVCodecParserContext *reel_parser(enum AVCodecID codec);

/// Audio channels; 0 when unknown.
int reel_channels(const AVCodecParameters *parameters);

/// The Dolby Vision profile of the stream's configuration record, or -1 when it has none.
int reel_dolby_vision_profile(const AVStream *stream);

/// What a stream's index says, seen at once: sample tables have hundreds of thousands of entries.
typedef struct ReelIndexSummary {
  int32_t entries;
  /// The largest `pos + size`; 0 without entries.
  int64_t furthest_byte;
  /// The smallest and the largest time, in the stream's time base; meaningless without entries.
  int64_t first_time;
  int64_t last_time;
  /// The largest time below `last_time`; the same as it when there is none.
  int64_t time_before_last;
} ReelIndexSummary;

ReelIndexSummary reel_index_summary(AVStream *stream);

/// The time of the earliest entry that does not lie whole within the first `size` bytes of the file, in the stream's
/// time base; INT64_MAX when all do.
int64_t reel_index_first_time_beyond(AVStream *stream, int64_t size);

/// A sample by a stream's index.
typedef struct ReelIndexEntry {
  /// In the file.
  int64_t position;
  /// In the stream's time base.
  int64_t time;
  /// In bytes.
  int32_t size;
} ReelIndexEntry;

/// The entry with a number from 0 on; one without bytes where there is none.
ReelIndexEntry reel_index_entry(AVStream *stream, int number);

/// The ordinary step between two neighbours in a stream's index, in its time base: the median of at most a
/// thousand of them, spread evenly. 0 when there are fewer than three entries.
int64_t reel_index_ordinary_step(AVStream *stream);

/// AV_PIX_FMT_RGB48 and AV_PIX_FMT_RGBA64, in this machine's byte order.
static const enum AVPixelFormat reel_rgb48 = AV_PIX_FMT_RGB48;
static const enum AVPixelFormat reel_rgba64 = AV_PIX_FMT_RGBA64;

/// The picture that is to be made of a frame.
typedef struct ReelScaling {
  int width;
  int height;
  enum AVPixelFormat format;
  /// Of the frame's colours: SWS_CS_…, and whether they use all of each number.
  int matrix;
  bool full_range;
  /// Takes every `rows_apart`th row of the frame: 2 for one field of it.
  int rows_apart;
} ReelScaling;

/// Scales a frame by libswscale into `target`, whose rows have `row_bytes` bytes; a few more may be written behind the
/// last one. Whether libswscale takes the frame. Up to FFmpeg 7.0 its context is an opaque type.
bool reel_scale(const AVFrame *frame, const ReelScaling *scaling, uint8_t *target, int row_bytes);

/// FF_QP2LAMBDA: by which a quantiser is multiplied to be a quality.
static const int reel_quality_unit = FF_QP2LAMBDA;

/// The profiles that a reader of headers names. FFmpeg 6.1 calls them AV_PROFILE_…, and 8 has no other names.
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

/// From FFmpeg 7.1 on decoders cut off what a container says (Matroska's cropping, the clean aperture of MP4). This
/// takes it out of the stream's parameters, so that pictures come whole from every version.
void reel_ignore_cropping(AVStream *stream);
