// Files that a job finds open when it begins (`< data.txt`, `3< folder`): they lie on the user's own file systems,
// outside of the layer.
#ifndef VRAMFIT_ISOLATE_INHERITED_H
#define VRAMFIT_ISOLATE_INHERITED_H

#include <sys/types.h>

#include <string>
#include <vector>

namespace vramfit::isolate {

struct InheritedFile {
  int number = -1;
  std::string path;
  int flags = 0;
  off_t offset = 0;
};

// Files and folders among this process's descriptors that a program which it becomes would get for reading. Those for
// writing stay what they are: the user opened them for what the job has to say. To be asked before the root changes.
std::vector<InheritedFile> list_inherited();

// Opens each again by its path, in the layer, where it stands. One that can't be is left as it is.
void open_again(const std::vector<InheritedFile>& files);

}  // namespace vramfit::isolate

#endif
