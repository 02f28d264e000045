// What ThreadSanitizer cannot judge: gRPC and protobuf are not instrumented, so it sees what they
// free or write through the C library, but not the atomics that order it. Only a report with a
// frame of theirs on top of the stack is dropped. Abseil is instrumented, but a wait tells the
// sanitizer that it released the mutex before it makes the thread's semaphore on a thread's first
// wait. The first Post to that semaphore then looks unordered with its construction; the atomics of
// the mutex, which the sanitizer ignores inside Abseil, order them.

extern "C" const char*
__tsan_default_suppressions() {  // NOLINT(bugprone-reserved-identifier): the name is TSan's
  return "race_top:grpc_core\n"
         "race_top:grpc_event_engine\n"
         "race_top:^grpc_\n"
         "race_top:^gpr_\n"
         "race_top:google::protobuf\n"
         "race_top:re2::\n"
         "race:synchronization_internal::Waiter::Post\n";
}
