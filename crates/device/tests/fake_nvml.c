/*
 * A library that answers as NVML does, for machines without a card: one card, `GPU-fake`, index 3.
 *
 * `FAKE_NVML` says what it is like: `lost` from the third clock reading on (after `FAKE_NVML_READINGS` of them, if set), `mig` answers no utilisation and no power,
 * `hot` is held down by heat, `mismatch` cannot be opened. Only what is asked of it is here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, NOT_SUPPORTED = 3, NO_PERMISSION = 4, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7, LOST = 15, MISMATCH = 18 };
typedef void *device_t;
typedef struct { unsigned gpu, memory; } utilization_t;
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } memory_t;
typedef struct { unsigned pid; unsigned long long memory; unsigned gpu_instance, compute_instance; } process_t;

static int clock_readings;

static int is(const char *what) {
    const char *said = getenv("FAKE_NVML");
    return said && strcmp(said, what) == 0;
}

int nvmlInit_v2(void) { return is("mismatch") ? MISMATCH : SUCCESS; }
int nvmlInitWithFlags(unsigned flags) { (void)flags; return nvmlInit_v2(); }
int nvmlShutdown(void) { return SUCCESS; }
const char *nvmlErrorString(int error) { (void)error; return "an error"; }

int nvmlDeviceGetHandleByUUID(const char *uuid, device_t *device) {
    *device = &clock_readings;
    return strcmp(uuid, "GPU-fake") == 0 ? SUCCESS : NOT_FOUND;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, device_t *device) {
    *device = &clock_readings;
    return index == 3 ? SUCCESS : NOT_FOUND;
}

int nvmlDeviceGetIndex(device_t device, unsigned *index) { (void)device; *index = 3; return SUCCESS; }

int nvmlDeviceGetClockInfo(device_t device, int type, unsigned *mhz) {
    (void)device;
    const char *before = getenv("FAKE_NVML_READINGS");
    if (type == 1 && ++clock_readings > (before ? atoi(before) : 2) && is("lost")) return LOST;
    *mhz = type == 1 ? 1980 : 3201;
    return SUCCESS;
}

int nvmlDeviceGetTemperature(device_t device, int sensor, unsigned *celsius) {
    (void)device; (void)sensor;
    *celsius = 41;
    return SUCCESS;
}

int nvmlDeviceGetPowerUsage(device_t device, unsigned *milliwatts) {
    (void)device;
    *milliwatts = 477680;
    return is("mig") ? NO_PERMISSION : SUCCESS;
}

int nvmlDeviceGetPowerManagementLimit(device_t device, unsigned *milliwatts) {
    (void)device;
    *milliwatts = 700000;
    return SUCCESS;
}

int nvmlDeviceGetUtilizationRates(device_t device, utilization_t *rates) {
    (void)device;
    rates->gpu = 87;
    rates->memory = 14;
    return is("mig") ? NOT_SUPPORTED : SUCCESS;
}

int nvmlDeviceGetMemoryInfo_v2(device_t device, memory_t *memory) {
    (void)device;
    memory->total = 143771ull << 20;
    memory->reserved = 600ull << 20;
    memory->free = 142671ull << 20;
    memory->used = 500ull << 20;
    return is("mig") ? NO_PERMISSION : SUCCESS;
}

/* A bit that no header names yet stands beside the power cap; heat is bit 6. */
int nvmlDeviceGetCurrentClocksThrottleReasons(device_t device, unsigned long long *reasons) {
    (void)device;
    *reasons = is("hot") ? 0x40 : 0x1004;
    return SUCCESS;
}

int nvmlDeviceGetComputeRunningProcesses_v3(device_t device, unsigned *count, process_t *processes) {
    (void)device;
    unsigned room = *count;
    *count = 1;
    if (room < 1) return INSUFFICIENT_SIZE;
    memset(processes, 0, sizeof *processes);
    processes->pid = 4711;
    return SUCCESS;
}

int nvmlSystemGetProcessName(unsigned pid, char *name, unsigned length) {
    snprintf(name, length, "/opt/other/python%u", pid);
    return SUCCESS;
}
