// Which lines of chosen Python code are executed, reported once each: a trace function in C.
//
// One in Python (sys.settrace) would change what it watches: up to Python 3.12 the interpreter copies a frame's
// variables into a dict before it calls one, and that dict keeps tensors alive that the script has let go of.
#ifndef VRAMFIT_RECORDER_LINE_WATCH_H
#define VRAMFIT_RECORDER_LINE_WATCH_H

namespace vramfit::recorder {

// From here on, in the calling thread, which holds the GIL. `watch` is a Python callable: watch(code, 0) says whether
// the lines of a code object are wanted, and is asked once; watch(code, line) is told of each when it is first
// executed, and watch(code, -line) when an exception first comes up or passes there. A null pointer ends it. False:
// this is no Python whose interface is known.
//
// Where lines do not tell enough, watch(code, 0) answers with a bytearray, one byte for each of the code's instructions
// (code units of two bytes): those with 1 become 2 when they are executed. Every instruction of such code is an event
// until none is left, so it is given up after some millions of them: the first byte is then 255.
bool watch_lines(void* watch);

}  // namespace vramfit::recorder

#endif
