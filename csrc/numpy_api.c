/* The one place that imports NumPy's C API (see numpy_api.h). */
#define DL_NUMPY_API_OWNER
#include "numpy_api.h"

int
dl_numpy_import(void)
{
    import_array1(-1);
    return 0;
}
