// What ThreadSanitizer cannot judge: gRPC and protobuf are not instrumented, so it sees what they free or write through
// the C library, but not the atomics that order it. Only a report with a frame of theirs on top of the stack is dropped.

extern "C" const char* __tsan_default_suppressions() {  // NOLINT(bugprone-reserved-identifier): the name is TSan's
  return "race_top:grpc_core\n"
         "race_top:grpc_event_engine\n"
         "race_top:^grpc_\n"
         "race_top:^gpr_\n"
         "race_top:google::protobuf\n"
         "race_top:re2::\n";
}
