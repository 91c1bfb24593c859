/* registry.c - the devices built into the library. */
#include "device.h"
#include <string.h>

static const asc_device *const devices[] = {&asc_device_cpu, &asc_device_reference, &asc_device_null};

const asc_device *const *asc_device_list(size_t *n) {
    *n = sizeof devices / sizeof *devices;
    return devices;
}

const asc_device *asc_device_find(const char *name) {
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        if (strcmp(devices[i]->name, name) == 0) return devices[i];
    }
    return NULL;
}
