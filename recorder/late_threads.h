// Whether the Python of this process, if there is one, is being taken apart.
#ifndef VRAMFIT_RECORDER_LATE_THREADS_H
#define VRAMFIT_RECORDER_LATE_THREADS_H

namespace vramfit::recorder {

bool is_python_ending();

}  // namespace vramfit::recorder

#endif
