/**
 * What Perfetto publishes of the messages that we write: names, numbers and types of fields, transcribed by hand from the folder
 * protos/perfetto/trace of https://github.com/google/perfetto. It is not made from proto/perfetto.proto, so that the two can be compared. Fields
 * that matter to nobody here are left out.
 */
import protobuf from "protobufjs"

const schema = `
syntax = "proto2";

message Trace { repeated TracePacket packet = 1; }

message TracePacket {
  optional ClockSnapshot clock_snapshot = 6;
  optional uint64 timestamp = 8;
  optional uint32 trusted_packet_sequence_id = 10;
  optional TrackEvent track_event = 11;
  optional uint32 sequence_flags = 13;
  optional uint32 timestamp_clock_id = 58;
  optional TrackDescriptor track_descriptor = 60;
  optional bool first_packet_on_sequence = 87;
}

message ClockSnapshot {
  message Clock {
    optional uint32 clock_id = 1;
    optional uint64 timestamp = 2;
    optional bool is_incremental = 3;
    optional uint64 unit_multiplier_ns = 4;
  }
  repeated Clock clocks = 1;
}

message TrackDescriptor {
  optional uint64 uuid = 1;
  optional string name = 2;
  optional uint64 parent_uuid = 5;
  optional bool disallow_merging_with_system_tracks = 9;
  optional string static_name = 10;
  enum ChildTracksOrdering { UNKNOWN = 0; LEXICOGRAPHIC = 1; CHRONOLOGICAL = 2; EXPLICIT = 3; }
  optional ChildTracksOrdering child_ordering = 11;
}

message TrackEvent {
  repeated uint64 category_iids = 3;
  repeated DebugAnnotation debug_annotations = 4;
  enum Type { TYPE_UNSPECIFIED = 0; TYPE_SLICE_BEGIN = 1; TYPE_SLICE_END = 2; TYPE_INSTANT = 3; TYPE_COUNTER = 4; }
  optional Type type = 9;
  optional uint64 name_iid = 10;
  optional uint64 track_uuid = 11;
  repeated string categories = 22;
  optional string name = 23;
}

message DebugAnnotation {
  optional uint64 name_iid = 1;
  optional bool bool_value = 2;
  optional uint64 uint_value = 3;
  optional int64 int_value = 4;
  optional double double_value = 5;
  optional string string_value = 6;
  optional uint64 pointer_value = 7;
  optional string name = 10;
}
`

/** The messages by name. */
export const published = protobuf.parse(schema, { keepCase: true }).root
