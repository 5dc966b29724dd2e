// No descriptor; and should the library be loaded nevertheless, its constructor leaves a trace.
#include "canary.h"
